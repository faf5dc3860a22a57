"""The guards inside the database: what no code path of ours does is refused there too, and what is legal is audited.

Every change of every machine is tried at the prompt, as our statements make it (version + 1 and an actor) and as a
person types it (the status alone). The answer is Python's machine's, to the letter.
"""

import re
from collections.abc import Iterator
from itertools import product

import pytest

from reelstate.core.machine import FINISHED_JOBS, JOB, STOPPED_JOBS, TASK, WORKER, Actor, Machine
from reelstate.engine import Engine
from reelstate.stores.migrate import migrations
from tests.conformance.shell import GUARD, Shell, aside, shell_at, undone

TABLES = {"job": "jobs", "task": "tasks", "worker": "workers"}
KEYS = {"job": "id = 1", "task": "job_id = 1 AND stage = 0 AND part = 0", "worker": "id = 1"}
EVENTS = {
    "job": "entity = 'job' AND job_id = 1",
    "task": "entity = 'task' AND job_id = 1 AND stage = 0 AND part = 0",
    "worker": "entity = 'worker' AND worker_id = 1",
}
FIELDS = ("worker_id", "lease_expires_at", "finished_at", "run_after", "ready_at")

every_machine = pytest.mark.parametrize("machine", [JOB, TASK, WORKER], ids=lambda machine: machine.entity)


@pytest.fixture
def shell(engine: Engine, database_url: str) -> Iterator[Shell]:
    """A prompt at a database with one job, one stage, one task and one worker."""
    with shell_at(database_url) as shell:
        shell.run("INSERT INTO jobs (id, pipeline_id) VALUES (1, 1)")
        shell.run(f"INSERT INTO stages (job_id, stage, total, opened_at) VALUES (1, 0, 1, {shell.now})")
        shell.run("INSERT INTO tasks (job_id, stage, part, lane) VALUES (1, 0, 0, 1)")
        shell.run("INSERT INTO workers (id, name, hostname, software) VALUES (1, 'w', 'h', 's')")
        yield shell


def demanded(shell: Shell, entity: str, state: str) -> dict[str, str]:
    """What a state demands of the other columns."""
    if entity == "job":
        return {"finished_at": shell.now if state in (*FINISHED_JOBS, *STOPPED_JOBS) else "NULL"}
    if entity == "worker":
        return {}
    values = dict.fromkeys(FIELDS, "NULL")
    if state == "running":
        values |= {"worker_id": "1", "lease_expires_at": shell.now}
    if state in ("done", "skipped", "cancelled", "error"):
        values["finished_at"] = shell.now
    if state != "new":
        values["ready_at"] = shell.now
    return values


def change(shell: Shell, machine: Machine, state: str, **others: str) -> str:
    """The statement that puts the row into a state."""
    values = {"status": f"'{state}'", **demanded(shell, machine.entity, state), **others}
    columns = ", ".join(f"{column} = {value}" for column, value in values.items())
    return f"UPDATE {TABLES[machine.entity]} SET {columns} WHERE {KEYS[machine.entity]}"


def put(shell: Shell, machine: Machine, state: str) -> None:
    """Bring the row into a state by no way that the machine knows."""
    with aside(shell):
        shell.run(change(shell, machine, state, actor="'worker'", reason="'before'"))


def row(shell: Shell, machine: Machine) -> tuple[object, ...]:
    columns = "status, version, actor, reason"
    (found,) = shell.run(f"SELECT {columns} FROM {TABLES[machine.entity]} WHERE {KEYS[machine.entity]}")
    return found


def recorded(shell: Shell, machine: Machine) -> list[tuple[object, ...]]:
    """Return the events of the row after its creation."""
    columns = "version, origin, target, actor, reason"
    where = f"{EVENTS[machine.entity]} AND (version > 1 OR origin IS NOT NULL)"
    return shell.run(f"SELECT {columns} FROM events WHERE {where} ORDER BY version")


