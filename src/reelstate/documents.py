"""The engine's records as JSON documents: the same names everywhere, times as ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from reelstate.core.group import GroupDetail
from reelstate.core.limit import LimitRecord
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
from reelstate.core.pause import Pause, PauseScope
from reelstate.core.schedule import Backfill, Schedule, ScheduleDetail, ScheduleRun
from reelstate.core.state import State
from reelstate.core.webhook import Delivery, Webhook
from reelstate.core.why import Explanation, Reason
from reelstate.media.sources.address import redact_source
from reelstate.services.feed import FeedItem
from reelstate.services.keys import Key
from reelstate.services.limits.limits import LimitStatus
from reelstate.services.states import States

Document = dict[str, Any]
NOT_OF_A_TASK = frozenset({"checkpoint", "result", "input"})
"""Fields of a task that may be large."""
NOT_OF_A_STAGE = frozenset({"job_id", "stage"})
"""Fields of a stage that its job shows."""


def job_document(job: Job) -> Document:
    """Return a job; users, passwords and queries are removed from the addresses in its spec."""
    return {**fields_document(job), "spec": _without_secrets(job.spec)}


def detail_document(
    detail: JobDetail, current: Sequence[Task] = (), reasons: Sequence[Reason] | None = None
) -> Document:
    """Return a job as `reel job` shows it: stages, running tasks and tasks that wait for their retry.

    `waits_for` has the reasons why it does not run, where they were asked for.
    """
    waits_for = {} if reasons is None else {"waits_for": [reason_document(reason) for reason in reasons]}
    return {
        **waits_for,
        **job_document(detail.job),
        "progress": round(detail.progress, 2),
        "outputs": detail.outputs,
        "stages": [stage_document(stage) for stage in detail.stages],
        "running": [task_document(task) for task in current if task.status is TaskStatus.RUNNING],
        "retrying": [task_document(task) for task in current if task.run_after is not None],
    }


def explanation_document(explained: Explanation) -> Document:
    """Return why a job or a task does not run now."""
    return {
        "job": explained.job_id,
        "stage": explained.stage,
        "part": explained.part,
        "status": explained.status,
        "runs": explained.runs,
        "at": explained.at,
        "reasons": [reason_document(reason) for reason in explained.reasons],
    }


def reason_document(reason: Reason) -> Document:
    """Return one cause, with the tasks that it is about."""
    data = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in reason.data.items()}
    return {**fields_document(reason), "data": data, "subject": reason.subject}


def stage_document(stage: Stage) -> Document:
    """Return a stage; its job shows where it belongs."""
    return {name: value for name, value in fields_document(stage).items() if name not in NOT_OF_A_STAGE}


def task_document(task: Task) -> Document:
    """Return a task without its documents."""
    kept = {name: value for name, value in fields_document(task).items() if name not in NOT_OF_A_TASK}
    identity = {"id": f"{task.job_id}/{task.stage_name}/{task.part}", "stage": task.stage_name}
    return {**kept, **identity, "claim_state": task.claim_state}


def event_document(event: Event) -> Document:
    """Return an event: one transition."""
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
    """Return the id of an event's entity: JOB, JOB/STAGE, JOB/STAGE/PART, or the id of a worker."""
    if event.job_id is None:
        return event.worker_id
    if event.stage is None:
        return event.job_id
    pieces = (event.job_id, event.stage, event.part)
    return "/".join(str(piece) for piece in pieces if piece is not None)


def stage_name(number: int | None, stages: Sequence[str]) -> str | None:
    """Return the name of a stage; its number where the name is unknown."""
    if number is None:
        return None
    return stages[number] if number < len(stages) else str(number)


def log_document(entry: LogEntry, stages: Sequence[str]) -> Document:
    """Return a log line; `stages` are the names of the job's stages."""
    return {**fields_document(entry), "stage": stage_name(entry.stage, stages)}


def step_document(entry: StepEntry, stages: Sequence[str]) -> Document:
    """Return an external command; `stages` are the names of the job's stages."""
    return {**fields_document(entry), "stage": stage_name(entry.stage, stages)}


def state_document(state: State) -> Document:
    """Return a state."""
    return fields_document(state)


