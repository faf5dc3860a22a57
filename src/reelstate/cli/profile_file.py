"""The profiles of `reel login`: servers with their keys, in a file that only this user can read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.runtime.private_files import make_folder, write_text

XDG_CONFIG: Final = "XDG_CONFIG_HOME"
MAX_FILE: Final = 1024**2
"""Bytes of the file that are read."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
OTHERS: Final = 0o077
"""The permissions of other users in the mode of a file."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A server, and the key to send to it."""

    name: str
    server: str
    key: str = field(repr=False)
    insecure_http: bool = False
    """Whether the key may be sent to it unencrypted."""

    @property
    def key_id(self) -> str:
        """The public part of the key, as `reel keys` shows it."""
        pieces = self.key.split("_")
        return pieces[1] if len(pieces) > 1 else ""


@dataclass(frozen=True, slots=True)
class Profiles:
    """All profiles, and the one that commands use by default."""

    profiles: Mapping[str, Profile]
    default: str | None = None

    def get(self, name: str) -> Profile:
        """Return a profile. Raises `InvalidRequest` for an unknown name."""
        if name not in self.profiles:
            known = f"profiles: {', '.join(sorted(self.profiles))}; or an address" if self.profiles else "an address"
            raise InvalidRequest(
                "server", f"there is no profile {name[:100]!r}", hint=f"{known} such as https://reel.example.org"
            )
        return self.profiles[name]

    def of_server(self, url: str) -> Profile | None:
        """Return a profile of a server: the default one where it is for that server."""
        found = [each for each in self.profiles.values() if each.server == url]
        return next((each for each in found if each.name == self.default), found[0] if found else None)

    def with_profile(self, profile: Profile) -> Profiles:
        """Return the profiles with this one, as the default."""
        return Profiles({**self.profiles, profile.name: profile}, profile.name)

    def without(self, name: str) -> Profiles:
        """Return the profiles without one. Without the default there is none until another is chosen."""
        self.get(name)
        left = {each: profile for each, profile in self.profiles.items() if each != name}
        return Profiles(left, None if name == self.default else self.default)


def profile_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file, in the XDG configuration directory."""
    home = environment.get(XDG_CONFIG, "")
    base = Path(home) if home.startswith("/") else Path("~/.config").expanduser()
    return base / "reel" / "profiles.json"


def require_profile_name(name: str) -> str:
    """Return the name of a profile. Raises `InvalidRequest`."""
    if not NAME.fullmatch(name):
        raise InvalidRequest("profile", f"invalid name {name[:100]!r}", hint="expected letters, digits and . _ -")
    return name


def read_profiles() -> Profiles:
    """Read the file. Raises `InvalidRequest` for one that others can read, or that can't be parsed."""
    path = profile_path()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return Profiles({})
    if mode & OTHERS:
        raise InvalidRequest("profiles", f"other users may read {path}", hint=f"chmod 600 {path}")
    try:
        return _parse(json.loads(content[:MAX_FILE]))
    except (ValueError, RecursionError):
        raise InvalidRequest(
            "profiles", f"{path} can't be parsed", hint="remove it, and log in again with `reel login`"
        ) from None


def write_profiles(profiles: Profiles) -> Path:
    """Replace the file at once with one that only this user can read, and return its path."""
    path = profile_path()
    make_folder(path.parent)
    document = {
        "default": profiles.default,
        "profiles": {
            each.name: {"server": each.server, "key": each.key, "insecure_http": each.insecure_http}
            for each in profiles.profiles.values()
        },
    }
    written = path.with_name(f"{path.name}.{os.getpid()}")
    write_text(written, json.dumps(document, indent=2))
    written.replace(path)
    return path


def _parse(document: Any) -> Profiles:
    """Parse the document of a file. Raises ValueError."""
    fields = document if isinstance(document, dict) else {}
    profiles, default = fields.get("profiles"), fields.get("default")
    if not isinstance(profiles, dict):
        raise ValueError("no profiles")  # noqa: TRY004 - what json raises for a bad file, too
    found = {name: _parse_profile(name, each) for name, each in profiles.items()}
    return Profiles(found, default if default in found else None)


def _parse_profile(name: str, document: Any) -> Profile:
    fields = document if isinstance(document, dict) else {}
    server, key = fields.get("server"), fields.get("key")
    if not NAME.fullmatch(name) or not isinstance(server, str) or not isinstance(key, str):
        raise ValueError("no profile")
    return Profile(name, server, key, fields.get("insecure_http") is True)
