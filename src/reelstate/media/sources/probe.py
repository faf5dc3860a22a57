"""Probe a source in a child process (`probe_child`), and serve it the bytes that it reads."""

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

from reelstate.media.sandbox.sandbox import Isolation, Sandbox, find_isolation, sandbox_prefix
from reelstate.media.sources.address import InputRules, LocalAddress
from reelstate.media.sources.allowed import DECODERS, DEMUXERS, MAX_PIXELS, MAX_STREAMS
from reelstate.media.sources.errors import SourceError, SourceUnavailable, SourceUnseekable, UnusableSource
from reelstate.media.sources.facts import SourceFacts
from reelstate.media.sources.probe_child.protocol import ANSWER, CHILD_FRAME, DATA, PARENT_FRAME, READ
from reelstate.media.sources.reader import Reader
from reelstate.media.sources.source import FileReader, open_file

PROGRAM: Final = Path(__file__).with_name("probe_child")
MAX_ANSWER: Final = 4 * 1024 * 1024
MAX_READ: Final = 16 * 1024 * 1024
EXIT_TIMEOUT: Final = 2.0
LIBRARY_PATHS: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
ENVIRONMENT: Final = ("PATH", "LANG", *LIBRARY_PATHS)
"""The only variables that the child inherits: others may be secrets."""
SHELL_SIGNAL: Final = 128
"""A shell, such as the one in the sandbox, adds this to the signal that ended a process."""
TRIAL: Final = ("-I", "-c", "import av")
SANDBOX: Final = Sandbox()
HINTS: Final = {
    "empty": "check that it is written completely",
    "not_a_video": "submit an mp4, mov, mkv, webm, ts, mpeg, avi or flv file",
    "format": "submit an mp4, mov, mkv, webm, ts, mpeg, avi or flv file",
    "codec": "convert it to H.264, HEVC, VP9, AV1, MPEG-2 or ProRes first",
    "truncated": "check that it is written and uploaded completely",
    "damaged": "check that it plays, or export it again",
    "dolby_vision": "export it as HDR10, HLG or SDR; Dolby Vision profiles with a compatible picture, such as 8, work",
    "encrypted": "submit it without encryption or DRM",
    "too_many_streams": "remove the streams that are not needed",
    "too_many_pixels": f"at most {MAX_PIXELS:,} pixels per picture",
    "bomb": "it may be built to exhaust the machine",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLimits:
    """What a probe may use. `packets` and the bytes limit the scan of a source without an index."""

    memory: int = 1024**3
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    packets: int = 2_000
    local_bytes: int = 256 * 1024**2
    remote_bytes: int = 16 * 1024**2


DEFAULT_LIMITS: Final = ProbeLimits()
WHOLE_FILE_LIMITS: Final = ProbeLimits(cpu_seconds=1800, wall_seconds=3600.0)
"""Limits for reading every packet or frame of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameCount:
    """The frames of a video, counted by reading all of it."""

    frames: int
    start: Fraction
    duration: Fraction
    rate: Fraction
    variable_rate: bool
    rates: tuple[tuple[Fraction, int], ...]
    longest_gop: Fraction | None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The facts that the child reports, and its peak memory in bytes."""

    facts: dict[str, Any]
    memory: int


async def probe(source: Reader | Path, limits: ProbeLimits = DEFAULT_LIMITS, sandbox: Sandbox = SANDBOX) -> SourceFacts:
    """Return the facts of a source.

    Raises `UnusableSource` if it is refused, and what `source` raises when it is read.
    """
    return SourceFacts.from_json((await run_child("probe", source, limits, sandbox)).facts)


async def count_frames(path: Path, limits: ProbeLimits = DEFAULT_LIMITS, sandbox: Sandbox = SANDBOX) -> FrameCount:
    """Read all packets of a local file and count the frames of its video."""
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
    command: str,
    source: Reader | Path,
    limits: ProbeLimits = DEFAULT_LIMITS,
    sandbox: Sandbox = SANDBOX,
    **arguments: str | int,
) -> ProbeResult:
    """Run a command of the child process on a source: `probe`, `count` (frames) or `decode` (find damage)."""
    if isinstance(source, Path):
        with open_file(LocalAddress(source), InputRules(limit=2**63)) as file:
            return await _run_child(command, FileReader(file), limits, sandbox, arguments)
    return await _run_child(command, source, limits, sandbox, arguments)