@every_machine
def test_only_the_actors_of_the_machine_may_make_a_change(shell: Shell, machine: Machine) -> None:
    actors = [*Actor, "operator:ada", "worker:7", "nobody", "operatorx", ""]
    allowed = {}
    for origin in machine.states:
        with undone(shell):
            put(shell, machine, origin)
            for target, actor in product(machine.states, actors):
                statement = change(shell, machine, target, version="version + 1", actor=f"'{actor}'")
                allowed[origin, target, actor] = shell.refusal(statement) is None
    assert allowed == {(o, t, actor): machine.allows(o, t, actor) for o, t, actor in allowed}


@every_machine
def test_events_have_the_actor_and_the_reason_of_a_change(shell: Shell, machine: Machine) -> None:
    for origin, target, actor in machine.triples():
        with undone(shell):
            put(shell, machine, origin)
            named = f"{actor}:ada"
            columns = {"version": "version + 1", "actor": f"'{named}'", "reason": "'why'"}
            shell.run(change(shell, machine, target, **columns))
            assert recorded(shell, machine) == [(2, origin, target, named, "why")]
            assert row(shell, machine) == (target, 2, named, "why")


@every_machine
def test_a_change_by_manual_sql_is_legal_or_refused(shell: Shell, machine: Machine) -> None:
    allowed = {}
    for origin in machine.states:
        with undone(shell):
            put(shell, machine, origin)
            for target in machine.states:
                allowed[origin, target] = shell.refusal(change(shell, machine, target)) is None
    assert allowed == {(o, t): o == t or bool(machine.who_may(o, t)) for o, t in allowed}


@every_machine
def test_a_legal_change_by_manual_sql_gets_its_version_and_its_event(shell: Shell, machine: Machine) -> None:
    for transition in machine.transitions:
        with undone(shell):
            put(shell, machine, transition.origin)
            shell.run(change(shell, machine, transition.target))
            assert recorded(shell, machine) == [(2, transition.origin, transition.target, "sql", None)]
            assert row(shell, machine) == (transition.target, 2, "sql", None)


@every_machine
def test_a_change_to_the_same_status_writes_nothing(shell: Shell, machine: Machine) -> None:
    for state in machine.states:
        with undone(shell):
            put(shell, machine, state)
            before = row(shell, machine)
            shell.run(change(shell, machine, state))
            assert recorded(shell, machine) == []
            assert row(shell, machine) == before


@every_machine
def test_an_edit_that_raises_the_version_has_an_event(shell: Shell, machine: Machine) -> None:
    state = machine.initial_states[0]
    columns = {"version": "version + 1", "actor": "'operator:ada'", "reason": "'edit'"}
    shell.run(change(shell, machine, state, **columns))
    assert recorded(shell, machine) == [(2, state, state, "operator:ada", "edit")]


@every_machine
def test_a_version_raised_by_manual_sql_after_a_manual_change_leaves_no_gap(shell: Shell, machine: Machine) -> None:
    first = next(change for change in machine.transitions if change.origin == machine.initial_states[0])
    shell.run(change(shell, machine, first.target))
    shell.run(f"UPDATE {TABLES[machine.entity]} SET version = version + 1 WHERE {KEYS[machine.entity]}")
    assert [line[0] for line in recorded(shell, machine)] == [2, 3]


@every_machine
def test_no_client_may_use_the_actor_sql(shell: Shell, machine: Machine) -> None:
    for transition in machine.transitions:
        with undone(shell):
            put(shell, machine, transition.origin)
            statement = change(shell, machine, transition.target, version="version + 1", actor="'sql'")
            assert shell.refusal(statement) == GUARD


def test_many_rows_changed_by_one_manual_statement_all_have_events(shell: Shell) -> None:
    shell.run("INSERT INTO jobs (id, pipeline_id) VALUES (2, 1), (3, 1)")
    shell.run(f"UPDATE jobs SET status = 'cancelled', finished_at = {shell.now}")
    lines = shell.run("SELECT job_id, version, actor FROM events WHERE target = 'cancelled' ORDER BY job_id")
    assert lines == [(1, 2, "sql"), (2, 2, "sql"), (3, 2, "sql")]


