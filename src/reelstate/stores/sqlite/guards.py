"""The guards in SQLite, generated from the state machines in plain SQL: they also hold in the sqlite3 shell.

SQLite has only row triggers, so the work per row is small: one trigger walks from the old status to the new one through
nested CASEs, refuses at the leaf or falls through, and writes the event. (A list after IN would be built again for
every row.) The message of RAISE must be a literal before SQLite 3.47, hence one leaf for each pair of states; it can't
name the row, but it names the entity, both states and the allowed actors.

A change that raises `version` by one is made by the engine and names its actor. A change of status that leaves
`version` unchanged is manual SQL: it must be legal for some actor, and a second trigger gives it its version and the
actor `sql`.

Claim and complete write the event of a sole task and its job before they change both; it is not written again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from reelstate.core.machine import FINISHED_JOBS, PHASES, SQL_ACTOR, Machine
from reelstate.stores.guard import KEPT, KEYS, TABLES
from reelstate.stores.sqlite import endings, outbox
from reelstate.stores.sqlite.statement import split

REFUSED = "reelstate: "
"""The beginning of the message of a refusal."""

PREFIXES = ("guard_", "audit_", "outbox_", "note_")
"""The beginnings of the names of our triggers."""

UNLESS_REPAIRING = "NOT EXISTS (SELECT 1 FROM repairing)"
NOW = "(julianday('now') - 2440587.5) * 86400.0"
LAST_EVENT = (
    "max((SELECT coalesce(max(id), 0) FROM events),"
    " (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'))"
)
"""The last number of events. The sequence alone is behind it until the end of a statement."""
HAS_SOLE_TASK = "EXISTS (SELECT 1 FROM tasks WHERE job_id = NEW.id AND stage = 0 AND part = 0 AND sole)"
"""The task is inserted before the job, whose event then opens the only stage too."""


def _none_of(column: str, values: tuple[str, ...]) -> str:
    return " AND ".join(f"{column} <> '{value}'" for value in values)


@dataclass(frozen=True, slots=True)
class SqliteAudit:
    """What the triggers of a table need beyond its machine."""

    columns: str
    """The columns that identify the entity of an event."""
    values: str
    history: str
    """The condition on its earlier events."""
    watched: str
    backwards: str
    data: str = "NULL"
    recorded: str = "false"
    """The condition on the event of a change that a statement has written before it."""


AUDITS = {
    "jobs": SqliteAudit(
        "job_id",
        "NEW.id",
        "job_id = NEW.id AND stage = -1 AND part = -1",
        "status, version",
        "NEW.version NOT IN (OLD.version, OLD.version + 1)",
        "CASE WHEN NEW.status IN ('failed', 'quarantined') THEN NEW.error END",
        "job_id = NEW.id AND stage = 0 AND part = 0 AND job_version = NEW.version AND job_target = NEW.status",
    ),
    "tasks": SqliteAudit(
        "job_id, stage, part, token, worker_id",
        "NEW.job_id, NEW.stage, NEW.part, NEW.token, NEW.last_worker",
        "job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part",
        "status, version, token, attempt",
        "NEW.version NOT IN (OLD.version, OLD.version + 1) OR NEW.token < OLD.token OR NEW.attempt < OLD.attempt - 1",
        "CASE WHEN NEW.status = 'error' THEN NEW.error"
        " WHEN NEW.status = 'ready' AND NEW.lane < 0 THEN json_object('isolated', json('true'), 'lost', NEW.lost) END",
        "job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND version = NEW.version"
        " AND target = NEW.status AND actor = NEW.actor AND entity = 'task+job'",
    ),
    "workers": SqliteAudit(
        "worker_id",
        "NEW.id",
        "entity = 'worker' AND worker_id = NEW.id",
        "status, version",
        "NEW.version NOT IN (OLD.version, OLD.version + 1)",
    ),
}

TIMES = {
    "jobs": ("run_after", "created_at", "started_at", "changed_at", "finished_at", "flagged_at"),
    "tasks": (
        "lease_expires_at",
        "run_after",
        "ready_at",
        "claimed_at",
        "started_at",
        "progress_at",
        "finished_at",
        "changed_at",
    ),
    "workers": ("changed_at", "registered_at", "last_heartbeat_at"),
    "stages": ("opened_at",),
    "videos": ("created_at", "changed_at", "deleted_at"),
}
"""The columns that hold an instant. The type of a column admits text and bytes; these guards refuse them."""

# guard_events_insert refuses duplicates, because INSERT OR REPLACE deletes without firing a trigger.
EVENTS = f"""
CREATE TRIGGER guard_events_update BEFORE UPDATE ON events WHEN NOT EXISTS (SELECT 1 FROM archiving)
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}events are never changed; only archive moves old ones');
END;
CREATE TRIGGER guard_events_delete BEFORE DELETE ON events WHEN NOT EXISTS (SELECT 1 FROM archiving)
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}events are never deleted; only archive moves old ones');
END;
CREATE TRIGGER guard_events_insert BEFORE INSERT ON events
WHEN NEW.id > 0 AND NEW.id <= (SELECT max(id) FROM events)
  OR EXISTS (SELECT 1 FROM events WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part
             AND version = NEW.version)
  OR NEW.entity = 'worker'
     AND EXISTS (SELECT 1 FROM events WHERE entity = 'worker' AND worker_id = NEW.worker_id
                 AND version = NEW.version)
  OR NEW.at >= ''
  OR NEW.entity = 'finding' AND EXISTS (SELECT 1 FROM events WHERE entity = 'finding' AND version = NEW.version)
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}events are only ever added');
END;
"""

DELETES = "".join(
    f"""
