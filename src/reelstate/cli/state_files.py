"""The state directory: what servers of this machine keep for commands of the same user.

For each deployment it holds the first admin key, the address of the server while it runs, and a one-time sign-in
address when there is no terminal to print it to. The directory is outside the working folder, is readable by this
user alone, and has a `.gitignore` of its own, so that no secret is committed by accident.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reelstate.config import Settings, variable
from reelstate.core.errors import InvalidRequest
from reelstate.runtime.private_files import make_folder, write_text
from reelstate.stores.sqlite.address import database_path

XDG_STATE: Final = "XDG_STATE_HOME"
IGNORE_ALL: Final = "# Secrets: nothing in this folder is ever committed.\n*\n"
KEY, ADDRESS, SIGN_IN = ".key", ".url", ".signin"


def state_folder(settings: Settings, environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the settings, else `reelstate` in the user's XDG state directory."""
    if settings.state_dir:
        return Path(settings.state_dir).expanduser().absolute()
    home = environment.get(XDG_STATE, "")
    base = Path(home) if home.startswith("/") else Path("~/.local/state").expanduser()
    return base.absolute() / "reelstate"


def key_file(settings: Settings) -> Path:
    """Where the first admin key is kept."""
    return Path(settings.key_file) if settings.key_file else _file(settings, KEY)


def address_file(settings: Settings) -> Path:
    """Where the address of a running server is kept."""
    return _file(settings, ADDRESS)


def sign_in_file(settings: Settings) -> Path:
    """Where the one-time sign-in address of a server without a terminal is kept."""
    return _file(settings, SIGN_IN)


def write_state(path: Path, text: str) -> None:
    """Write a line into a file of the state directory, for this user alone.

    Raises `OSError` if it can't be written.
    """
    make_folder(path.parent)
    ignored = path.parent / ".gitignore"
    if not ignored.exists():
        ignored.write_text(IGNORE_ALL)
    write_text(path, text)


def write_key(settings: Settings, text: str) -> Path:
    """Write the first admin key into its file and return where that is."""
    path = key_file(settings)
    try:
        if settings.key_file:
            write_text(path, text)
        else:
            write_state(path, text)
    except OSError as error:
        setting = "key_file" if settings.key_file else "state_dir"
        message = f"{path} can't be written: {error.strerror}"
        raise InvalidRequest(setting, message, hint=f"name another place with {variable(setting)}") from None
    return path


def read_line(path: Path) -> str | None:
    """The line in a file; None if it can't be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _file(settings: Settings, suffix: str) -> Path:
    """A file of the deployment, which is named by its database: several may share the directory."""
    name, identity = _deployment(settings.database_url)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return state_folder(settings) / f"{name}-{digest}{suffix}"


def _deployment(url: str) -> tuple[str, str]:
    """A short name of a database, and what tells it from every other: its path, or its server and name."""
    if url.startswith("sqlite:"):
        path = database_path(url)
        return (path.name, str(path.resolve())) if path is not None else ("memory", str(Path.cwd()))
    place = urlsplit(url)
    name = Path(place.path).name or "postgresql"
    return name, f"{place.hostname}:{place.port}/{name}?{place.query}"
