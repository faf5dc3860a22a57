"""Complete a record of events that has gaps: versions are consecutive, and each origin is the target before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """The change of state that one event records."""

    version: int
    origin: str | None
    target: str


@dataclass(frozen=True, slots=True)
class Bridge:
    """The events that complete a record, and the version that its row then has."""

    changes: tuple[RecordedChange, ...]
    version: int


def bridge(changes: Sequence[RecordedChange], *, first: int, initial: str, version: int, status: str) -> Bridge:
    """Return the events that are missing between the creation of an entity and its row.

    `first` is the version of its first event: 1 if the creation has one, 2 if another event covers it.
    """
    recorded = {change.version: change for change in changes}
    last = max([version, *recorded])
    added: list[RecordedChange] = []
    state: str | None = None if first == 1 else initial
    for number in range(first, last + 1):
        change = recorded.get(number)
        if change is None:
            change = RecordedChange(number, state, _target(recorded, number, last, state or initial, status))
            added.append(change)
        state = change.target
    if state != status:
        last += 1
        added.append(RecordedChange(last, state, status))
    return Bridge(tuple(added), last)


def _target(recorded: dict[int, RecordedChange], number: int, last: int, state: str, status: str) -> str:
    """Return the target of a missing event: the origin of the next one, or the status of the row."""
    next_change = recorded.get(number + 1)
    if next_change is not None:
        return next_change.origin or state
    return status if number == last else state