CREATE TRIGGER guard_{table}_delete BEFORE DELETE ON {table}
WHEN NOT EXISTS (SELECT 1 FROM archiving) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}{table} are not deleted by manual SQL; archive moves old rows');
END;
"""
    for table in KEPT
)

PIPELINES = f"""
CREATE TRIGGER guard_pipelines_change AFTER UPDATE OF id, name, digest, graph ON pipelines
WHEN (OLD.id, OLD.name, OLD.digest, OLD.graph) IS NOT (NEW.id, NEW.name, NEW.digest, NEW.graph) AND {UNLESS_REPAIRING}
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}pipelines are never changed; declare another version');
END;
CREATE TRIGGER guard_lanes_change AFTER UPDATE OF id, pipeline, needs, prefers ON lanes
WHEN (OLD.id, OLD.pipeline, OLD.needs, OLD.prefers) IS NOT (NEW.id, NEW.pipeline, NEW.needs, NEW.prefers)
 AND {UNLESS_REPAIRING}
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}lanes are never changed; declare another version');
END;
"""

STAGES = """
CREATE TRIGGER audit_stages_opened AFTER INSERT ON stages
BEGIN
    INSERT INTO events (entity, job_id, stage, version, origin, target, actor, data, at)
    VALUES ('stage', NEW.job_id, NEW.stage, NEW.version, NULL, 'opened', 'orchestrator',
            json_object('total', NEW.total), NEW.opened_at);
END;
CREATE TRIGGER audit_stages_reopened AFTER UPDATE OF open ON stages WHEN NEW.open AND NOT OLD.open
BEGIN
    INSERT INTO events (entity, job_id, stage, version, origin, target, actor, data, at)
    VALUES ('stage', NEW.job_id, NEW.stage, NEW.version, 'waiting', 'opened', 'orchestrator',
            json_object('total', NEW.total), NEW.opened_at);
END;
"""

FLAGS = f"""
CREATE TRIGGER guard_jobs_flag AFTER UPDATE OF status ON jobs
WHEN OLD.flagged IS NOT NULL AND NEW.status <> OLD.status AND {_none_of("NEW.status", PHASES)}
BEGIN
    UPDATE jobs SET flagged = NULL, flagged_at = NULL WHERE id = NEW.id;
END;
"""
"""A job that stops or starts again has no run that an operator must decide about."""

_MOVED = f"NEW.priority <> OLD.priority AND {_none_of('NEW.status', FINISHED_JOBS)} AND {UNLESS_REPAIRING}"
PRIORITIES = f"""
CREATE TRIGGER guard_jobs_priority AFTER UPDATE OF priority ON jobs WHEN {_MOVED}
BEGIN
    UPDATE tasks SET priority = NEW.priority
    WHERE job_id = NEW.id AND priority <> NEW.priority;
