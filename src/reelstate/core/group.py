"""Groups of jobs: their names, and the status and progress of all jobs of one together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from reelstate.core.errors import InvalidRequest

MAX_NAME: Final = 200
MAX_GROUP_JOBS: Final = 100_000
"""Jobs of one group: its counts are read from an index each time."""
MAX_AFTER: Final = 1000
"""Jobs and groups that one job waits for."""
PREFIX: Final = "group:"
_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@+-]{{0,{MAX_NAME - 1}}}", re.ASCII)
AfterFailureName: TypeAlias = Literal["wait", "cancel", "start"]


class AfterFailure(StrEnum):
    """What happens to a waiting job when what it waits for fails for good, is quarantined or cancelled."""

    WAIT = "wait"
    """It waits on: a retry may still complete what has failed."""
    CANCEL = "cancel"
    """It is cancelled."""
    START = "start"
    """It starts when everything that it waits for has ended, with whatever outcome."""


@dataclass(frozen=True, slots=True)
class Group:
    """The name of a group, for `after`. It is a group of the user who submits the job."""

    name: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetail:
    """All jobs of a group together."""

    name: str
    user_id: str
    """The owner; groups of different users may have one name."""
    status: str
    """The lowest status among its jobs: quarantined, failed, cancelled, running, pending or completed."""
    jobs: int
    counts: Mapping[str, int]
    """The number of its jobs by status; `running` is every phase. Archived jobs count too."""
    progress: float
    """The jobs that are not active any more, in percent."""
    round: int
    """+1 whenever a job joins it, or runs again, after it has finished."""
    created_at: datetime
    finished_at: datetime | None
    """When the keeper saw that none of its jobs is active; None while a round is open."""
    callback: str | None
    """The URL that gets its events, without its query."""


def check_group_name(name: str, field: str = "group") -> str:
    """Return the name of a group. Raises `InvalidRequest`."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            field,
            f"invalid name {name[:MAX_NAME]!r}",
            hint=f"letters, digits and . _ : @ + -, at most {MAX_NAME}, and a letter or a digit first",
        )
    return name


def check_after(after: Sequence[int | Group]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the distinct jobs and the names of the distinct groups that a job waits for. Raises `InvalidRequest`."""
    if not isinstance(after, list | tuple):
        raise InvalidRequest("after", f"{after!r} is not a list", hint="give a list of job ids and groups")
    if len(after) > MAX_AFTER:
        raise InvalidRequest(
            "after", f"names {len(after):,} jobs and groups, the limit is {MAX_AFTER:,}", hint="put them into a group"
        )
    jobs, groups = [], []
    for each in after:
        if isinstance(each, Group):
            groups.append(check_group_name(each.name, "after"))
        elif type(each) is int and 0 <= each < 2**63:
            jobs.append(each)
        else:
            raise InvalidRequest("after", f"{each!r} is no job and no group", hint='such as 244813922304 or Group("x")')
    return tuple(sorted(set(jobs))), tuple(sorted(set(groups)))


def check_after_failure(name: str) -> AfterFailure:
    """Return what happens after a failure. Raises `InvalidRequest`."""
    try:
        return AfterFailure(name)
    except ValueError:
        raise InvalidRequest("after_failure", f"unknown {name!r}", hint=", ".join(AfterFailure)) from None


def parse_after(text: str) -> int | Group:
    """Return the job or group of a text: `244813922304` or `group:nightly`. Raises `InvalidRequest`."""
    if text.startswith(PREFIX):
        return Group(check_group_name(text.removeprefix(PREFIX), "after"))
    if not text.isdecimal() or not text.isascii():
        raise InvalidRequest(
            "after", f"{text[:MAX_NAME]!r} is no job and no group", hint="such as 244813922304 or group:nightly"
        )
    return int(text)