def test_of_many_rows_one_that_may_not_be_changed_stops_all(shell: Shell) -> None:
    shell.run("INSERT INTO jobs (id, pipeline_id) VALUES (2, 1)")
    with aside(shell):
        shell.run(f"UPDATE jobs SET status = 'completed', finished_at = {shell.now} WHERE id = 2")
    assert shell.refusal(f"UPDATE jobs SET status = 'cancelled', finished_at = {shell.now}") == GUARD


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE jobs SET version = version + 2",
        "UPDATE tasks SET version = version + 2",
        "UPDATE workers SET version = version + 2",
        "UPDATE jobs SET version = version - 1",
        "UPDATE tasks SET version = version - 1",
        "UPDATE workers SET version = version - 1",
        "UPDATE tasks SET token = token - 1",
        "UPDATE tasks SET token = token - 1, version = version + 1, actor = 'operator'",
        "UPDATE tasks SET attempt = attempt - 2",
        "UPDATE jobs SET id = 2",
        "UPDATE tasks SET part = 1",
        "UPDATE tasks SET stage = 1",
        "UPDATE tasks SET job_id = 2",
        "UPDATE workers SET id = 2",
        "UPDATE events SET actor = 'operator'",
        "UPDATE events SET version = 1 + version",
        "DELETE FROM events",
        "DELETE FROM jobs",
        "DELETE FROM stages",
        "DELETE FROM tasks",
    ],
)
def test_changes_that_falsify_the_event_log_are_refused(shell: Shell, statement: str) -> None:
    with aside(shell):
        shell.run("UPDATE tasks SET token = 5, attempt = 3, version = 3")
        shell.run("UPDATE jobs SET version = 3")
        shell.run("UPDATE workers SET version = 3")
    assert shell.refusal(statement) == GUARD


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tasks SET percent = 50, lease_expires_at = {now}, progress_at = {now}, message = 'm'",
        "UPDATE tasks SET token = token + 1",
        "UPDATE tasks SET attempt = attempt - 1",
        "UPDATE jobs SET phase = 'planning'",
        "UPDATE workers SET last_heartbeat_at = {now}",
        "UPDATE stages SET done = 1",
    ],
)
def test_an_update_without_a_change_of_state_is_not_guarded(shell: Shell, statement: str) -> None:
    put(shell, TASK, "running")
    with aside(shell):
        shell.run("UPDATE tasks SET token = 5, attempt = 3")
    before = shell.run("SELECT count(*) FROM events")
    shell.run(statement.format(now=shell.now))
    assert shell.run("SELECT count(*) FROM events") == before


def creation(shell: Shell, machine: Machine, state: str, version: int = 1) -> str:
    columns = {
        "job": {"id": "2", "pipeline_id": "1"},
        "task": {"job_id": "1", "stage": "0", "part": "1", "lane": "1"},
        "worker": {"id": "2", "name": "'v'", "hostname": "'h'", "software": "'s'"},
    }[machine.entity]
    values = columns | {"status": f"'{state}'", "version": str(version)} | demanded(shell, machine.entity, state)
    return f"INSERT INTO {TABLES[machine.entity]} ({', '.join(values)}) VALUES ({', '.join(values.values())})"


@every_machine
def test_rows_are_created_in_an_initial_state_only(shell: Shell, machine: Machine) -> None:
    allowed = {state for state in machine.states if shell.refusal(creation(shell, machine, state)) is None}
    assert allowed == set(machine.initial_states)
    assert shell.refusal(creation(shell, machine, machine.initial_states[0], version=2)) == GUARD


def test_a_creation_has_an_event(shell: Shell) -> None:
    lines = shell.run("SELECT entity, version, origin, target, actor FROM events ORDER BY id")
    assert lines == [
        ("job", 1, None, "pending", "sql"),
        ("stage", 1, None, "opened", "orchestrator"),
        ("worker", 1, None, "active", "sql"),
    ]


# Constraints.