END;
CREATE TRIGGER guard_jobs_priority_manual AFTER UPDATE OF priority ON jobs
WHEN NEW.version = OLD.version AND NEW.status = OLD.status AND {_MOVED}
BEGIN
    INSERT INTO events (entity, job_id, version, origin, target, actor, reason, at)
    VALUES ('job', NEW.id, OLD.version + 1, OLD.status, NEW.status, '{SQL_ACTOR}',
            'priority ' || OLD.priority || ' to ' || NEW.priority, {NOW});
    UPDATE jobs SET version = OLD.version + 1, actor = '{SQL_ACTOR}',
        reason = 'priority ' || OLD.priority || ' to ' || NEW.priority, changed_at = {NOW}
    WHERE id = NEW.id;
END;
"""
"""The tasks of a job get its priority; finished ones too, because they may run again.

A change by manual SQL gets its version and its event.
"""


@cache
def script() -> str:
    """Return the SQL that creates all guards; none may exist when it runs."""
    tables = "".join(
        guard(table, machine) for table, machine in TABLES.items() for guard in (_insert, _identity, _change, _manual)
    ) + "".join(_times(table, columns) for table, columns in TIMES.items())
    return EVENTS + DELETES + PIPELINES + STAGES + FLAGS + PRIORITIES + tables + outbox.SCRIPT + endings.SCRIPT


@cache
def triggers() -> Mapping[str, str]:
    """Return the triggers of the script by name, with the text that SQLite stores of them."""
    return {part.split(maxsplit=3)[2]: part.removesuffix(";") for part in split(script())}


def constraints(script: str) -> set[str]:
    """Return the names of the constraints in the text of tables."""
    return set(re.findall(r"CONSTRAINT (\w+)", script))


def indexes(script: str) -> dict[str, str]:
    """Return the statements of a script that create indexes, by name."""
    found = re.findall(r"(CREATE (?:UNIQUE )?INDEX (\w+) .*?;)", script, re.DOTALL)
    return {name: statement for statement, name in found}


def _insert(table: str, machine: Machine) -> str:
    """Rows start in an initial state at version 1; a row with earlier events comes from INSERT OR REPLACE."""
    audit = AUDITS[table]
    wrong = f"NEW.version <> 1 OR {_none_of('NEW.status', machine.initial_states)}"
    has_events = f"EXISTS (SELECT 1 FROM events WHERE {audit.history})"
    states = " or ".join(machine.initial_states)
    refusal = f"""SELECT CASE WHEN {wrong}
        THEN RAISE(ABORT, '{REFUSED}{machine.entity}: a new row must be {states} at version 1')
        WHEN {has_events} THEN RAISE(ABORT, '{REFUSED}{machine.entity}: a row with this key existed before') END;"""
    if table == "tasks":
        return f"""
CREATE TRIGGER guard_{table}_insert AFTER INSERT ON {table} WHEN {wrong} OR {has_events}
BEGIN
    {refusal}
END;
"""
    number, entity = "NULL", f"'{machine.entity}'"
    if table == "jobs":
        number = f"CASE WHEN {HAS_SOLE_TASK} THEN {LAST_EVENT} + 2 END"
        entity = f"CASE WHEN {HAS_SOLE_TASK} THEN 'job+stage' ELSE 'job' END"
    return f"""
CREATE TRIGGER guard_{table}_insert AFTER INSERT ON {table}
BEGIN
    {refusal}
    INSERT INTO events (id, entity, {audit.columns}, version, origin, target, actor, reason, at)
    VALUES ({number}, {entity}, {audit.values}, 1, NULL, NEW.status, NEW.actor, NEW.reason, NEW.changed_at);
END;
"""


def _identity(table: str, machine: Machine) -> str:
    keys = KEYS[table]
    changed = " OR ".join(f"NEW.{key} IS NOT OLD.{key}" for key in keys)
    return f"""
CREATE TRIGGER guard_{table}_identity AFTER UPDATE OF {", ".join(keys)} ON {table} WHEN {changed}
BEGIN
    SELECT RAISE(ABORT, '{REFUSED}{machine.entity}: its key ({", ".join(keys)}) never changes');