def feed_document(item: FeedItem, cursor: str, stages: Sequence[str] = ()) -> Document:
    """Return an item of the feed: an event, a state, or the progress of a task."""
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
    """Return the state grids of a job, and its lowest state."""
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
    """Return a worker with the status that people read."""
    return {**fields_document(worker), "lifecycle": worker.status, "status": worker.shown}


def pipeline_document(version: PipelineVersion) -> Document:
    """Return a version of a pipeline, without the options of its stages."""
    return {name: value for name, value in fields_document(version).items() if name != "graph"}


def key_document(key: Key) -> Document:
    """Return an API key without its secret."""
    return fields_document(key)


def webhook_document(webhook: Webhook) -> Document:
    """Return a webhook without its secret."""
    return {**fields_document(webhook), "events": list(webhook.events)}


def delivery_document(delivery: Delivery) -> Document:
    """Return a delivery with its attempts."""
    return {**fields_document(delivery), "attempts": [fields_document(attempt) for attempt in delivery.attempts]}


def schedule_document(schedule: Schedule) -> Document:
    """Return a schedule with its last run; secrets are removed from its spec as from that of a job."""
    last = None if schedule.last is None else run_document(schedule.last)
    return {**fields_document(schedule), "spec": _without_secrets(schedule.spec), "last": last}


def schedule_detail_document(detail: ScheduleDetail) -> Document:
    """Return a schedule with its next ticks and its last runs."""
    return {
        **schedule_document(detail.schedule),
        "upcoming": list(detail.upcoming),
        "runs": [run_document(run) for run in detail.runs],
    }


def run_document(run: ScheduleRun) -> Document:
    """Return a run of a schedule."""
    return fields_document(run)


def backfill_document(backfill: Backfill) -> Document:
    """Return the ticks and the jobs of a backfill."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields_document(backfill).items()
    }


def group_document(group: GroupDetail) -> Document:
    """Return a group with the counts of its jobs."""
    return {**fields_document(group), "counts": dict(group.counts), "progress": round(group.progress, 2)}


def pause_document(pause: Pause) -> Document:
    """Return a pause; what does not belong to its target is null."""
    target = pause.target
    in_pipeline = target.scope in (PauseScope.PIPELINE, PauseScope.STAGE)
    return {
        "id": pause.id,
        "scope": target.scope,
        "pipeline": target.name if in_pipeline else None,
        "stage": target.stage or None,
        "user_id": target.name if target.scope is PauseScope.USER else None,
        "worker": target.name if target.scope is PauseScope.WORKER else None,
        "reason": pause.reason,
        "actor": pause.actor,
        "paused_at": pause.paused_at,
        "resumed_at": pause.resumed_at,
        "resumed_by": pause.resumed_by,
        "resumed_reason": pause.resumed_reason,
    }


def limit_document(record: LimitRecord) -> Document:
    """Return a limit and who set it."""
    limit = record.limit
    return {
        "id": record.id,
        "name": limit.name,
        "pipeline": limit.pipeline,
        "stage": limit.stage,
        "user_id": limit.user_id,
        "per": limit.per,
        "running": limit.running,
        "starts": limit.starts,
        "period": limit.period,
        "weights": dict(limit.weights),
        "declared": record.declared,
        "reason": record.reason,
        "actor": record.actor,
        "created_at": record.created_at,
        "changed_at": record.changed_at,
        "removed_at": record.removed_at,
    }


def limit_status_document(status: LimitStatus) -> Document:
    """Return a limit and the keys that use it."""
    return {**limit_document(status.record), "uses": [asdict(use) for use in status.uses]}


def machine_document(machine: Machine) -> Document:
    """Return the states of a machine, and which actor may make which transition."""
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


def _without_secrets(spec: Json) -> Json:
    shown = _mask(spec)
    if isinstance(spec, dict) and isinstance(shown, dict) and isinstance(source := spec.get("source"), str):
        return {**shown, "source": redact_source(source)}
    return shown


def _mask(value: Json) -> Json:
    """Return a document with passwords and signatures masked in its texts."""
    match value:
        case str():
            return mask_passwords(value)
        case dict():
            return {name: _mask(inner) for name, inner in value.items()}
        case list():
            return [_mask(inner) for inner in value]
    return value


def fields_document(record: Any) -> Document:
    """Return the fields of a record by their names."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def json_value(value: object) -> object:
    """Convert a value that JSON does not have: times, sets and mappings. Raise `TypeError` for others."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