async def _run_child(
    command: str, source: Reader, limits: ProbeLimits, sandbox: Sandbox, arguments: Mapping[str, str | int]
) -> ProbeResult:
    if source.size is None:
        raise SourceUnseekable("its size is unknown", hint="fetch it first")
    confined = await sandbox_prefix(replace(sandbox, needed=_python_paths()), Path(sys.executable), trial=TRIAL)
    try:
        async with asyncio.timeout(limits.wall_seconds), _start_child(source, confined) as child:
            _send(child, json.dumps({**_request(command, source, limits), **arguments}).encode())
            answer = await _serve(child, source)
            if answer is None:
                raise _exit_error(await _wait(child))
            return _result(answer)
    except TimeoutError:
        raise _timeout_error(source, limits) from None


def _timeout_error(source: Reader, limits: ProbeLimits) -> SourceError:
    message = f"probing it took longer than {limits.wall_seconds:g} s"
    if isinstance(source, FileReader):
        return UnusableSource("bomb", message, hint=HINTS["bomb"])
    return SourceUnavailable(message, hint="check that its server is fast enough; the task is retried")


def _request(command: str, source: Reader, limits: ProbeLimits) -> dict[str, Any]:
    local = isinstance(source, FileReader)
    return {
        "command": command,
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


@cache
def _python_paths() -> tuple[Path, ...]:
    """Return the files that Python, PyAV and the child consist of."""
    found = importlib.util.find_spec("av")
    package = [Path(found.origin).parent.parent] if found and found.origin else []
    folders = (sys.prefix, sys.base_prefix, Path(sys.executable).resolve().parent, PROGRAM, *package)
    libraries = (folder for name in LIBRARY_PATHS for folder in os.environ.get(name, "").split(os.pathsep) if folder)
    paths = [Path(str(folder)) for folder in (*folders, *libraries)]
    return tuple(dict.fromkeys(path for path in paths if path.exists()))


async def probe_wall() -> Isolation:
    """Return the wall that confines probes on this machine."""
    return await find_isolation(Path(sys.executable), TRIAL, _python_paths())


@contextlib.asynccontextmanager
async def _start_child(source: Reader, confined: Sequence[str]) -> AsyncIterator[Process]:
    """Start the child process, and kill it when the context ends."""
    child = await asyncio.create_subprocess_exec(
        *(*confined, sys.executable, "-I", str(PROGRAM)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        pass_fds=(source.file.fileno(),) if isinstance(source, FileReader) else (),
        env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
        await _drain(child)


async def _drain(child: Process) -> None:
    """Wait until stdout is closed: the sandbox may end before the process in it."""
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(EXIT_TIMEOUT):
            while await child.stdout.read(MAX_READ):
                pass


async def _serve(child: Process, source: Reader) -> dict[str, Any] | None:
    """Answer the read requests of the child until it answers; return None if it exits or misbehaves before."""
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    try:
        while True:
            kind, offset, length = CHILD_FRAME.unpack(await child.stdout.readexactly(CHILD_FRAME.size))
            if kind == ANSWER and length <= MAX_ANSWER:
                answer: dict[str, Any] = json.loads(await child.stdout.readexactly(length))
                return answer
            if kind != READ or length > MAX_READ:
                return None
            _send(child, await source.read(offset, length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _send(child: Process, data: bytes) -> None:
    assert child.stdin is not None  # noqa: S101 - it is a pipe
    child.stdin.write(PARENT_FRAME.pack(DATA, len(data)) + data)


def _result(answer: dict[str, Any]) -> ProbeResult:
    if "refused" in answer:
        refused = answer["refused"]
        raise UnusableSource(refused["kind"], refused["message"], hint=HINTS.get(refused["kind"], ""))
    return ProbeResult(answer["facts"], answer["memory"])


async def _wait(child: Process) -> int:
    """Return the exit code; terminate a child that misbehaved."""
    try:
        async with asyncio.timeout(EXIT_TIMEOUT):
            return await child.wait()
    except TimeoutError:
        child.terminate()
        return await child.wait()


def _exit_error(code: int) -> SourceError:
    """Return the error of a child that died: by SIGKILL from outside, otherwise by its limits or by the source."""
    if code in {-signal.SIGKILL, SHELL_SIGNAL + signal.SIGKILL}:
        return SourceUnavailable("the probe process was killed", hint="check that this machine has enough memory")
    return UnusableSource("bomb", "the probe process crashed on it", hint=HINTS["bomb"])
