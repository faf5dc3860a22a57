"""What the guards of both stores share: the state machines as lists for the generated SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from reelstate.core.machine import JOB, TASK, WORKER, Machine

TABLES: Mapping[str, Machine] = {"jobs": JOB, "tasks": TASK, "workers": WORKER}
KEYS: Mapping[str, tuple[str, ...]] = {
    "jobs": ("id",),
    "tasks": ("job_id", "stage", "part"),
    "workers": ("id",),
}


KEPT = ("jobs", "stages", "tasks", "pipelines", "lanes")
"""Tables whose rows others refer to: only archive and repair delete there."""


def quoted(names: Iterable[str]) -> str:
    """Return names of the machines, never of a user, as a list of SQL strings."""
    return ", ".join(f"'{name}'" for name in names)


def triples(machine: Machine) -> str:
    """Return every legal change with its actor, as `origin target actor`."""
    return quoted(" ".join(triple) for triple in machine.triples())


def pairs(machine: Machine) -> str:
    """Return every change that some actor may make, as `origin target`."""
    return quoted(f"{change.origin} {change.target}" for change in machine.transitions)


def digest(script: str) -> str:
    """Return a digest that tells whether the guards in a database are those of this code."""
    return hashlib.sha256(script.encode()).hexdigest()[:16]
