"""Parse the documents of a server into the records of the engine, with bounds.

The names of fields are those of the records, as `documents.py` writes them; what a document calls otherwise is mapped
here. Unknown fields, of a newer server, are ignored.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from reelstate.core.model import (
    Event,
    Job,
    JobDetail,
    LogEntry,
    Page,
    PipelineVersion,
    Stage,
    StepEntry,
    Submitted,
    Task,
    Worker,
)
from reelstate.core.pause import Pause, PauseScope, Target
from reelstate.core.schedule import Schedule, ScheduleDetail, ScheduleRun
from reelstate.core.state import State, StateJob
from reelstate.core.webhook import Webhook, WebhookSecret
from reelstate.core.why import Explanation, Reason
from reelstate.library.model import Video, VideoDetail, VideoVersion
from reelstate.services.keys import Key, MadeKey
from reelstate.services.pause import Paused
from reelstate.services.states import States, StatesGrid

T = TypeVar("T")
Document = Mapping[str, Any]
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9000
"""A later time can't be shown in every time zone."""
LARGEST: Final = 2**63
MAX_STAGES: Final = 10_000


class Unreadable(ValueError):
    """A document that is not what this command expects; the text says where."""


def record_of(record: type[T], document: object) -> T:
    """Parse a document into a record, or a list of them. Raises `Unreadable`."""
    try:
        found: T = _adapter(record).validate_python(document)  # type: ignore[arg-type]  # every type is hashable
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Unreadable(f"{where}: {first['msg']}" if where else first["msg"]) from None
    _require_bounds(found)
    return found


def object_of(document: object) -> dict[str, Any]:
    """Return a document that is an object."""
    return record_of(dict[str, Any], document)


def items_of(document: object, parse: Callable[[Any], T], most: int = 100_000) -> list[T]:
    """Parse a list of at most so many documents."""
    if not isinstance(document, list) or len(document) > most:
        raise Unreadable(f"expected a list of at most {most:,} items")
    return [parse(item) for item in document]


def page_of(document: object, parse: Callable[[Any], T], limit: int) -> Page[T]:
    """Parse a page of at most `limit` items."""
    page = object_of(document)
    after = page.get("after")
    return Page(items_of(page.get("items"), parse, limit), None if after is None else record_of(str, after))


def parser_of(record: type[T]) -> Callable[[Any], T]:
    """Return a function that parses documents with the names of the record's fields."""
    return functools.partial(record_of, record)


def job_of(document: object) -> Job:
    return record_of(Job, document)


def detail_of(document: object) -> JobDetail:
    """Parse a job with its stages; the results of its plan are not part of the document."""
    found = object_of(document)
    job = job_of(found)
    if len(stages := found.get("stages") or []) > MAX_STAGES:
        raise Unreadable(f"stages: more than {MAX_STAGES:,}")
    return JobDetail(
        job=job,
        stages=tuple(
            record_of(Stage, {**object_of(stage), "job_id": job.id, "stage": number})
            for number, stage in enumerate(stages)
        ),
        plan={},
        outputs=record_of(dict[str, Any], found.get("outputs")),
        progress=record_of(float, found.get("progress")),
    )


def task_of(document: object, names: Sequence[str]) -> Task:
    """Parse a task without its documents; `names` are the stages of its job."""
    absent = {"input": None, "checkpoint": None, "result": None}
    found = object_of(document)
    return record_of(Task, {**absent, **found, "stage": number_of(found.get("stage"), names)})


def log_of(document: object, names: Sequence[str]) -> LogEntry:
    found = object_of(document)
    return record_of(LogEntry, {**found, "stage": number_of(found.get("stage"), names)})


def step_of(document: object, names: Sequence[str]) -> StepEntry:
    found = object_of(document)
    return record_of(StepEntry, {**found, "stage": number_of(found.get("stage"), names)})


def number_of(name: object, names: Sequence[str]) -> int:
    """Return the number of a stage; one without a name is shown as its number."""
    if isinstance(name, str) and name in names:
        return names.index(name)
    return record_of(int, name)


