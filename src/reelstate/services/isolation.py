"""Isolation: one job that can't be handled stops only itself.

A sweep handles all jobs in one transaction. Where stored data makes that fail, each job is handled alone. Jobs that
fail again are logged once, left out of later sweeps, and tried alone after each.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from reelstate.core.errors import SchemaMismatch, StoreFull, StoreReadOnly, StoreUnavailable
from reelstate.stores.store import Statement, Store, Transaction

T = TypeVar("T")
logger = logging.getLogger("reelstate.isolation")

WHOLE_STORE = (SchemaMismatch, StoreFull, StoreReadOnly, StoreUnavailable)
"""Faults of the whole store: leaving a job out does not help."""

Work = Callable[[Sequence[int] | None, Sequence[int]], Awaitable[T]]
"""Handle all jobs, or those of the first list only; never those of the second."""


class JobId(NamedTuple):
    job_id: int


class Isolation:
    """The jobs that sweeps of one process could not handle, by verb."""

    def __init__(self) -> None:
        self._left_out: dict[str, set[int]] = {}

    async def sweep(self, verb: str, work: Work[T], find: Callable[[], Awaitable[Sequence[int]]]) -> list[T]:
        """Run `work` on all jobs at once, else on each job that `find` returns; return the result of each run."""
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
                if job_id not in left_out:
                    logger.error(  # noqa: TRY400 - the cause is in the stored data, not in the code
                        "job left out verb=%r job=%d error=%r hint=run `reel doctor`", verb, job_id, str(error)
                    )
                    left_out.add(job_id)
            else:
                left_out.discard(job_id)
        return results


def finder(store: Store, statement: Statement[JobId], limit: int, **terms: Any) -> Callable[[], Awaitable[list[int]]]:
    """Return a function for `Isolation.sweep` that lists the jobs which a statement finds."""

    async def flow(transaction: Transaction) -> list[int]:
        return [row.job_id for row in await transaction.run(statement, limit=limit, **terms)]

    return lambda: store.read(flow)
