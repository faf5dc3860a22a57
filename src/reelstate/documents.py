"""The engine's records as JSON documents: the same names everywhere, times as ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from reelstate.core.machine import Machine, TaskStatus
from reelstate.core.model import (
    Event,
    Job,
    JobDetail,
    Json,
    LogEntry,
    PipelineVersion,
    Stage,
    StepEntry,
    Task,
    Worker,
)
from reelstate.core.outcome import mask_passwords
from reelstate.core.state import State
from reelstate.library.model import Video, VideoVersion
from reelstate.media.planning.quality import Quality
from reelstate.media.sources.address import redact_source
from reelstate.services.feed import FeedItem
from reelstate.services.keys import Key
from reelstate.services.states import States

Document = dict[str, Any]
NOT_OF_A_TASK = frozenset({"checkpoint", "result", "input"})
"""What may be large and is not what a person asks for."""
NOT_OF_A_STAGE = frozenset({"job_id", "stage"})
"""Where it stands is told by the job around it."""


def job_document(job: Job) -> Document:
    """A job without the secrets of its spec: users, passwords and queries of addresses."""
    return {**_fields(job), "spec": _without_secrets(job.spec)}


def detail_document(detail: JobDetail, current: Sequence[Task] = ()) -> Document:
    """A job as `reel job` tells it."""
    return {
        **job_document(detail.job),
        "progress": round(detail.progress, 2),
        "outputs": detail.outputs,
        "stages": [stage_document(stage) for stage in detail.stages],
        "running": [task_document(task) for task in current if task.status is TaskStatus.RUNNING],
        "resting": [task_document(task) for task in current if task.run_after is not None],
    }


def stage_document(stage: Stage) -> Document:
    return {name: value for name, value in _fields(stage).items() if name not in NOT_OF_A_STAGE}


def task_document(task: Task) -> Document:
    kept = {name: value for name, value in _fields(task).items() if name not in NOT_OF_A_TASK}
    place = {"id": f"{task.job_id}/{task.stage_name}/{task.part}", "stage": task.stage_name}
    return {**kept, **place, "claim_state": task.claim_state}


def event_document(event: Event) -> Document:
    """One row of the record of transitions."""
    return {
        "entity": event.entity,
        "id": event_id(event),
        "version": event.version,
        "from": event.origin,
        "to": event.target,
        "actor": event.actor,
        "reason": event.reason,
        "at": event.at,
        "job": event.job_id,
        "stage": event.stage,
        "part": event.part,
        "worker": event.worker_id,
        "worker_name": event.worker,
        "token": event.token,
        "data": event.data,
        "cursor": event.cursor,
    }


def event_id(event: Event) -> int | str | None:
    """What an event is about: JOB, JOB/STAGE, JOB/STAGE/PART, or the number of a worker."""
    if event.job_id is None:
        return event.worker_id
    if event.stage is None:
        return event.job_id
    pieces = (event.job_id, event.stage, event.part)
    return "/".join(str(piece) for piece in pieces if piece is not None)


def stage_name(number: int | None, stages: Sequence[str]) -> str | None:
    if number is None:
        return None
    return stages[number] if number < len(stages) else str(number)


def log_document(entry: LogEntry, stages: Sequence[str]) -> Document:
    return {**_fields(entry), "stage": stage_name(entry.stage, stages)}


def step_document(entry: StepEntry, stages: Sequence[str]) -> Document:
    return {**_fields(entry), "stage": stage_name(entry.stage, stages)}


def state_document(state: State) -> Document:
    return _fields(state)


def told_document(item: FeedItem, cursor: str, stages: Sequence[str] = ()) -> Document:
    """What subscribers are told of: an event, a state, or how far a task is."""
    if isinstance(item, Event):
        return {"kind": "event", **event_document(item)}
    if isinstance(item, State):
        return {"kind": "state", **state_document(item), "cursor": cursor}
    stage = stage_name(item.key.stage, stages)
    return {
        "kind": "progress",
        "id": f"{item.key.job_id}/{stage}/{item.key.part}",
        "job": item.key.job_id,
        "stage": stage,
        "part": item.key.part,
        "token": item.token,
        "percent": item.percent,
        "message": item.message,
        "step": item.step,
        "at": item.at,
    }


def states_document(states: States) -> Document:
    """The grids of a job, and the state that stands for all."""
    lowest = states.lowest
    return {
        "lowest": None if lowest is None else state_document(lowest),
        "stages": [
            {
                "name": grid.name,
                "job": grid.job.job_id,
                "tasks": grid.job.tasks,
                "expected_tags": list(grid.job.tags),
                "lowest": state_document(grid.lowest),
                "states": [state_document(state) for state in grid.states],
            }
            for grid in states.stages
        ],
    }


def worker_document(worker: Worker) -> Document:
    """A worker, its state in the one word that people read."""
    return {**_fields(worker), "lifecycle": worker.status, "status": worker.shown}


def pipeline_document(version: PipelineVersion) -> Document:
    """A version of a pipeline."""
    return _fields(version)


def key_document(key: Key) -> Document:
    return _fields(key)


def machine_document(machine: Machine) -> Document:
    """Which change of state is legal, and who may make it."""
    return {
        "entity": machine.entity,
        "states": machine.states,
        "initial_states": machine.initial_states,
        "terminal": machine.terminal,
        "transitions": [
            {"from": change.origin, "to": change.target, "actors": sorted(change.actors)}
            for change in machine.transitions
        ],
    }


def video_document(video: Video) -> Document:
    """A video; its source is shown without user, password and query."""
    return {**_fields(video), "source": redact_source(video.source)}


def version_document(version: VideoVersion) -> Document:
    """A version: its job, and what it is to its video."""
    return {**job_document(version.job), **_fields(version), "job": version.job.id}


def quality_document(quality: Quality) -> Document:
    return {**_fields(quality), "progress_percent": round(quality.progress_percent, 2)}


def _without_secrets(spec: Json) -> Json:
    shown = _masked(spec)
    if isinstance(spec, dict) and isinstance(shown, dict) and isinstance(source := spec.get("source"), str):
        return {**shown, "source": redact_source(source)}
    return shown


def _masked(value: Json) -> Json:
    """A document whose texts have no passwords and signatures in them."""
    match value:
        case str():
            return mask_passwords(value)
        case dict():
            return {name: _masked(inner) for name, inner in value.items()}
        case list():
            return [_masked(inner) for inner in value]
    return value


def _fields(record: Any) -> Document:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def plain(value: object) -> object:
    """A value that JSON has no word for in the form it takes there."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
