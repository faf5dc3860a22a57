"""The guards in PostgreSQL, generated from the state machines.

One statement-level trigger per table checks all rows of a statement at once: it refuses what the machine does not
allow and writes the events of what it does. It joins the old rows with the new ones, so the cost is one hash join per
statement; `enable_nestloop` is off inside because a plan made for one row must not be kept for 500.

A change that raises `version` by one is made by the engine and names its actor. A change of status that leaves
`version` unchanged is manual SQL: it must be legal for some actor, and the trigger gives it its version and the actor
`sql`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from reelstate.core.machine import FINISHED_JOBS, PHASES, SQL_ACTOR, Machine
from reelstate.stores.guard import KEPT, KEYS, TABLES, pairs, quoted, triples

REFUSED = "RS001"
"""The SQLSTATE of a refusal by a guard."""


@dataclass(frozen=True, slots=True)
class PostgresAudit:
    """The columns and values that identify the entity of an event, what must never go back, and its data."""

    columns: str
    values: str
    monotonic: str
    data: str = "NULL::jsonb"


AUDITS = {
    "jobs": PostgresAudit(
        "job_id",
        "n.id",
        "n.version < o.version",
        "CASE WHEN n.status IN ('failed', 'quarantined') THEN n.error END",
    ),
    "tasks": PostgresAudit(
        "job_id, stage, part, token, worker_id",
        "n.job_id, n.stage, n.part, n.token, n.last_worker",
        "n.version < o.version OR n.token < o.token OR n.attempt < o.attempt - 1",
        "CASE WHEN n.status = 'error' THEN n.error"
        " WHEN n.status = 'ready' AND n.lane < 0 THEN jsonb_build_object('isolated', true, 'lost', n.lost) END",
    ),
    "workers": PostgresAudit("worker_id", "n.id", "n.version < o.version"),
}

REFUSE = f"""
CREATE OR REPLACE FUNCTION reelstate.refuse(entity text, key text, origin text, target text, actor text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'reelstate: % %: % -> % is not allowed for %',
        entity, key, coalesce(origin, 'insert'), target, actor
        USING ERRCODE = '{REFUSED}', HINT = 'the state machines are drawn in docs/lifecycle.md';
END $$;
"""

MANUAL = f"""
CREATE OR REPLACE FUNCTION reelstate.mark_manual() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('reelstate.manual', 'on', true);
    RETURN '{SQL_ACTOR}';
END $$;
"""

EVENTS = f"""
CREATE OR REPLACE FUNCTION reelstate.guard_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('reelstate.archiving', true) = 'on' THEN
        RETURN CASE TG_OP WHEN 'UPDATE' THEN NEW ELSE OLD END;
    END IF;
    RAISE EXCEPTION 'reelstate: events are never changed or deleted' USING ERRCODE = '{REFUSED}',
        HINT = 'only archive moves old events';
END $$;
CREATE OR REPLACE TRIGGER guard_change BEFORE UPDATE OR DELETE ON reelstate.events
    FOR EACH ROW EXECUTE FUNCTION reelstate.guard_events();
CREATE OR REPLACE TRIGGER guard_truncate BEFORE TRUNCATE ON reelstate.events
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_events();
"""


DELETES = f"""
CREATE OR REPLACE FUNCTION reelstate.guard_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF 'on' IN (current_setting('reelstate.archiving', true), current_setting('reelstate.repairing', true)) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'reelstate: rows of % are not deleted by manual SQL', TG_TABLE_NAME USING ERRCODE = '{REFUSED}',
        HINT = CASE WHEN TG_TABLE_NAME IN ('pipelines', 'lanes') THEN 'jobs refer to them'
                    ELSE 'cancel the job; archive moves old rows' END;
END $$;
""" + "".join(
    f"""CREATE OR REPLACE TRIGGER guard_delete BEFORE DELETE OR TRUNCATE ON reelstate.{table}
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_delete();
"""
    for table in KEPT
)

PIPELINES = f"""
CREATE OR REPLACE FUNCTION reelstate.guard_pipelines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'reelstate: % are never changed', TG_TABLE_NAME USING ERRCODE = '{REFUSED}',
        HINT = 'declare another version; jobs run the graph they were submitted with';
END $$;
CREATE OR REPLACE TRIGGER guard_change BEFORE UPDATE ON reelstate.pipelines
    FOR EACH ROW WHEN ((OLD.id, OLD.name, OLD.digest, OLD.graph)
                       IS DISTINCT FROM (NEW.id, NEW.name, NEW.digest, NEW.graph))
    EXECUTE FUNCTION reelstate.guard_pipelines();
CREATE OR REPLACE TRIGGER guard_change BEFORE UPDATE ON reelstate.lanes
    FOR EACH ROW WHEN ((OLD.id, OLD.pipeline, OLD.needs, OLD.prefers)
                       IS DISTINCT FROM (NEW.id, NEW.pipeline, NEW.needs, NEW.prefers))
    EXECUTE FUNCTION reelstate.guard_pipelines();
"""

STAGES = """
CREATE OR REPLACE FUNCTION reelstate.audit_stages_opened() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reelstate.events (entity, job_id, stage, version, origin, target, actor, data, at)
    SELECT 'stage', job_id, stage, version, NULL, 'opened', 'orchestrator', jsonb_build_object('total', total),
           opened_at
    FROM opened;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER audit_opened AFTER INSERT ON reelstate.stages REFERENCING NEW TABLE AS opened
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.audit_stages_opened();
CREATE OR REPLACE FUNCTION reelstate.audit_stage_reopened() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reelstate.events (entity, job_id, stage, version, origin, target, actor, data, at)
    VALUES ('stage', NEW.job_id, NEW.stage, NEW.version, 'waiting', 'opened', 'orchestrator',
            jsonb_build_object('total', NEW.total), NEW.opened_at);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER audit_reopened AFTER UPDATE OF open ON reelstate.stages
    FOR EACH ROW WHEN (NEW.open AND NOT OLD.open) EXECUTE FUNCTION reelstate.audit_stage_reopened();
"""

FLAGS = f"""
CREATE OR REPLACE FUNCTION reelstate.clear_flag() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.flagged := NULL;
    NEW.flagged_at := NULL;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER clear_flag BEFORE UPDATE OF status ON reelstate.jobs
    FOR EACH ROW WHEN (OLD.flagged IS NOT NULL AND NEW.status <> OLD.status AND NEW.status NOT IN ({quoted(PHASES)}))
    EXECUTE FUNCTION reelstate.clear_flag();
"""
"""A job that stops or starts again has no run that an operator must decide about."""

PRIORITIES = f"""
CREATE OR REPLACE FUNCTION reelstate.move_priority() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change text := 'priority ' || OLD.priority || ' to ' || NEW.priority;
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' THEN
        RETURN NULL;
    END IF;
    UPDATE reelstate.tasks SET priority = NEW.priority
    WHERE job_id = NEW.id AND priority <> NEW.priority;
    IF NEW.version = OLD.version AND NEW.status = OLD.status THEN
        INSERT INTO reelstate.events (entity, job_id, version, origin, target, actor, reason, at)
        VALUES ('job', NEW.id, OLD.version + 1, OLD.status, NEW.status, '{SQL_ACTOR}', change, clock_timestamp());
        UPDATE reelstate.jobs
        SET version = OLD.version + 1, actor = '{SQL_ACTOR}', reason = change, changed_at = clock_timestamp()
        WHERE id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER move_priority AFTER UPDATE OF priority ON reelstate.jobs
    FOR EACH ROW WHEN (OLD.priority <> NEW.priority AND NEW.status NOT IN ({quoted(FINISHED_JOBS)}))
    EXECUTE FUNCTION reelstate.move_priority();
"""
"""The tasks of a job get its priority; finished ones too, because they may run again.

A change by manual SQL gets its version and its event.
"""


@cache
def script() -> str:
    """Return the SQL that creates or replaces all guards."""
    return (
        REFUSE
        + MANUAL
        + EVENTS
        + DELETES
        + PIPELINES
        + STAGES
        + FLAGS
        + PRIORITIES
        + "".join(_table(table, machine) for table, machine in TABLES.items())
    )


def triggers() -> set[str]:
    """Return the triggers of the script, as `table.name`."""
    found = re.findall(r"TRIGGER (\w+) (?:BEFORE|AFTER) [A-Z ]+?(?:OF \w+ )?ON reelstate\.(\w+)", script())
    return {f"{table}.{name}" for name, table in found}


def constraints(migrations: str) -> dict[str, str]:
    """Return the statements of migrations that add constraints, by name; the last one counts."""
    found = re.findall(r"(ALTER TABLE \S+ ADD CONSTRAINT (\w+)\s.*?;)", migrations, re.DOTALL)
    return {name: statement for statement, name in found}


def _table(table: str, machine: Machine) -> str:
    return f"""
CREATE OR REPLACE FUNCTION reelstate.guard_{table}_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
{_initial_states(table, machine)}
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER guard_insert AFTER INSERT ON reelstate.{table} REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_{table}_insert();

CREATE OR REPLACE FUNCTION reelstate.guard_{table}_change() RETURNS trigger LANGUAGE plpgsql
SET enable_nestloop = off SET enable_hashjoin = on AS $$
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' THEN
        RETURN NULL;
    END IF;
{_changes(table, machine)}
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER guard_change AFTER UPDATE ON reelstate.{table}
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_{table}_change();
"""


def _hot(table: str) -> str:
    """Return a condition for the two most frequent changes, which spares the search in the list."""
    if table != "tasks":
        return "false"
    claimed, completed = ("o.status = 'ready' AND n.status = 'running'", "o.status = 'running' AND n.status = 'done'")
    return f"n.actor = 'worker' AND ({claimed} OR {completed})"


def _initial_states(table: str, machine: Machine) -> str:
    key = " || '/' || ".join(f"n.{column}" for column in KEYS[table])
    refusal = f"reelstate.refuse('{machine.entity}', {key}::text, NULL, n.status, n.actor)"
    wrong = f"n.status NOT IN ({quoted(machine.initial_states)}) OR n.version <> 1"
    if table == "tasks":
        return f"    PERFORM {refusal} FROM inserted n WHERE {wrong};"
    audit = AUDITS[table]
    return f"""    INSERT INTO reelstate.events (entity, {audit.columns}, version, origin, target, actor, reason, at)
    SELECT '{machine.entity}', {audit.values}, 1, NULL,
           CASE WHEN {wrong} THEN {refusal} ELSE n.status END, n.actor, n.reason, n.changed_at
    FROM inserted n;"""


def _changes(table: str, machine: Machine) -> str:
    keys = KEYS[table]
    audit = AUDITS[table]
    key = " || '/' || ".join(f"n.{column}" for column in keys)
    same = " AND ".join(f"o.{column} = n.{column}" for column in keys)
    is_manual = "n.version = o.version"
    columns = f"entity, {audit.columns}, data, version, origin, target, actor, reason, at"
    return f"""    INSERT INTO reelstate.events ({columns})
    SELECT '{machine.entity}', {audit.values}, {audit.data}, o.version + 1, o.status,
               CASE WHEN o.{keys[0]} IS NULL OR {audit.monotonic} OR n.version > o.version + 1
                      OR n.status <> o.status AND {is_manual}
                         AND NOT o.status || ' ' || n.status = ANY (ARRAY[{pairs(machine)}])
                      OR n.status <> o.status AND NOT {is_manual} AND NOT ({_hot(table)})
                         AND NOT o.status || ' ' || n.status || ' ' || split_part(n.actor, ':', 1)
                             = ANY (ARRAY[{triples(machine)}])
                    THEN reelstate.refuse('{machine.entity}', {key}::text, o.status, n.status,
                                          CASE WHEN {is_manual} THEN '{SQL_ACTOR}' ELSE n.actor END)
                    ELSE n.status END,
               CASE WHEN {is_manual} THEN reelstate.mark_manual() ELSE n.actor END,
               CASE WHEN NOT {is_manual} THEN n.reason END,
               CASE WHEN {is_manual} THEN clock_timestamp() ELSE n.changed_at END
    FROM after n LEFT JOIN before o ON {same}
    WHERE o.{keys[0]} IS NULL OR n.status <> o.status OR {audit.monotonic}
           OR n.version <> o.version AND (n.actor <> '{SQL_ACTOR}' OR pg_trigger_depth() = 1);
    IF current_setting('reelstate.manual', true) = 'on' THEN
        PERFORM set_config('reelstate.manual', '', true);
        UPDATE reelstate.{table} n
        SET version = n.version + 1, actor = '{SQL_ACTOR}', reason = NULL, changed_at = clock_timestamp()
        FROM before o WHERE {same} AND {is_manual} AND n.status <> o.status;
    END IF;"""