def event_of(document: object) -> Event:
    """Parse an event. The number of its stage is not part of the document."""
    found = object_of(document)
    return record_of(
        Event,
        {
            **found,
            "job_id": found.get("job"),
            "stage_number": None,
            "worker_id": found.get("worker"),
            "worker": found.get("worker_name"),
            "origin": found.get("from"),
            "target": found.get("to"),
        },
    )


def submitted_of(document: object) -> Submitted:
    found = object_of(document)
    return record_of(Submitted, {**found, "job_id": found.get("id")})


def worker_of(document: object) -> Worker:
    found = object_of(document)
    return record_of(Worker, {**found, "status": found.get("lifecycle")})


def version_of(document: object) -> PipelineVersion:
    """Parse a version of a pipeline, with the names of its stages."""
    found = object_of(document)
    stages = items_of(found.get("stages"), lambda stage: object_of(stage).get("name"), MAX_STAGES)
    return record_of(PipelineVersion, {**found, "stages": stages})


def pause_of(document: object) -> Pause:
    found = object_of(document)
    scope = record_of(PauseScope, found.get("scope"))
    name = found.get("pipeline") or found.get("user_id") or found.get("worker") or ""
    target = record_of(Target, {"scope": scope, "name": name, "stage": found.get("stage") or ""})
    return record_of(Pause, {**found, "target": target})


def paused_of(document: object) -> Paused:
    found = object_of(document)
    return record_of(Paused, {**found, "pause": pause_of(found)})


def explanation_of(document: object) -> Explanation:
    found = object_of(document)
    reasons = items_of(found.get("reasons"), parser_of(Reason))
    return record_of(Explanation, {**found, "job_id": found.get("job"), "reasons": reasons})


def states_of(document: object) -> States:
    return States(tuple(items_of(object_of(document).get("stages"), _grid_of, MAX_STAGES)))


def _grid_of(document: object) -> StatesGrid:
    found = object_of(document)
    lowest = record_of(State, found.get("lowest"))
    job = record_of(
        StateJob,
        {
            "job_id": found.get("job"),
            "tasks": found.get("tasks"),
            "tags": found.get("expected_tags"),
            "generation": lowest.generation,
        },
    )
    states = items_of(found.get("states"), parser_of(State), 10_000_000)
    return StatesGrid(record_of(str, found.get("name")), job, tuple(states))


def made_key_of(document: object) -> MadeKey:
    found = object_of(document)
    return MadeKey(record_of(Key, {**found, "kind": found.get("kind")}), record_of(str, found.get("key")))


def webhook_secret_of(document: object) -> WebhookSecret:
    found = object_of(document)
    return WebhookSecret(record_of(Webhook, found), record_of(str, found.get("secret")))


def schedule_detail_of(document: object) -> ScheduleDetail:
    found = object_of(document)
    return ScheduleDetail(
        schedule=record_of(Schedule, found),
        upcoming=record_of(tuple[datetime, ...], found.get("upcoming")),
        runs=record_of(tuple[ScheduleRun, ...], found.get("runs")),
    )


def video_detail_of(document: object) -> VideoDetail:
    found = object_of(document)
    versions = items_of(found.get("versions"), _video_version_of)
    return VideoDetail(video=record_of(Video, found), versions=tuple(versions))


def _video_version_of(document: object) -> VideoVersion:
    found = object_of(document)
    return record_of(VideoVersion, {**found, "job": job_of({**found, "id": found.get("job")})})


@functools.cache
def _adapter(record: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(record)


def _require_bounds(value: object) -> None:
    """Raise `Unreadable` for a number or a time that can't be shown. Stored JSON is not looked into."""
    match value:
        case bool() | str() | Enum() | None:
            return
        case int():
            valid = -LARGEST <= value < LARGEST
        case float():
            valid = math.isfinite(value)
        case datetime():
            valid = value.tzinfo is not None and FIRST_YEAR <= value.year <= LAST_YEAR
        case tuple() | frozenset():
            valid = True
            for item in value:
                _require_bounds(item)
        case _:
            valid = True
            for field in fields(value) if is_dataclass(value) else ():
                _require_bounds(getattr(value, field.name))
    if not valid:
        raise Unreadable(f"{str(value)[:50]} is out of bounds")
