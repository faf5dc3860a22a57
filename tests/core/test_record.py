"""A record with gaps is bridged: afterwards versions follow each other, and the last line is the row."""

from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.machine import JOB, TASK, Machine
from reelstate.core.record import RecordedChange, bridge
from tests.core.properties import quickly


@st.composite
def damaged(draw: st.DrawFn) -> tuple[list[RecordedChange], int, str, int, str]:
    """A true history with changes lost, a row that may have moved on, and where it all began."""
    machine: Machine = draw(st.sampled_from([JOB, TASK]))
    first = 1 if machine is JOB else 2
    initial = draw(st.sampled_from(machine.initial_states))
    changes = [RecordedChange(1, None, initial)] if first == 1 else []
    state, version = initial, 1
    for _ in range(draw(st.integers(0, 12))):
        onward = [change.target for change in machine.transitions if change.origin == state]
        if not onward:
            break
        target = draw(st.sampled_from(onward))
        version += 1
        changes.append(RecordedChange(version, state, target))
        state = target
    kept = [line for line in changes if draw(st.booleans())]
    drift = draw(st.integers(-2, 3))
    status = draw(st.just(state) | st.sampled_from(machine.states))
    return kept, first, initial, max(1, version + drift), status


@quickly
@given(damaged())
def test_a_bridged_record_has_no_gap_and_ends_at_the_row(case: tuple[list[RecordedChange], int, str, int, str]) -> None:
    kept, first, initial, version, status = case
    bridged = bridge(kept, first=first, initial=initial, version=version, status=status)
    whole = sorted([*kept, *bridged.changes], key=lambda line: line.version)
    assert [line.version for line in whole] == list(range(first, bridged.version + 1))
    state: str | None = None if first == 1 else initial
    for line in whole:
        assert line.origin == state
        state = line.target
    assert (state or initial) == status
    assert bridged.version >= version


@quickly
@given(damaged())
def test_a_recorded_change_is_never_recorded_again(case: tuple[list[RecordedChange], int, str, int, str]) -> None:
    kept, first, initial, version, status = case
    bridged = bridge(kept, first=first, initial=initial, version=version, status=status)
    assert {line.version for line in kept}.isdisjoint(line.version for line in bridged.changes)


@quickly
@given(damaged())
def test_bridging_twice_adds_nothing(case: tuple[list[RecordedChange], int, str, int, str]) -> None:
    kept, first, initial, version, status = case
    bridged = bridge(kept, first=first, initial=initial, version=version, status=status)
    again = bridge([*kept, *bridged.changes], first=first, initial=initial, version=bridged.version, status=status)
    assert (again.changes, again.version) == ((), bridged.version)


def test_a_whole_record_is_left_as_it_is() -> None:
    changes = [RecordedChange(1, None, "pending"), RecordedChange(2, "pending", "processing")]
    bridged = bridge(changes, first=1, initial="pending", version=2, status="processing")
    assert (bridged.changes, bridged.version) == ((), 2)


def test_a_missing_change_leads_to_the_origin_of_the_next_one() -> None:
    changes = [RecordedChange(1, None, "pending"), RecordedChange(4, "failed", "cancelled")]
    bridged = bridge(changes, first=1, initial="pending", version=4, status="cancelled")
    assert bridged.changes == (RecordedChange(2, "pending", "pending"), RecordedChange(3, "pending", "failed"))


def test_a_row_that_changed_without_a_record_gets_one() -> None:
    bridged = bridge([RecordedChange(1, None, "pending")], first=1, initial="pending", version=1, status="failed")
    assert (bridged.changes, bridged.version) == ((RecordedChange(2, "pending", "failed"),), 2)
