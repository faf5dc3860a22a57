"""The guide uses every file of the deployment, and every file that it names exists."""

import re
from pathlib import Path

import pytest

from reelstate.config import variables
from tests.deploy.files import DEPLOY, ROOT, UNITS, text_files

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


@pytest.mark.parametrize("path", text_files(), ids=lambda path: path.name)
def test_every_variable_in_a_file_is_a_setting(path: Path) -> None:
    named = set(re.findall(r"\bREEL_[A-Z_]*[A-Z]\b", path.read_text()))
    assert {name for name in named if not {name, name.removesuffix("_FILE")} & set(variables())} == set()
