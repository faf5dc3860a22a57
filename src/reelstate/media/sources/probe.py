"""Looks at a source in a process of its own, and serves it the parts that it asks for; see `probe_child.py`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

from reelstate.media.sandbox.sandbox import Sandbox, Wall, confinement, standing_wall
from reelstate.media.sources.address import InputRules, LocalAddress
from reelstate.media.sources.allowed import DECODERS, DEMUXERS, MAX_PIXELS, MAX_STREAMS
from reelstate.media.sources.errors import SourceError, SourceUnavailable, SourceUnseekable, UnusableSource
from reelstate.media.sources.facts import SourceFacts
from reelstate.media.sources.probe_child import GIVEN, WANTED
from reelstate.media.sources.reader import Reader
from reelstate.media.sources.source import FileReader, open_file

PROGRAM: Final = Path(__file__).with_name("probe_child.py")
LARGEST_ANSWER: Final = 4 * 1024 * 1024
LARGEST_PART: Final = 16 * 1024 * 1024
LAST_MOMENT: Final = 2.0
LIBRARY_PATHS: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
KEPT_VARIABLES: Final = ("PATH", "LANG", *LIBRARY_PATHS)
"""Nothing else of the environment, where secrets live, is given to the process."""
SHELL_SIGNAL: Final = 128
"""What a shell, as there is one in the sandbox, adds to the number of the signal that ended a process."""
TRIAL: Final = ("-I", "-c", "import av")
SANDBOX: Final = Sandbox()
HINTS: Final = {
    "empty": "was it still being written?",
    "not_a_video": "submit an mp4, mov, mkv, webm, ts, mpeg, avi or flv file",
    "format": "submit an mp4, mov, mkv, webm, ts, mpeg, avi or flv file",
    "codec": "convert it to H.264, HEVC, VP9, AV1, MPEG-2 or ProRes first",
    "truncated": "was it still being written or uploaded? submit the whole file",
    "damaged": "see that it plays, or make it anew",
    "dolby_vision": "export it as HDR10, HLG or SDR; Dolby Vision profiles with a compatible picture, such as 8, work",
    "encrypted": "submit it without encryption or DRM",
    "too_many_streams": "leave out the streams that are not needed",
    "too_many_pixels": f"at most {MAX_PIXELS:,} pixels a picture",
    "bomb": "it looks made to use up a machine",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLimits:
    memory: int = 1024**3
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    packets: int = 2_000
    """How many frames' times are read of a source without an index."""
    local_bytes: int = 256 * 1024**2
    remote_bytes: int = 16 * 1024**2
    """How far it is read for that."""


