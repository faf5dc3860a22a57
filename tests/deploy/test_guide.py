"""The guide uses every file of the deployment, and every file that it names exists."""

import re

import pytest

from tests.deploy.files import DEPLOY, ROOT, UNITS

PAGE = (ROOT / "docs" / "guides" / "deploy.md").read_text()
FILES = [*UNITS, *DEPLOY.glob("systemd/*.*"), *DEPLOY.glob("container/*"), *DEPLOY.glob("compose/*.*")]


@pytest.mark.parametrize("name", sorted({path.name for path in FILES if not path.name.startswith(".")}))
def test_the_guide_names_the_file(name: str) -> None:
    assert name.removesuffix(".service").partition("@")[0] in PAGE


def test_every_path_in_the_guide_exists() -> None:
    named = set(re.findall(r"\bdeploy/[\w./*-]+\w", PAGE)) - {"deploy/compose/secrets"}
    assert len(named) > 8
    assert {path for path in named if not list(ROOT.glob(path))} == set()


def test_every_unit_that_the_guide_starts_exists() -> None:
    started = " ".join(re.findall(r"systemctl (?:start|enable --now) ([\w@ -]+)", PAGE)).split()
    templates = {re.sub(r"@\w+", "@", name) for name in started}
    assert len(templates) == 3
    assert templates <= {unit.stem for unit in UNITS}
