"""The guards in PostgreSQL, generated from the state machines.

A row trigger on each table has the frequent changes of the machine in its WHEN clause, which costs no call. Its
function is called for all others: it refuses what the machine does not allow and writes the event of what it does.

The hottest statements (submit, claim, complete) write the events of all their rows at once. They announce it by
`reelstate.recorded`, which a trigger switches off at the end of the statement. Their changes are checked like all
others: what is not in the WHEN clause is refused, or has two events with one version, which an index refuses.

A change that raises `version` by one is made by the engine and names its actor. A change of status that leaves
`version` unchanged is manual SQL: it must be legal for some actor, and the trigger gives it its version and the actor
`sql`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from reelstate.core.machine import FINISHED_JOBS, PHASES, SQL_ACTOR, Actor, Machine
from reelstate.stores.guard import KEPT, KEYS, TABLES, pairs, quoted, triples
from reelstate.stores.postgres import endings, outbox

REFUSED = "RS001"
"""The SQLSTATE of a refusal by a guard."""


@dataclass(frozen=True, slots=True)
class PostgresAudit:
    """What the trigger of a table needs beyond its machine."""

    columns: str
    """The columns that identify the entity of an event."""
    values: str
    backwards: str
    """What must never happen to the numbers of a row."""
    data: str = "NULL::jsonb"
    recorded: str = "false"
    """The changes of statements that write their events themselves, with their actors."""


AUDITS = {
    "jobs": PostgresAudit(
        "job_id",
        "NEW.id",
        "NEW.version < OLD.version",
        "CASE WHEN NEW.status IN ('failed', 'quarantined') THEN NEW.error END",
        f"OLD.status = 'pending' AND NEW.actor = '{Actor.WORKER}' AND NEW.status IN ({quoted(PHASES)})"
        f" OR OLD.status IN ({quoted(PHASES)}) AND NEW.actor = '{Actor.ORCHESTRATOR}' AND NEW.status = 'completed'",
    ),
    "tasks": PostgresAudit(
        "job_id, stage, part, token, worker_id",
        "NEW.job_id, NEW.stage, NEW.part, NEW.token, NEW.last_worker",
        "NEW.version < OLD.version OR NEW.token < OLD.token OR NEW.attempt < OLD.attempt - 1",
        "CASE WHEN NEW.status = 'error' THEN NEW.error"
        " WHEN NEW.status = 'ready' AND NEW.lane < 0 THEN jsonb_build_object('isolated', true, 'lost', NEW.lost) END",
        f"NEW.actor = '{Actor.WORKER}' AND (OLD.status = 'ready' AND NEW.status = 'running'"
        " OR OLD.status = 'running' AND NEW.status IN ('done', 'skipped'))",
    ),
    "workers": PostgresAudit("worker_id", "NEW.id", "NEW.version < OLD.version"),
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

RECORDED = "current_setting('reelstate.recorded', true) = 'on'"
RECORDING = """
CREATE OR REPLACE FUNCTION reelstate.end_recording() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('reelstate.recorded', '', true);
    RETURN NULL;
END $$;
""" + "".join(
    f"""CREATE OR REPLACE TRIGGER end_recording AFTER INSERT OR UPDATE ON reelstate.{table}
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.end_recording();
"""
    for table in ("jobs", "tasks")
)

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
    UPDATE reelstate.jobs SET flagged = NULL, flagged_at = NULL WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER clear_flag AFTER UPDATE OF status ON reelstate.jobs
    FOR EACH ROW WHEN (OLD.flagged IS NOT NULL AND NEW.status <> OLD.status AND NEW.status NOT IN ({quoted(PHASES)}))
    EXECUTE FUNCTION reelstate.clear_flag();
"""
"""A job that stops or starts again has no run that an operator must decide about.

A trigger before the update would lock, and log, every row a second time.
"""

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
        + RECORDING
        + EVENTS
        + DELETES
        + PIPELINES
        + STAGES
        + FLAGS
        + PRIORITIES
        + "".join(_table(table, machine) for table, machine in TABLES.items())
        + outbox.SCRIPT
        + endings.SCRIPT
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
    audit = AUDITS[table]
    same = " AND ".join(f"NEW.{key} = OLD.{key}" for key in KEYS[table])
    return f"""
CREATE OR REPLACE FUNCTION reelstate.guard_{table}_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
{_initial_states(table, machine)}
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER guard_insert AFTER INSERT ON reelstate.{table}
    FOR EACH ROW WHEN ({_wrong(machine)}{"" if table == "tasks" else f" OR NOT coalesce({RECORDED}, false)"})
    EXECUTE FUNCTION reelstate.guard_{table}_insert();

CREATE OR REPLACE FUNCTION reelstate.guard_{table}_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
{_change(table, machine)}
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER guard_change AFTER UPDATE ON reelstate.{table}
    FOR EACH ROW WHEN ((NEW.status <> OLD.status OR NEW.version <> OLD.version OR {audit.backwards} OR NOT ({same}))
        AND NOT coalesce(NEW.version = OLD.version + 1 AND ({audit.recorded})
            AND NOT ({audit.backwards}) AND {same} AND {RECORDED}, false))
    EXECUTE FUNCTION reelstate.guard_{table}_change();
"""


