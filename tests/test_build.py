"""The build makes the dashboard of its sources, once, and a package without it is refused."""

import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

import hatch_build
from hatch_build import BuildFailed, DashboardHook, build, is_outdated

ROOT = Path(__file__).parents[1]
NPM = """#!/bin/sh
echo "$@" >> "{log}"
case "$1" in run) mkdir -p ../src/reelstate/api/static && cp index.html ../src/reelstate/api/static/ ;; esac
{after}
"""
"""An npm that copies the page in place of building it."""


class Checkout:
    """A folder with sources of a dashboard, and an npm that notes how it was called."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "npm.log"
        self.static = root / "src/reelstate/api/static"
        (root / "web/src").mkdir(parents=True)
        (root / "web/package.json").write_text("{}")
        (root / "web/index.html").write_text("<base href=/ui/>")
        (root / "web/src/main.ts").write_text("main()")
        self.set_npm()

    def set_npm(self, after: str = "exit 0") -> None:
        tools = self.root / "bin"
        tools.mkdir(exist_ok=True)
        for name, text in (("npm", NPM.format(log=self.log, after=after)), ("node", "#!/bin/sh\necho v22.1.0\n")):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)

    def commands(self) -> list[str]:
        return [line.split()[0] for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    made = Checkout(tmp_path)
    monkeypatch.setenv("PATH", f"{made.root / 'bin'}:/usr/bin:/bin")
    return made


def hook(root: Path) -> DashboardHook:
    return DashboardHook(str(root), {}, None, None, str(root), "wheel")  # type: ignore[arg-type]  # not used


def test_sources_that_did_not_change_are_not_built_again(checkout: Checkout) -> None:
    assert build(checkout.root)
    assert checkout.commands() == ["ci", "run"]
    assert not build(checkout.root)
    (checkout.root / "web/node_modules").mkdir()
    (checkout.root / "web/node_modules/left.js").write_text("")
    (checkout.root / "web/README.md").write_text("")
    assert not build(checkout.root)
    (checkout.root / "web/src/main.ts").write_text("other()")
    assert build(checkout.root)
    assert checkout.commands() == ["ci", "run"] * 2


def test_a_page_that_npm_built_by_itself_is_used_while_it_is_newer(checkout: Checkout) -> None:
    checkout.static.mkdir(parents=True)
    (checkout.static / "index.html").write_text("built")
    assert not is_outdated(checkout.root)
    later = time.time() + 10
    os.utime(checkout.root / "web/src/main.ts", (later, later))
    assert is_outdated(checkout.root)


def test_a_wheel_without_the_page_is_refused(checkout: Checkout) -> None:
    checkout.set_npm(after="rm -f ../src/reelstate/api/static/index.html")
    with pytest.raises(BuildFailed, match=r"there is no .*index\.html"):
        hook(checkout.root).initialize("standard", {})
    shutil.rmtree(checkout.root / "web")
    with pytest.raises(BuildFailed, match=r"index\.html"):
        hook(checkout.root).initialize("standard", {})


def test_an_editable_install_notes_a_failure_and_goes_on(checkout: Checkout) -> None:
    checkout.set_npm(after="echo 'no such package' >&2; exit 1")
    with pytest.raises(BuildFailed, match="no such package"):
        hook(checkout.root).initialize("standard", {})
    hook(checkout.root).initialize("editable", {})
    log = checkout.root / "build" / hatch_build.FAILED
    assert "no such package" in log.read_text()
    checkout.set_npm()
    hook(checkout.root).initialize("editable", {})
    assert not log.exists()


def test_a_build_from_an_sdist_needs_no_node(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    build(checkout.root)
    shutil.rmtree(checkout.root / "web")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert hook(checkout.root).dependencies() == []
    hook(checkout.root).initialize("standard", {})


def test_node_comes_from_a_package_where_the_machine_has_none_or_an_old_one(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert hook(checkout.root).dependencies() == []
    (checkout.root / "bin/node").write_text("#!/bin/sh\necho v18.19.0\n")
    assert hook(checkout.root).dependencies() == [hatch_build.NODE_PACKAGE]
    monkeypatch.setenv("PATH", "/nonexistent")
    assert hook(checkout.root).dependencies() == [hatch_build.NODE_PACKAGE]
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert hook(checkout.root).dependencies() == []
    with pytest.raises(BuildFailed, match=r"needs node 20\.19 or newer"):
        hook(checkout.root).initialize("standard", {})


@pytest.mark.prove
def test_an_sdist_and_a_wheel_hold_the_dashboard(tmp_path: Path) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert uv is not None
    copied = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".venv", ".git", "node_modules", "static", "__pycache__", ".mypy_cache")
    shutil.copytree(ROOT, copied, ignore=ignored)
    subprocess.run([uv, "build", "--quiet", "--out-dir", tmp_path / "dist"], cwd=copied, check=True)
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive, zipfile.ZipFile(wheel) as package:
        inside = [name.partition("/")[2].removeprefix("src/") for name in archive.getnames()]
        for names in (inside, package.namelist()):
            assert "reelstate/api/static/index.html" in names
            assert any(name.startswith("reelstate/api/static/assets/") and name.endswith(".js") for name in names)
            assert not [name for name in names if name.endswith(".map") or "node_modules" in name]
