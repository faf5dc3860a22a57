"""Finds the ffmpeg of this machine, its features and its known vulnerabilities, once per process."""

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
"""The first release of each branch with the fix for CVE-2026-8461; later branches have it from the start."""
_VERSION = re.compile(r"^ffmpeg version (\S+)", re.MULTILINE)
_NUMBER = re.compile(r"^n?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")
_ENCODER = re.compile(r"^ [VAS][.\w]{5} (\w+) ", re.MULTILINE)
_FILTER = re.compile(r"^ [.\w]{2,3} (\w+) +\S+->\S+", re.MULTILINE)
_lock = threading.Lock()
_known: dict[str, Build] = {}


@dataclass(frozen=True, slots=True)
class Weakness:
    """A known vulnerability of a build."""

    name: str
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class Build:
    """One ffmpeg. Builds with the same `id` are taken to encode the same input to the same bytes."""

    path: str
    origin: str
    """Where it was found: settings, PATH or wheel."""
    version: str
    id: str
    encoders: frozenset[str]
    filters: frozenset[str]
    weaknesses: tuple[Weakness, ...]


async def find_ffmpeg(wanted: str = "") -> Build:
    """Return the ffmpeg to use: the one at `wanted`, else on PATH, else of the wheel; raise `NotFound` if none runs."""
    return await asyncio.to_thread(_find_once, wanted)


def _find_once(wanted: str) -> Build:
    with _lock:
        if wanted not in _known:
            _known[wanted] = _log_build(_find_first(wanted))
        return _known[wanted]


def _find_first(wanted: str) -> Build:
    for origin, path in ffmpeg_candidates(wanted):
        if (text := read_output([path, "-version"])) and _VERSION.search(text):
            return _inspect(origin, path, text)
    where = f"that can be run at {wanted}" if wanted else "that can be run on this machine"
    raise NotFound("ffmpeg", where, hint="install ffmpeg or imageio-ffmpeg, or name one with REEL_FFMPEG")


def _inspect(origin: str, path: str, text: str) -> Build:
    match = _VERSION.search(text)
    version = match[1] if match else ""
    return Build(
        path=path,
        origin=origin,
        version=version,
        id=build_id(text),
        encoders=frozenset(_ENCODER.findall(read_output([path, "-hide_banner", "-encoders"]))),
        filters=frozenset(_FILTER.findall(read_output([path, "-hide_banner", "-filters"]))),
        weaknesses=tuple(weaknesses(version)),
    )


def _log_build(build: Build) -> Build:
    logger.info("ffmpeg found version=%s origin=%s path=%s build=%s", build.version, build.origin, build.path, build.id)
    for weakness in build.weaknesses:
        logger.warning("ffmpeg vulnerable name=%s detail=%s hint=%s", weakness.name, weakness.detail, weakness.hint)
    return build


def build_id(version_text: str) -> str:
    """Return a hash of the output of `-version`: the version, the configuration, and the versions of libraries."""
    kept = ("ffmpeg version", "configuration:", "lib")
    lines = [line.split() for line in version_text.splitlines() if line.startswith(kept)]
    text = "\n".join(" ".join(line) for line in lines)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def weaknesses(version: str) -> list[Weakness]:
    """Return the known vulnerabilities of a version; a package may have the fix without a new version number."""
    number = _NUMBER.match(version)
    if number is None:
        detail = f"it is unknown whether ffmpeg {version} has the fix, because its version is not a release"
    elif _has_fix(int(number[1]), int(number[2]), int(number[3] or 0)):
        return []
    else:
        detail = f"a hostile MagicYUV video can execute code in ffmpeg {version}"
    hint = "that decoder is disabled for all inputs; still, use 5.1.10, 6.1.6, 7.1.5, 8.1.2 or newer"
    return [Weakness("CVE-2026-8461", detail, hint)]


def _has_fix(major: int, minor: int, patch: int) -> bool:
    if (major, minor) in FIXED:
        return patch >= FIXED[major, minor]
    return (major, minor) > max(FIXED)
