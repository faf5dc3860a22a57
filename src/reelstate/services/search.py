"""search: list the jobs that a search selects, newest first.

A page looks at the newest `WINDOW` candidates of one index at most, so it costs the same whatever is stored. Where
fewer match, the page is shorter and its cursor continues below the candidates; a page without a cursor is the last one.
Fields that no index serves are compared with these candidates. Those that read documents are refused without a field
that an index serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, InvalidSearch, UnknownPipeline
from reelstate.core.machine import ACTIVE_JOBS, JobStatus
from reelstate.core.model import Job, Json, Page
from reelstate.core.month import id_at
from reelstate.core.policy import HIGHEST_PRIORITY, LOWEST_PRIORITY
from reelstate.core.search import MAX_LENGTH, Search, Suggestion, TimeRange, parse, suggestions
from reelstate.services.archive import CLOCK_ERROR
from reelstate.services.catalogue import PIPELINE_NAMES
from reelstate.services.jobs import NOW
from reelstate.services.observe import JobFilter
from reelstate.services.paging import PAST_EVERY_ID, cursor_number, page_size
from reelstate.services.rows import JobRow, job_of
from reelstate.stores.store import Batch, Statement, Store, Transaction

WINDOW: Final = 2000
"""Candidates that one page looks at."""
SPEC_COLUMNS = ("path", "text", "part")


class _Id(NamedTuple):
    id: int


class _JobId(NamedTuple):
    job_id: int


class _Version(NamedTuple):
    id: int
    name: str


SEARCH_IDS = Statement("search_ids", _Id)
SEARCH_JOBS = Statement("search_jobs", JobRow)
SEARCH_KEY = Statement("search_key", _JobId)
SEARCH_PIPELINES = Statement("search_pipelines", _Version)


async def suggest(store: Store, text: str) -> list[Suggestion]:
    """Return how the last term of a search may go on. Raises `InvalidRequest` for a text that is too long."""
    plain_text("search", text, MAX_LENGTH)

    async def flow(transaction: Transaction) -> list[str]:
        return sorted(row.name for row in await transaction.run(PIPELINE_NAMES))

    return suggestions(text, {"pipeline": await store.read(flow)})


async def search_jobs(
    store: Store, text: str, selected: JobFilter, *, limit: int = 50, after: str | None = None
) -> Page[Job]:
    """List the jobs that a search and a filter select. Raises `InvalidSearch` and `InvalidRequest`.

    A page may have fewer jobs than `limit`, even none, and a cursor: nothing more matched among those looked at.
    """
    plain_text("search", text, MAX_LENGTH)
    search = parse(text)
    _require_single(search, selected)
    user_id = selected.user_id if search.user is None else search.user
    statuses = _statuses(search, selected)
    by = _index(search, user_id, statuses)
    names = search.pipelines if selected.pipeline is None else (selected.pipeline,)
    before = PAST_EVERY_ID if after is None else cursor_number(after)
    size = page_size(limit)

    async def flow(transaction: Transaction) -> Page[Job]:
        (clock,) = await transaction.run(NOW)
        ids: list[int] = []
        if by == "key":
            found = await transaction.run(SEARCH_KEY, user_id=user_id or "", key=search.key)
            ids = [row.job_id for row in found]
        terms = {**_times(search, clock.at), "pipelines": await _versions(transaction, names)}
        floor, highest = _id_bounds(search, clock.at)
        low, high = search.priority or (LOWEST_PRIORITY, HIGHEST_PRIORITY)
        rows = await transaction.run(
            SEARCH_IDS,
            Batch(SPEC_COLUMNS, [(".".join(term.path), term.text, term.part) for term in search.spec]),
            by=by,
            ids=ids,
            floor=floor,
            before=min(before, highest),
            statuses=statuses,
            user_id=user_id if by != "key" else None,
            group=search.group,
            schedule=search.schedule,
            low=low,
            high=high,
            flagged=selected.flagged,
            errors=list(search.errors),
            window=WINDOW,
            limit=size,
            **terms,
        )
        matched = [row.id for row in rows if row.id >= 0]
        jobs = [job_of(row) for row in await transaction.run(SEARCH_JOBS, ids=matched)] if matched else []
        looked_at = [-row.id for row in rows if row.id < 0]
        rest = matched[-1] if len(matched) == size else looked_at[0] if looked_at else None
        return Page(jobs, None if rest is None else str(rest))

    return await store.read(flow)


def _require_single(search: Search, selected: JobFilter) -> None:
    """Raise where the search and the other filters name the same field."""
    for field, given, searched in (
        ("status", selected.statuses, search.statuses),
        ("pipeline", selected.pipeline, search.pipelines),
    ):
        if given is not None and searched:
            raise InvalidRequest("search", f"{field} is given twice", hint="give it in the search only")
    if selected.user_id is not None and search.user not in (None, selected.user_id):
        raise InvalidRequest("search", "names another user than the filter", hint="leave user: out")


def _statuses(search: Search, selected: JobFilter) -> list[JobStatus] | None:
    wanted = search.wanted if selected.statuses is None else list(selected.statuses)
    return list(ACTIVE_JOBS) if wanted is None and selected.flagged else wanted


def _index(search: Search, user_id: str | None, statuses: list[JobStatus] | None) -> str:
    """Return the index that gives the candidates: the one that selects the fewest, as a rule."""
    if search.key is not None:
        return "key"
    if search.group is not None:
        return "group"
    if search.schedule is not None:
        return "schedule"
    if user_id:
        return "user"
    if statuses is not None and JobStatus.COMPLETED not in statuses:
        return "status"
    recent = search.created is not None and search.created.start is not None
    if (search.errors or search.spec) and not recent:
        field = "error" if search.errors else "spec"
        raise InvalidSearch(
            f"{field} alone would read every job",
            hint="add a field with an index: created:<7d, status:failed, user:…, group:…, schedule:… or key:…",
        )
    return "id"


def _id_bounds(search: Search, now: datetime) -> tuple[int, int]:
    """Return ids between which all jobs are that were created in the range: ids grow with the time of creation."""
    start, end = (search.created or TimeRange()).bounds(now)
    _, finished = (search.finished or TimeRange()).bounds(now)
    ends = [each for each in (end, finished) if each is not None]
    floor = 0 if start is None else id_at(start - CLOCK_ERROR) - 1
    return floor, id_at(min(ends) + CLOCK_ERROR + timedelta(seconds=1)) if ends else PAST_EVERY_ID


def _times(search: Search, now: datetime) -> Mapping[str, Json]:
    created, finished = search.created or TimeRange(), search.finished or TimeRange()
    return {
        **dict(zip(("created_from", "created_until"), created.bounds(now), strict=True)),
        **dict(zip(("finished_from", "finished_until"), finished.bounds(now), strict=True)),
    }


async def _versions(transaction: Transaction, names: tuple[str, ...]) -> list[int] | None:
    """Return the ids of the versions of pipelines; raise for a name that is none, most likely a spelling mistake."""
    if not names:
        return None
    rows = await transaction.run(SEARCH_PIPELINES, names=list(names))
    missing = set(names) - {row.name for row in rows}
    if missing:
        known = sorted(row.name for row in await transaction.run(PIPELINE_NAMES))
        raise UnknownPipeline(min(missing), known)
    return [row.id for row in rows]
