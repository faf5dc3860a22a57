"""The state directory: files of local servers for commands of the same user.

For each deployment it holds the first admin key, the URL of the running server, and a one-time sign-in URL if there is
no terminal to print it to. The directory is readable by this user only, outside the working folder, and has a
`.gitignore`, so that no secret is committed.
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
    """Return the directory of the settings, or `reelstate` in the XDG state directory."""
    if settings.state_dir:
        return Path(settings.state_dir).expanduser().absolute()
    home = environment.get(XDG_STATE, "")
    base = Path(home) if home.startswith("/") else Path("~/.local/state").expanduser()
    return base.absolute() / "reelstate"


def key_file(settings: Settings) -> Path:
    """Return the path of the first admin key."""
    return Path(settings.key_file) if settings.key_file else _file(settings, KEY)


def address_file(settings: Settings) -> Path:
    """Return the path of the URL of the running server."""
    return _file(settings, ADDRESS)


def sign_in_file(settings: Settings) -> Path:
    """Return the path of the one-time sign-in URL."""
    return _file(settings, SIGN_IN)


def write_state(path: Path, text: str) -> None:
    """Write a line into a file of the state directory, readable by this user only.

    Raises `OSError` if it can't be written.
    """
    make_folder(path.parent)
    ignored = path.parent / ".gitignore"
    if not ignored.exists():
        ignored.write_text(IGNORE_ALL)
    write_text(path, text)


def write_key(settings: Settings, text: str) -> Path:
    """Write the first admin key into its file and return the path."""
    path = key_file(settings)
    try:
        if settings.key_file:
            write_text(path, text)
        else:
            write_state(path, text)
    except OSError as error:
        setting = "key_file" if settings.key_file else "state_dir"
        message = f"{path} can't be written: {error.strerror}"
        raise InvalidRequest(setting, message, hint=f"choose another path with {variable(setting)}") from None
    return path


def read_line(path: Path) -> str | None:
    """Return the line in a file; None if it can't be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _file(settings: Settings, suffix: str) -> Path:
    """Return a file of the deployment, named by its database: deployments may share the directory."""
    name, identity = _deployment(settings.database_url)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return state_folder(settings) / f"{name}-{digest}{suffix}"


def _deployment(url: str) -> tuple[str, str]:
    """Return a short name of a database and its identity: its path, or its server and name."""
    if url.startswith("sqlite:"):
        path = database_path(url)
        return (path.name, str(path.resolve())) if path is not None else ("memory", str(Path.cwd()))
    parts = urlsplit(url)
    name = Path(parts.path).name or "postgresql"
    return name, f"{parts.hostname}:{parts.port}/{name}?{parts.query}"
