"""What may be deleted: files of runs that do not count, versions whose time is over, sources that no job needs.

The decisions are pure; the deletion is thin, may be repeated, and may be broken off anywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reelstate.artifacts.keys import SOURCES, Origin, origin, version
from reelstate.artifacts.storage import Storage
from reelstate.artifacts.stored import Listed

Tokens = Mapping[tuple[str, int], int]
"""The token of each task of a job, by stage and part."""
SETTLED: Final = timedelta(days=1)
"""How long a new source is kept: the job that needs it may not be stored yet."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a video, as far as its deletion goes."""

    job: int
    superseded_at: datetime | None
    """None for one that is current, pinned or still being made."""
    reuses: frozenset[int] = frozenset()
    """Jobs whose files it refers to."""


def abandoned(keys: Iterable[str], tokens: Tokens) -> tuple[Origin, ...]:
    """The runs that left files and no longer count.

    Tokens only grow: read after the files were listed, a lower one is of a run that was fenced off, and a higher one
    of a run that has begun since.
    """
    runs = {run for run in map(origin, keys) if run is not None}
    return tuple(sorted(run for run in runs if _is_abandoned(run, tokens)))


def _is_abandoned(run: Origin, tokens: Tokens) -> bool:
    counts = tokens.get((run.stage, run.part))
    return counts is None or run.token < counts


def expired(versions: Iterable[Version], *, now: datetime, keep: timedelta) -> tuple[int, ...]:
    """The jobs whose files may go: superseded long enough ago, and not referred to by one that stays."""
    known = {each.job: each for each in versions}
    waiting = [job for job, each in known.items() if each.superseded_at is None or now - each.superseded_at < keep]
    staying: set[int] = set()
    while waiting:
        job = waiting.pop()
        if job not in staying:
            staying.add(job)
            waiting.extend(known[job].reuses if job in known else ())
    return tuple(sorted(known.keys() - staying))


def unneeded(found: Iterable[Listed], needed: frozenset[str], *, now: datetime) -> tuple[str, ...]:
    """The keys of sources that no job needs any more; `needed` are the sha256 of the others."""
    return tuple(
        sorted(
            each.key for each in found if each.key.rpartition("/")[2] not in needed and now - each.modified >= SETTLED
        )
    )


async def sweep_job(storage: Storage, job: int, tokens: Callable[[], Awaitable[Tokens]]) -> tuple[Origin, ...]:
    """Delete what runs that do not count have left of one job. The tokens are asked for after the files are listed."""
    keys = [found.key async for found in storage.list(version(job))]
    runs = abandoned(keys, await tokens()) if keys else ()
    for run in runs:
        await storage.delete(run.prefix)
    return runs


async def sweep_versions(storage: Storage, jobs: Iterable[int]) -> int:
    """Delete all files of these jobs; how many there were."""
    return sum([await storage.delete(version(job)) for job in jobs])


async def sweep_sources(
    storage: Storage, needed: Callable[[], Awaitable[frozenset[str]]], *, now: datetime
) -> tuple[str, ...]:
    """Delete the sources that no job needs. Which those are is asked for after the sources are listed, and again
    before each goes: to delete many takes a while, in which a job may come to need one that was there all along.
    """
    found = [each async for each in storage.list(SOURCES)]
    swept = []
    for key in unneeded(found, await needed(), now=now) if found else ():
        if key.rpartition("/")[2] not in await needed():
            await storage.delete(key)
            swept.append(key)
    return tuple(swept)
