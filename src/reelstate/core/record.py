"""The record of an entity, and how a gap in it is bridged: versions without a hole, each origin the target before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """What one event says of an entity's state."""

    version: int
    origin: str | None
    target: str


@dataclass(frozen=True, slots=True)
class Bridge:
    """The events that make a record whole again, and the version its row then has."""

    lines: tuple[RecordedChange, ...]
    version: int


def bridge(lines: Sequence[RecordedChange], *, first: int, birth: str, version: int, status: str) -> Bridge:
    """What is missing between the birth of an entity and its row as it is now.

    `first` is the version of its first event: 1 where the birth itself has one, 2 where it is covered by another's.
    """
    told = {line.version: line for line in lines}
    last = max([version, *told])
    added: list[RecordedChange] = []
    state: str | None = None if first == 1 else birth
    for number in range(first, last + 1):
        line = told.get(number)
        if line is None:
            line = RecordedChange(number, state, _target(told, number, last, state or birth, status))
            added.append(line)
        state = line.target
    if state != status:
        last += 1
        added.append(RecordedChange(last, state, status))
    return Bridge(tuple(added), last)


def _target(told: dict[int, RecordedChange], number: int, last: int, state: str, status: str) -> str:
    """Where a missing event must have led: to where the next one starts, or to where the row stands."""
    following = told.get(number + 1)
    if following is not None:
        return following.origin or state
    return status if number == last else state