DEFAULT_LIMITS: Final = ProbeLimits()
WHOLE_FILE_LIMITS: Final = ProbeLimits(cpu_seconds=1800, wall_seconds=3600.0)
"""For a look at every packet or frame of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameCount:
    """What only a full read tells of a file's video."""

    frames: int
    start: Fraction
    duration: Fraction
    rate: Fraction
    variable_rate: bool
    rates: tuple[tuple[Fraction, int], ...]
    longest_gop: Fraction | None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a look came to, and the most memory that it took."""

    facts: dict[str, Any]
    memory: int


async def probe(source: Reader | Path, limits: ProbeLimits = DEFAULT_LIMITS, sandbox: Sandbox = SANDBOX) -> SourceFacts:
    """What a source is. `UnusableSource` says why it is none; what the reader raises is raised."""
    return SourceFacts.from_json((await run_child("probe", source, limits, sandbox)).facts)


async def count_frames(path: Path, limits: ProbeLimits = DEFAULT_LIMITS, sandbox: Sandbox = SANDBOX) -> FrameCount:
    """Read a file of ours to its end and count the frames of its video."""
    facts = (await run_child("count", path, limits, sandbox)).facts
    gop = facts["longest_gop"]
    return FrameCount(
        frames=facts["frames"],
        start=Fraction(facts["start"]),
        duration=Fraction(facts["duration"]),
        rate=Fraction(facts["rate"]),
        variable_rate=facts["variable_rate"],
        rates=tuple((Fraction(rate), hidden) for rate, hidden in facts["rates"]),
        longest_gop=None if gop is None else Fraction(gop),
    )


async def run_child(
    what: str,
    source: Reader | Path,
    limits: ProbeLimits = DEFAULT_LIMITS,
    sandbox: Sandbox = SANDBOX,
    **order: str | int,
) -> ProbeResult:
    """Have a process look at the source: `probe` at what it is, `count` at every packet, `decode` at a stream's frames.

    `order` is what the look needs to know beside the source.
    """
    if isinstance(source, Path):
        with open_file(LocalAddress(source), InputRules(limit=2**63)) as file:
            return await _look(what, FileReader(file), limits, sandbox, order)
    return await _look(what, source, limits, sandbox, order)


async def _look(
    what: str, source: Reader, limits: ProbeLimits, sandbox: Sandbox, order: Mapping[str, str | int]
) -> ProbeResult:
    if source.size is None:
        raise SourceUnseekable("its size is not known", hint="fetch it first")
    confined = await confinement(_own(sandbox), Path(sys.executable), trial=TRIAL)
    try:
        async with asyncio.timeout(limits.wall_seconds), _child(source, confined) as child:
            _send(child, json.dumps({**_order(what, source, limits), **order}).encode())
            answer = await _served(child, source)
            if answer is None:
                raise _died(await _ended(child))
            return _judged(answer)
    except TimeoutError:
        raise _too_slow(source, limits) from None


def _too_slow(source: Reader, limits: ProbeLimits) -> SourceError:
    said = f"it was not looked through in {limits.wall_seconds:g} s"
    if isinstance(source, FileReader):
        return UnusableSource("bomb", said, hint=HINTS["bomb"])
    return SourceUnavailable(said, hint="see that what serves it is fast enough; it is tried again")


def _order(what: str, source: Reader, limits: ProbeLimits) -> dict[str, Any]:
    local = isinstance(source, FileReader)
    return {
        "look": what,
        "descriptor": source.file.fileno() if isinstance(source, FileReader) else None,
        "size": source.size,
        "demuxers": ",".join(DEMUXERS),
        "decoders": ",".join(DECODERS),
        "max_pixels": MAX_PIXELS,
        "max_streams": MAX_STREAMS,
        "packets": limits.packets,
        "scan_bytes": limits.local_bytes if local else limits.remote_bytes,
        "memory": limits.memory,
        "cpu_seconds": limits.cpu_seconds,
    }


def _own(sandbox: Sandbox) -> Sandbox:
    """The sandbox with the files that this Python and PyAV are made of."""
    return replace(sandbox, needed=_python())


@cache
def _python() -> tuple[Path, ...]:
    found = importlib.util.find_spec("av")
    package = [Path(found.origin).parent.parent] if found and found.origin else []
    places = (sys.prefix, sys.base_prefix, Path(sys.executable).resolve().parent, PROGRAM, *package)
    libraries = (place for name in LIBRARY_PATHS for place in os.environ.get(name, "").split(os.pathsep) if place)
    paths = [Path(str(place)) for place in (*places, *libraries)]
    return tuple(dict.fromkeys(path for path in paths if path.exists()))


async def probe_wall() -> Wall:
    """The wall behind which sources are probed on this machine."""
    return await standing_wall(Path(sys.executable), TRIAL, _python())


@contextlib.asynccontextmanager
async def _child(source: Reader, confined: Sequence[str]) -> AsyncIterator[Process]:
    """The process, which is gone when the context ends."""
    child = await asyncio.create_subprocess_exec(
        *(*confined, sys.executable, "-I", str(PROGRAM)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        pass_fds=(source.file.fileno(),) if isinstance(source, FileReader) else (),
        env={name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
        await _closed(child)


async def _closed(child: Process) -> None:
    """Wait until nobody holds the process's stdout: what it ran in may end before it."""
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_MOMENT):
            while await child.stdout.read(LARGEST_PART):
                pass


async def _served(child: Process, source: Reader) -> dict[str, Any] | None:
    """Give the process the parts that it wants until it answers; None if it dies before it does."""
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    try:
        while True:
            kind, offset, length = WANTED.unpack(await child.stdout.readexactly(WANTED.size))
            if kind == b"A" and length <= LARGEST_ANSWER:
                answer: dict[str, Any] = json.loads(await child.stdout.readexactly(length))
                return answer
            if kind != b"R" or length > LARGEST_PART:
                return None
            _send(child, await source.read(offset, length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _send(child: Process, data: bytes) -> None:
    assert child.stdin is not None  # noqa: S101 - it is a pipe
    child.stdin.write(GIVEN.pack(b"D", len(data)) + data)


def _judged(answer: dict[str, Any]) -> ProbeResult:
    if "refused" in answer:
        refused = answer["refused"]
        raise UnusableSource(refused["kind"], refused["message"], hint=HINTS.get(refused["kind"], ""))
    return ProbeResult(answer["facts"], answer["memory"])


async def _ended(child: Process) -> int:
    """How the process ended; one that says what it should not is made to."""
    try:
        async with asyncio.timeout(LAST_MOMENT):
            return await child.wait()
    except TimeoutError:
        child.terminate()
        return await child.wait()


def _died(code: int) -> SourceError:
    """A process that dies over a source was killed by its limits or by the source; both would happen again."""
    if code in {-signal.SIGKILL, SHELL_SIGNAL + signal.SIGKILL}:
        return SourceUnavailable("the process that looked at it was killed", hint="has this machine enough memory?")
    return UnusableSource("bomb", "the process that looked at it died over it", hint=HINTS["bomb"])
