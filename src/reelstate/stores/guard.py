"""What the guards of both stores share: the machines as the words that the generated SQL is made of."""

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
"""Tables whose rows others refer to: nothing but archive and repair deletes there."""


def quoted(words: Iterable[str]) -> str:
    """Words as a list of SQL strings. They come from the machines alone, never from a user."""
    return ", ".join(f"'{word}'" for word in words)


def triples(machine: Machine) -> str:
    """Every legal change with its actor, as `origin target actor`."""
    return quoted(" ".join(triple) for triple in machine.triples())


def pairs(machine: Machine) -> str:
    """Every legal change whoever makes it, as `origin target`."""
    return quoted(f"{change.origin} {change.target}" for change in machine.transitions)


def digest(script: str) -> str:
    """Tells whether the guards in a database are the ones this code would install."""
    return hashlib.sha256(script.encode()).hexdigest()[:16]
