"""Where each file is kept. Everything a task makes lies under its token, so that only one run ever writes there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from reelstate.core.errors import InvalidRequest

SOURCES: Final = "sources"
VERSIONS: Final = "versions"
VIDEOS: Final = "videos"
LONGEST_KEY: Final = 900
"""Stores take 1,024 bytes; the rest is left to the prefix of the bucket."""
_KEY: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._=-]{0,199}/)*[A-Za-z0-9_][A-Za-z0-9._=-]{0,199}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_TYPES: Final[Mapping[str, str]] = {
    ".m3u8": "application/vnd.apple.mpegurl",
    ".mpd": "application/dash+xml",
    ".mp4": "video/mp4",
    ".m4s": "video/iso.segment",
    ".vtt": "text/vtt",
    ".json": "application/json",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}


def checked(key: str) -> str:
    """The key, if it can be one: plain words with slashes between them, none of which begins with a dot."""
    if len(key) > LONGEST_KEY or _KEY.fullmatch(key) is None:
        raise InvalidRequest(
            "key",
            f"{key[:100]!r} can't be a key",
            hint="words of letters, digits, _ . = - with slashes between them, none of them beginning with . or -",
        )
    return key


def source(sha256: str) -> str:
    """Where a source is kept: under its own content."""
    if _SHA256.fullmatch(sha256) is None:
        raise InvalidRequest("sha256", f"{sha256[:100]!r} is no sha256", hint="64 hexadecimal digits, in lower case")
    return f"{SOURCES}/{sha256}"


def version(job: int) -> str:
    """The prefix of all that a job made."""
    return f"{VERSIONS}/{job}"


def task(job: int, stage: str, part: int, token: int) -> str:
    """Return the prefix under which only this run of a task writes."""
    return checked(f"{VERSIONS}/{job}/{stage}/{part}/{token}")


def made(job: int, stage: str, part: int, token: int, file: str) -> str:
    """The key of a file that one run of a task makes."""
    return checked(f"{task(job, stage, part, token)}/{file}")


def video(number: int, file: str) -> str:
    """A file of a video that is replaced when another version becomes current."""
    return checked(f"{VIDEOS}/{number}/{file}")


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """Which run made a file."""

    job: int
    stage: str
    part: int
    token: int

    @property
    def prefix(self) -> str:
        return task(self.job, self.stage, self.part, self.token)


def origin(key: str) -> Origin | None:
    """The run that made a file, or None for a key of another kind."""
    match key.split("/"):
        case [root, job, stage, part, token, _, *_] if root == VERSIONS and _whole(job, part, token):
            return Origin(int(job), stage, int(part), int(token))
        case _:
            return None


def attributes(key: str) -> dict[str, str]:
    """What a web server should say of the file: its type, and whether it may be kept for ever."""
    kind = _TYPES.get(PurePosixPath(key).suffix, "application/octet-stream")
    changes = key.startswith(f"{VIDEOS}/")
    return {"Content-Type": kind, "Cache-Control": "no-cache" if changes else "public, max-age=31536000, immutable"}


def _whole(*texts: str) -> bool:
    return all(text.isascii() and text.isdigit() for text in texts)