END;
"""


def _times(table: str, columns: tuple[str, ...]) -> str:
    """Require numbers as instants, which are less than any text or bytes, and no finish before the start."""
    wrong = " OR ".join(f"NEW.{column} >= ''" for column in columns)
    if "finished_at" in columns:
        wrong += " OR NEW.finished_at < NEW.started_at"
    refusal = f"{REFUSED}{table}: instants are numbers (unix seconds), and nothing finishes before it starts"
    return "".join(
        f"""
CREATE TRIGGER guard_{table}_times_{verb.split()[0].lower()} AFTER {verb} ON {table}
WHEN ({wrong}) AND {UNLESS_REPAIRING}
BEGIN
    SELECT RAISE(ABORT, '{refusal}');
END;
"""
        for verb in ("INSERT", f"UPDATE OF {', '.join(columns)}")
    )


def _change(table: str, machine: Machine) -> str:
    """Check the changes of the engine. The update of `_manual` also fires it, with its event already written."""
    audit = AUDITS[table]
    return f"""
CREATE TRIGGER guard_{table}_change AFTER UPDATE OF {audit.watched} ON {table}
WHEN (NEW.version <> OLD.version AND (NEW.actor <> '{SQL_ACTOR}' OR NEW.status <> OLD.status
      OR NOT EXISTS (SELECT 1 FROM events WHERE {audit.history} AND version = NEW.version))
      OR {audit.backwards})
 AND {UNLESS_REPAIRING}
BEGIN
    SELECT CASE WHEN {audit.backwards}
        THEN RAISE(ABORT, '{REFUSED}{machine.entity}: version grows by one, and token and attempt never go back')
        ELSE {_walk(machine, lambda origin, target: _refuse_actor(machine, origin, target))} END;
    INSERT INTO events (entity, {audit.columns}, data, version, origin, target, actor, reason, at)
    SELECT '{machine.entity}', {audit.values}, {audit.data}, NEW.version, OLD.status, NEW.status, NEW.actor,
           NEW.reason, NEW.changed_at
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE {audit.recorded});
END;
"""


def _manual(table: str, machine: Machine) -> str:
    audit = AUDITS[table]
    same = " AND ".join(f"{key} = NEW.{key}" for key in KEYS[table])
    return f"""
CREATE TRIGGER guard_{table}_manual AFTER UPDATE OF status ON {table}
WHEN NEW.version = OLD.version AND NEW.status <> OLD.status AND {UNLESS_REPAIRING}
BEGIN
    SELECT {_walk(machine, lambda origin, target: _refuse_all(machine, origin, target))};
    INSERT INTO events (entity, {audit.columns}, version, origin, target, actor, at)
    VALUES ('{machine.entity}', {audit.values}, OLD.version + 1, OLD.status, NEW.status, '{SQL_ACTOR}',
            {NOW});
    UPDATE {table} SET version = OLD.version + 1, actor = '{SQL_ACTOR}', reason = NULL, changed_at = {NOW}
    WHERE {same};
END;
"""


def _walk(machine: Machine, leaf: Callable[[str, str], str]) -> str:
    """Return a CASE from the old to the new status with the SQL for each change."""
    origins = []
    for origin in machine.states:
        leaves = {target: leaf(origin, target) for target in machine.states if target != origin}
        targets = [f"\n            WHEN '{target}' THEN {then}" for target, then in leaves.items() if then]
        if targets:
            origins.append(f"WHEN '{origin}' THEN CASE NEW.status{''.join(targets)} END")
    return "CASE OLD.status\n        " + "\n        ".join(origins) + " END"


def _refuse_actor(machine: Machine, origin: str, target: str) -> str:
    actors = sorted(machine.who_may(origin, target))
    if not actors:
        return _refuse_all(machine, origin, target)
    allowed = " OR ".join(
        f"NEW.actor = '{actor}' OR substr(NEW.actor, 1, {len(actor) + 1}) = '{actor}:'" for actor in actors
    )
    refusal = f"{REFUSED}{machine.entity}: {origin} -> {target} is only allowed for {', '.join(actors)}"
    return f"CASE WHEN NOT ({allowed}) THEN RAISE(ABORT, '{refusal}') END"


def _refuse_all(machine: Machine, origin: str, target: str) -> str:
    if machine.who_may(origin, target):
        return ""
    return f"RAISE(ABORT, '{REFUSED}{machine.entity}: {origin} -> {target} is not allowed')"