BAD_VALUES = {
    "jobs_state": ["UPDATE jobs SET status = 'paused'", "UPDATE jobs SET finished_at = {now}"],
    "jobs_numbers": [
        "UPDATE jobs SET priority = 11",
        "UPDATE jobs SET priority = -1",
        "UPDATE jobs SET version = 0",
        "UPDATE jobs SET phase = 'pending'",
    ],
    "stages_counters": [
        "UPDATE stages SET done = 2",
        "UPDATE stages SET done = 1, failed = 1",
        "UPDATE stages SET skipped = -1",
        "UPDATE stages SET done = -1",
        "UPDATE stages SET failed = -1",
        "UPDATE stages SET total = -1",
    ],
    "tasks_pkey": ["INSERT INTO tasks (job_id, stage, part, lane) VALUES (1, 0, 0, 1)"],
    "tasks_state": ["UPDATE tasks SET status = 'paused'", "UPDATE tasks SET worker_id = 1"],
    "tasks_numbers": [
        "UPDATE tasks SET attempt = 4",
        "UPDATE tasks SET attempt = -1",
        "UPDATE tasks SET lost_alone = 1",
        "UPDATE tasks SET lost_alone = -1",
        "UPDATE tasks SET part = -1",
        "UPDATE tasks SET stage = -1",
        "UPDATE tasks SET priority = 11",
        "UPDATE tasks SET priority = -1",
        "UPDATE tasks SET version = 0",
        "UPDATE tasks SET token = -1",
        "UPDATE tasks SET percent = -0.5",
        "UPDATE tasks SET percent = 100.5",
        "UPDATE tasks SET lane = 0",
    ],
    "workers_status": ["UPDATE workers SET status = 'busy'"],
    "workers_kind": ["UPDATE workers SET kind = 'cloud'"],
    "workers_numbers": ["UPDATE workers SET slots = 0", "UPDATE workers SET version = 0"],
    "events_entity": ["INSERT INTO events (entity, version, target, actor, at) VALUES ('x', 1, 'y', 'z', {now})"],
}


def test_every_constraint_refuses_its_bad_values_even_without_the_guards(shell: Shell) -> None:
    shell.repairing(on=True)
    for name, statements in BAD_VALUES.items():
        refused = [shell.refusal(statement.format(now=shell.now)) for statement in statements]
        assert refused == [name] * len(statements)


def test_every_constraint_is_tested() -> None:
    script = "".join(migration.script for migration in migrations("reelstate.stores.postgres"))
    in_sqlite_triggers = {"jobs_times", "tasks_times"}
    assert set(re.findall(r"ADD CONSTRAINT (\w+)", script)) - in_sqlite_triggers == BAD_VALUES.keys()


def holds(status: str, given: set[str]) -> bool:
    """The rules for the columns of a task, as code: which of them may be set in this status."""
    final = status in ("done", "skipped", "cancelled") or (status == "error" and "run_after" not in given)
    return (
        ("worker_id" in given) == (status == "running")
        and ("lease_expires_at" in given) == (status == "running")
        and ("finished_at" in given) == final
        and not ("run_after" in given and status not in ("new", "error"))
        and not ("ready_at" not in given and status == "ready")
    )


def test_lease_end_and_next_run_of_a_task_are_what_its_status_demands(shell: Shell) -> None:
    shell.repairing(on=True)
    for status, chosen in product(TASK.states, product((False, True), repeat=len(FIELDS))):
        given = {field for field, is_set in zip(FIELDS, chosen, strict=True) if is_set}
        others = {field: ("1" if field == "worker_id" else shell.now) if field in given else "NULL" for field in FIELDS}
        refused = shell.refusal(change(shell, TASK, status, **others))
        assert (refused is None) == holds(status, given), (status, given)


def test_finished_at_is_set_exactly_when_a_job_is_inactive(shell: Shell) -> None:
    shell.repairing(on=True)
    for status in JOB.states:
        allowed = [
            end for end in ("NULL", shell.now) if shell.refusal(change(shell, JOB, status, finished_at=end)) is None
        ]
        assert allowed == [shell.now if status in (*FINISHED_JOBS, *STOPPED_JOBS) else "NULL"]