def _wrong(machine: Machine) -> str:
    return f"NEW.status NOT IN ({quoted(machine.initial_states)}) OR NEW.version <> 1"


def _key(table: str) -> str:
    return " || '/' || ".join(f"NEW.{column}" for column in KEYS[table])


def _initial_states(table: str, machine: Machine) -> str:
    refusal = f"PERFORM reelstate.refuse('{machine.entity}', ({_key(table)})::text, NULL, NEW.status, NEW.actor)"
    if table == "tasks":
        return f"    {refusal};"
    audit = AUDITS[table]
    return f"""    IF {_wrong(machine)} THEN
        {refusal};
    END IF;
    INSERT INTO reelstate.events (entity, {audit.columns}, version, origin, target, actor, reason, at)
    VALUES ('{machine.entity}', {audit.values}, 1, NULL, NEW.status, NEW.actor, NEW.reason, NEW.changed_at);"""


def _change(table: str, machine: Machine) -> str:
    """Return the body of the function; the update that it makes of a manual change fires it again."""
    keys = KEYS[table]
    audit = AUDITS[table]
    same = " AND ".join(f"NEW.{key} = OLD.{key}" for key in keys)
    is_manual = "NEW.version = OLD.version"
    columns = f"entity, {audit.columns}, data, version, origin, target, actor, reason, at"
    row = " AND ".join(f"{key} = NEW.{key}" for key in keys)
    return f"""    IF current_setting('reelstate.repairing', true) = 'on' OR pg_trigger_depth() > 1
       AND NEW.actor = '{SQL_ACTOR}' AND NEW.status = OLD.status AND NEW.version = OLD.version + 1 THEN
        RETURN NULL;
    END IF;
    IF NOT ({same}) OR {audit.backwards} OR NEW.version > OLD.version + 1
       OR NEW.status <> OLD.status AND {is_manual}
          AND NOT OLD.status || ' ' || NEW.status = ANY (ARRAY[{pairs(machine)}])
       OR NEW.status <> OLD.status AND NOT {is_manual}
          AND NOT OLD.status || ' ' || NEW.status || ' ' || split_part(NEW.actor, ':', 1)
              = ANY (ARRAY[{triples(machine)}]) THEN
        PERFORM reelstate.refuse('{machine.entity}', ({_key(table)})::text, OLD.status, NEW.status,
                                 CASE WHEN {is_manual} THEN '{SQL_ACTOR}' ELSE NEW.actor END);
    END IF;
    INSERT INTO reelstate.events ({columns})
    VALUES ('{machine.entity}', {audit.values}, {audit.data}, OLD.version + 1, OLD.status, NEW.status,
            CASE WHEN {is_manual} THEN '{SQL_ACTOR}' ELSE NEW.actor END,
            CASE WHEN NOT {is_manual} THEN NEW.reason END,
            CASE WHEN {is_manual} THEN clock_timestamp() ELSE NEW.changed_at END);
    IF {is_manual} THEN
        UPDATE reelstate.{table}
        SET version = OLD.version + 1, actor = '{SQL_ACTOR}', reason = NULL, changed_at = clock_timestamp()
        WHERE {row};
    END IF;"""
