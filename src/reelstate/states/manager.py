"""The state manager of one task: it says how far the task is, and sees how far all of them are."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator
from typing import Any, Self

from reelstate.core.document import LIMITS, Limits
from reelstate.core.errors import InvalidRequest
from reelstate.core.state import (
    FAILED,
    FINISHED,
    STARTED,
    Severity,
    State,
    StateJob,
    StateWrite,
    aggregate,
    checked_status,
    checked_tag,
    checked_task,
    checked_write,
)
from reelstate.feed.subscriber import Message, Terms, Wanted
from reelstate.states.state_store import StateStore

START = "0"
"""The cursor before everything: the whole log is replayed."""


class StateManager:
    """Writes for one task, reads for all. Without a task it only watches: a monitor.

    ```python
    async with await StateManager.open("job-1", 0, 8, store) as states:
        await states.set_started("ingest")
        await states.set_state("ingest", 40, "almost half")
        async for message in states.subscribe(tag="ingest"): ...
    ```
    """

    def __init__(self, job: StateJob, task: int | None, store: StateStore, limits: Limits = LIMITS) -> None:
        self.job = job
        self.task = task
        self._store = store
        self._limits = limits
        self._subscriptions: set[AsyncGenerator[Message[State], None]] = set()

    @classmethod
    async def open(
        cls,
        job_id: str,
        task_index: int | None,
        num_tasks: int | None,
        store: StateStore,
        *,
        tags: tuple[str, ...] = (),
        limits: Limits = LIMITS,
    ) -> StateManager:
        """The manager of a task, its job made if it is not there. Without `num_tasks` the job must be there."""
        if num_tasks is None:
            job = await store.find_job(job_id)
        else:
            job = await store.open_job(StateJob(job_id=job_id, tasks=num_tasks, tags=tags))
        if task_index is not None:
            checked_task(task_index, job.tasks)
        return cls(job, task_index, store, limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every subscription; the store stays open, for others use it too."""
        for subscription in tuple(self._subscriptions):
            with contextlib.suppress(RuntimeError):  # somebody waits in it; the store's end ends that
                await subscription.aclose()

    async def set_state(
        self, tag: str, status: int | None, message: str = "", *, task: int | None = None, **rest: Any
    ) -> State:
        """Say how far the task is under a tag; gives what is stored. `event_id` makes a repeated write harmless."""
        write = StateWrite(
            job_id=rest.pop("job_id", self.job.job_id),
            task=self._own(task),
            tag=tag,
            status=status,
            message=message,
            event_id=rest.pop("event_id", None) or secrets.token_hex(16),
            **rest,
        )
        return await self._store.write(checked_write(write, self.job, self._limits), self.job.generation)

    async def set_started(self, tag: str, message: str = "started", **rest: Any) -> State:
        return await self.set_state(tag, STARTED, message, **rest)

    async def set_finished(self, tag: str, message: str = "finished", **rest: Any) -> State:
        return await self.set_state(tag, FINISHED, message, **rest)

    async def set_error(self, tag: str, error: BaseException | str, *, code: int = FAILED, **rest: Any) -> State:
        """Say that it failed; the code is negative, and the lower it is, the more it matters."""
        if checked_status(code) >= 0:
            raise InvalidRequest("code", f"{code} is no error", hint="errors are negative")
        words = str(error) or type(error).__name__
        return await self.set_state(tag, code, words, severity=Severity.ERROR, **rest)

    async def set_warning(self, tag: str, warning: str, **rest: Any) -> State:
        """Say that something is amiss; the status stays as it is."""
        return await self.set_state(tag, None, warning, severity=Severity.WARNING, **rest)

    async def get_state(self, *, task: int | None = None, tag: str | None = None) -> State:
        """The state of a scope: of one task and tag, or the lowest of many."""
        self._check_scope(task, tag)
        return aggregate(self.job, await self._store.states(self.job.job_id), task, tag)

    async def subscribe(
        self, *, task: int | None = None, tag: str | None = None, after: str | None = None
    ) -> AsyncGenerator[Message[State], None]:
        """What is, then what happens, in a scope; with a cursor (or "0") what has happened since instead of what is."""
        self._check_scope(task, tag)
        feed = await self._store.feed(self.job)

        def wanted(state: State) -> bool:
            return task in (None, state.task) and tag in (None, state.tag)

        head = await feed.log.head()
        if after is None:
            now = sorted(filter(wanted, await self._store.states(self.job.job_id)), key=lambda state: state.timestamp)
            messages = feed.follow(head, Terms(wanted=_News(now, wanted).is_news), replayed=now)
        else:
            start = feed.log.first() if after == START else after
            messages = feed.follow(start, Terms(wanted=wanted), until=head)
        self._subscriptions.add(messages)
        try:
            async with contextlib.aclosing(messages):
                async for message in messages:
                    yield message
        finally:
            self._subscriptions.discard(messages)

    async def delete_job(self) -> bool:
        """Delete the job's states and leave a tombstone. Only the first task, or a monitor, may."""
        if self.task:
            raise InvalidRequest("task", f"task {self.task} may not delete the job", hint="task 0 does what is global")
        return await self._store.delete_job(self.job.job_id)

    def _own(self, task: int | None) -> int:
        if self.task is None:
            raise InvalidRequest("task", "a monitor writes nothing", hint="open a manager with a task index")
        if task is not None and task != self.task:
            raise InvalidRequest("task", f"{task} is not the task of this manager", hint=f"it writes for {self.task}")
        return self.task

    def _check_scope(self, task: int | None, tag: str | None) -> None:
        if task is not None:
            checked_task(task, self.job.tasks)
        if tag is not None:
            checked_tag(tag)


class _News:
    """What a subscriber has not seen in the snapshot: a snapshot may already hold what the log has after its cursor."""

    def __init__(self, seen: list[State], wanted: Wanted[State]) -> None:
        self._versions = {state.key: state.version for state in seen}
        self._wanted = wanted

    def is_news(self, state: State) -> bool:
        return self._wanted(state) and state.version > self._versions.get(state.key, 0)
