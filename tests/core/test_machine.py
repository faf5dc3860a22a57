"""The state machines, transition by transition: declared here a second time and compared in full."""

from itertools import product

import pytest

from reelstate.core.errors import InvalidTransition
from reelstate.core.machine import JOB, MACHINES, PHASES, SQL_ACTOR, TASK, WORKER, Actor, Machine

ACTORS = {
    "U": Actor.USER,
    "O": Actor.ORCHESTRATOR,
    "W": Actor.WORKER,
    "K": Actor.KEEPER,
    "P": Actor.OPERATOR,
    "D": Actor.DOCTOR,
}

# An origin and its targets, each with the letters of the allowed actors. A line that ends in a comma continues.
EXPECTED = {
    "job": """
        pending: validating W, planning W, downloading_inputs W, processing W, uploading_outputs W,
            completed OP, failed OKP, quarantined KDP, cancelled OUP
        validating: pending P, planning O, downloading_inputs O, processing O, uploading_outputs O,
            completed OP, failed OKP, quarantined KDP, cancelled UP
        planning: pending P, downloading_inputs O, processing O, uploading_outputs O,
            completed OP, failed OKP, quarantined KDP, cancelled UP
        downloading_inputs: pending P, processing O, uploading_outputs O,
            completed OP, failed OKP, quarantined KDP, cancelled UP
        processing: pending P, uploading_outputs O,
            completed OP, failed OKP, quarantined KDP, cancelled UP
        uploading_outputs: pending P,
            completed OP, failed OKP, quarantined KDP, cancelled UP
        failed: pending UP, completed P, quarantined DP, cancelled UP
        quarantined: pending P, failed P, completed P, cancelled UP
        completed:
        cancelled:
    """,
    "task": """
        new: ready OUP, skipped O, cancelled UP
        ready: running W, done W, skipped W, new OKDUP, cancelled UP
        running: done W, error WK, skipped W, ready WKPD, new WKPD, cancelled UPK
        error: ready OUP, new OKDUP, cancelled UP
        done: ready UP, new UP
        skipped: ready UP, new UP
        cancelled:
    """,
    "worker": """
        active: draining WP, offline WK
        draining: active P, offline WK
        offline: active W
    """,
}  # fmt: skip


def lines(machine: Machine) -> list[tuple[str, str]]:
    """Return every origin with its line of the table."""
    text = EXPECTED[machine.entity].replace(",\n", ",").strip()
    return [(origin.strip(), targets) for origin, _, targets in (line.partition(":") for line in text.splitlines())]


def expected(machine: Machine) -> dict[tuple[str, str], frozenset[Actor]]:
    found = {}
    for origin, targets in lines(machine):
        for target in filter(None, targets.split(",")):
            name, letters = target.split()
            found[origin, name] = frozenset(ACTORS[letter] for letter in letters)
    return found


every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))


@every_machine
def test_the_states_are_those_of_the_table(machine: Machine) -> None:
    assert set(machine.states) == {origin for origin, _ in lines(machine)}


@every_machine
def test_every_change_is_allowed_to_exactly_the_actors_of_the_table(machine: Machine) -> None:
    table = expected(machine)
    found = {pair: machine.who_may(*pair) for pair in product(machine.states, repeat=2) if machine.who_may(*pair)}
    assert found == table


@every_machine
def test_validate_returns_the_change_or_refuses_it(machine: Machine) -> None:
    table = expected(machine)
    for origin, target, actor in product(machine.states, machine.states, Actor):
        for name in (actor, f"{actor}:ada"):
            if origin == target:
                assert machine.validate(origin, target, name) is False
            elif actor in table.get((origin, target), ()):
                assert machine.validate(origin, target, name) is True
            else:
                with pytest.raises(InvalidTransition) as refused:
                    machine.validate(origin, target, name)
                error = refused.value
                assert (error.entity, error.origin, error.target) == (machine.entity, origin, target)
                assert error.actor == name
                for other in table.get((origin, target), ()):
                    assert other in error.hint


@every_machine
def test_manual_sql_may_make_any_legal_change(machine: Machine) -> None:
    for origin, target in product(machine.states, repeat=2):
        legal = origin == target or bool(machine.who_may(origin, target))
        assert machine.allows(origin, target, SQL_ACTOR) is legal


@every_machine
@pytest.mark.parametrize("actor", ["", "nobody", "Operator", "operator ada", ":operator"])
def test_an_unknown_actor_may_change_nothing(machine: Machine, actor: str) -> None:
    for origin, target in product(machine.states, repeat=2):
        assert machine.allows(origin, target, actor) is (origin == target)


@every_machine
def test_an_unknown_state_goes_nowhere(machine: Machine) -> None:
    for state, actor in product(machine.states, Actor):
        assert not machine.allows("paused", state, actor)
        assert not machine.allows(state, "paused", actor)
    assert not machine.allows("paused", "paused", Actor.OPERATOR)


@every_machine
def test_triples_are_every_legal_change_with_its_actor(machine: Machine) -> None:
    table = expected(machine)
    triples = list(machine.triples())
    assert len(triples) == len(set(triples))
    assert set(triples) == {(*pair, actor) for pair, actors in table.items() for actor in actors}


def test_initial_and_terminal_states() -> None:
    assert (JOB.initial_states, TASK.initial_states, WORKER.initial_states) == (
        ("pending",),
        ("new", "ready"),
        ("active",),
    )
    assert (JOB.terminal, TASK.terminal, WORKER.terminal) == (("completed", "cancelled"), ("cancelled",), ())


@every_machine
def test_every_state_can_be_reached_from_an_initial_state(machine: Machine) -> None:
    reached = set(machine.initial_states)
    while more := {change.target for change in machine.transitions if change.origin in reached} - reached:
        reached |= more
    assert reached == set(machine.states)


def test_phases_only_go_forward() -> None:
    for earlier, later in product(PHASES, repeat=2):
        assert bool(JOB.who_may(earlier, later)) is (PHASES.index(earlier) < PHASES.index(later))
