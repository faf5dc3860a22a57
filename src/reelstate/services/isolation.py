"""Isolation: one job that can't be handled stops only itself.

A sweep handles all jobs in one transaction. Where that fails on what is stored, each job is handled alone; those that
fail again are logged once, left out from then on, and tried alone at every further sweep.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from reelstate.core.errors import SchemaMismatch, StoreFull, StoreReadOnly, StoreUnavailable
from reelstate.stores.store import Store, Transaction

T = TypeVar("T")
logger = logging.getLogger("reelstate.isolation")

WHOLE_STORE = (SchemaMismatch, StoreFull, StoreReadOnly, StoreUnavailable)
"""Faults of the store as a whole, which leaving a job out does not cure."""

Work = Callable[[Sequence[int] | None, Sequence[int]], Awaitable[T]]
"""Handle all jobs, or only those of the first list, in any case without those of the second."""


class Isolation:
    """The jobs that sweeps of one process could not handle, by verb."""

    def __init__(self) -> None:
        self._left_out: dict[str, set[int]] = {}

    async def sweep(self, verb: str, work: Work[T], find: Callable[[], Awaitable[Sequence[int]]]) -> list[T]:
        """Run `work` on all jobs at once, else on each of those that `find` gives; returns what each run gave."""
        left_out = self._left_out.setdefault(verb, set())
        try:
            results = [await work(None, sorted(left_out))]
            alone = set(left_out)
        except WHOLE_STORE:
            raise
        except Exception:
            results = []
            alone = left_out.union(await find())
            if not alone:
                raise
        for job_id in sorted(alone):
            try:
                results.append(await work([job_id], ()))
            except WHOLE_STORE:
                raise
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one job, the others are handled
                self._leave_out(verb, job_id, error)
            else:
                left_out.discard(job_id)
        return results

    def _leave_out(self, verb: str, job_id: int, error: Exception) -> None:
        if job_id not in self._left_out[verb]:
            logger.error("%s: job %d can't be handled and is left out: %s; run `reel doctor`", verb, job_id, error)
            self._left_out[verb].add(job_id)


def finder(store: Store, statement: str, limit: int, **terms: Any) -> Callable[[], Awaitable[list[int]]]:
    """The jobs that a statement finds, as `Isolation.sweep` asks for them."""

    async def flow(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run(statement, limit=limit, **terms)]

    return lambda: store.read(flow)
