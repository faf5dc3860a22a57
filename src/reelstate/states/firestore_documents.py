"""States as Firestore documents: their names and fields, and which payloads a document can hold.

```text
jobs/{job}                                     numTasks, tags, generation, createdAt, deleted, floor
jobs/{job}/states/{task}-{tag}                 the newest version of a state
jobs/{job}/log/{generation}:{task}:{tag}:{event}   every version, each written once
jobs/{job}/log/deleted                         the generation that was deleted last
```
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from reelstate.core.model import Json
from reelstate.core.state import BEGINNING, Severity, State, StateJob, StateKey
from reelstate.feed.log import Order

JOBS: Final = "jobs"
STATES: Final = "states"
LOG: Final = "log"
TIMESTAMP: Final = "timestamp"
DELETED: Final = "deleted"
"""The document of the log that reports a deletion to listeners, and its field with the deleted generation."""
FLOOR: Final = "floor"
"""The field of a job with the position of the last pruned version, its numbers separated by dots."""

MAX_DEPTH: Final = 15
"""Levels of a payload; Firestore allows 20 in a document."""
RESERVED: Final = re.compile(r"__.*__", re.DOTALL)
SECOND: Final = 1_000_000_000
BEFORE_ALL: Final[Order] = (0, 0, 0)


class LoggedState(NamedTuple):
    """One document of the log and its position: the time of its commit, its version, and a hash of its name."""

    order: Order
    state: State


def job_name(job_id: str) -> str:
    """Return the name of a job's document: not `.`, `..` or `__…__`, and without slashes."""
    name = quote(job_id, safe="")
    if name.strip(".") == "" or RESERVED.fullmatch(name):
        return f"%{ord(name[0]):02X}{name[1:]}"
    return name


def state_name(key: StateKey) -> str:
    return f"{key.task}-{quote(key.tag, safe='')}"


def log_name(generation: int, key: StateKey, event_id: str) -> str:
    """Return the name of a log document. It holds the event id, so that a repeated write finds the first one."""
    return f"{generation}:{key.task}:{quote(key.tag, safe='')}:{quote(event_id, safe='')}"


def job_from(job_id: str, fields: Mapping[str, Any]) -> StateJob:
    return StateJob(
        job_id=job_id, tasks=fields["numTasks"], tags=tuple(fields["tags"]), generation=fields["generation"]
    )


def floor_of(fields: Mapping[str, Any]) -> Order:
    """Return the position up to which the log of a job was pruned."""
    return tuple(map(int, (fields.get(FLOOR) or "0.0.0").split(".")))


def state_fields(state: State, generation: int) -> dict[str, Any]:
    """Return the fields of a state without its time, which the server sets."""
    held = can_hold(state.payload)
    return {
        "taskID": state.task,
        "tag": state.tag,
        "status": state.status,
        "severity": str(state.severity),
        "message": state.message,
        "version": state.version,
        "eventID": state.event_id,
        "payload": state.payload if held else None,
        "payloadText": None if held else json.dumps(state.payload),
        "schemaVersion": state.schema_version,
        "generation": generation,
    }


def tombstone_fields(job_id: str, generation: int) -> dict[str, Any]:
    """Return the log document of a deletion: a state of generation 0, which readers ignore."""
    return {**state_fields(State(job_id=job_id, task=0, tag=DELETED), 0), DELETED: generation}


def state_from(job_id: str, fields: Mapping[str, Any], committed: datetime) -> State:
    text = fields["payloadText"]
    return State(
        job_id=job_id,
        task=fields["taskID"],
        tag=fields["tag"],
        status=fields["status"],
        severity=Severity(fields["severity"]),
        message=fields["message"],
        payload=fields["payload"] if text is None else json.loads(text),
        schema_version=fields["schemaVersion"],
        timestamp=time_of(nanoseconds(committed)),
        version=fields["version"],
        event_id=fields["eventID"],
        generation=fields["generation"],
    )


def logged_from(job_id: str, fields: Mapping[str, Any], committed: datetime) -> LoggedState:
    state = state_from(job_id, fields, committed)
    name = log_name(fields["generation"], state.key, state.event_id)
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
    return LoggedState((nanoseconds(committed), state.version, number), state)


def can_hold(payload: Json, depth: int = 0) -> bool:
    """Return whether a document can hold a payload: no lists in lists, no reserved names, no great depth."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(payload, dict):
        named = all(name and not RESERVED.fullmatch(name) for name in payload)
        return named and all(can_hold(value, depth + 1) for value in payload.values())
    if isinstance(payload, list):
        return all(not isinstance(value, list) and can_hold(value, depth + 1) for value in payload)
    return True


def nanoseconds(time: datetime) -> int:
    """Return a time of the client library, whose datetime has nanoseconds, as a number."""
    whole = int(time.replace(microsecond=0).timestamp())
    return whole * SECOND + int(getattr(time, "nanosecond", time.microsecond * 1000))


def time_of(number: int) -> datetime:
    """Return the time of a number of nanoseconds."""
    if number <= 0:
        return BEGINNING
    return datetime.fromtimestamp(number // SECOND, UTC).replace(microsecond=number % SECOND // 1000)
