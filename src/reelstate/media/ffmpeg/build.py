"""The ffmpeg of this machine: which one it is, what it can do, and what is known against it. Asked once a process."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import threading
from dataclasses import dataclass

from reelstate.core.errors import NotFound
from reelstate.worker.capabilities import ffmpeg_candidates, read_output

logger = logging.getLogger("reelstate.media")

FIXED = {(5, 1): 10, (6, 1): 6, (7, 1): 5, (8, 1): 2}
"""The first release of each branch that has the fix for CVE-2026-8461; branches after these began with it."""
_VERSION = re.compile(r"^ffmpeg version (\S+)", re.MULTILINE)
_NUMBER = re.compile(r"^n?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")
_ENCODER = re.compile(r"^ [VAS][.\w]{5} (\w+) ", re.MULTILINE)
_FILTER = re.compile(r"^ [.\w]{2,3} (\w+) +\S+->\S+", re.MULTILINE)
_lock = threading.Lock()
_known: dict[str, Build] = {}


@dataclass(frozen=True, slots=True)
class Weakness:
    """What is known against a build."""

    name: str
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class Build:
    """One ffmpeg. Builds of one `id` make the same bytes of the same input, as far as anybody can tell."""

    path: str
    origin: str
    """Where it was found: settings, PATH or wheel."""
    version: str
    id: str
    encoders: frozenset[str]
    filters: frozenset[str]
    weaknesses: tuple[Weakness, ...]


async def find_ffmpeg(wanted: str = "") -> Build:
    """The ffmpeg to use: the wanted one, else that on PATH, else that of the wheel; the first that answers."""
    return await asyncio.to_thread(_found, wanted)


def _found(wanted: str) -> Build:
    with _lock:
        if wanted not in _known:
            _known[wanted] = _announced(_first(wanted))
        return _known[wanted]


def _first(wanted: str) -> Build:
    for origin, path in ffmpeg_candidates(wanted):
        if (words := read_output([path, "-version"])) and _VERSION.search(words):
            return _asked(origin, path, words)
    where = f"that can be run at {wanted}" if wanted else "that can be run on this machine"
    raise NotFound("ffmpeg", where, hint="install ffmpeg or imageio-ffmpeg, or name one with REEL_FFMPEG")


def _asked(origin: str, path: str, words: str) -> Build:
    match = _VERSION.search(words)
    version = match[1] if match else ""
    return Build(
        path=path,
        origin=origin,
        version=version,
        id=build_id(words),
        encoders=frozenset(_ENCODER.findall(read_output([path, "-hide_banner", "-encoders"]))),
        filters=frozenset(_FILTER.findall(read_output([path, "-hide_banner", "-filters"]))),
        weaknesses=tuple(weaknesses(version)),
    )


def _announced(build: Build) -> Build:
    logger.info("ffmpeg %s from %s: %s (build %s)", build.version, build.origin, build.path, build.id)
    for weakness in build.weaknesses:
        logger.warning("%s: %s; %s", weakness.name, weakness.detail, weakness.hint)
    return build


def build_id(words: str) -> str:
    """A short name for what `-version` says: the version, how it was configured, and the versions of its libraries."""
    lines = [
        line.split() for line in words.splitlines() if line.startswith(("ffmpeg version", "configuration:", "lib"))
    ]
    text = "\n".join(" ".join(line) for line in lines)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def weaknesses(version: str) -> list[Weakness]:
    """What is known against a version. Packagers may have mended it without a new number, which can't be told."""
    number = _NUMBER.match(version)
    if number is None:
        detail = f"nobody can tell whether ffmpeg {version} has the fix: its version is not a release"
    elif _has_fix(int(number[1]), int(number[2]), int(number[3] or 0)):
        return []
    else:
        detail = f"ffmpeg {version} may be taken over by a hostile MagicYUV video"
    hint = "that decoder is switched off for all inputs; still, use 5.1.10, 6.1.6, 7.1.5, 8.1.2 or newer"
    return [Weakness("CVE-2026-8461", detail, hint)]


def _has_fix(major: int, minor: int, patch: int) -> bool:
    if (major, minor) in FIXED:
        return patch >= FIXED[major, minor]
    return (major, minor) > max(FIXED)
