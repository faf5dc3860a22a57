"""The state manager of one task: it writes the states of the task and reads those of all tasks."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator
from typing import Any, Self

from reelstate.core.document import LIMITS, DocumentLimits
from reelstate.core.errors import InvalidRequest
from reelstate.core.state import (
    FAILED,
    FINISHED,
    STARTED,
    Severity,
    State,
    StateJob,
    StateKey,
    StateWrite,
    aggregate,
    validate_status,
    validate_tag,
    validate_task,
    validate_write,
)
from reelstate.feed.subscriber import FeedMessage, SubscriptionOptions, Wanted
from reelstate.states.state_store import StateStore

START = "0"
"""The cursor before the first version: the whole log is replayed."""


class StateManager:
    """Writes the states of one task and reads those of all. Without a task it is a monitor, which only reads.

    ```python
    async with await StateManager.open("job-1", 0, 8, store) as states:
        await states.set_started("ingest")
        await states.set_state("ingest", 40, "almost half")
        async for message in states.subscribe(tag="ingest"): ...
    ```
    """

    def __init__(self, job: StateJob, task: int | None, store: StateStore, limits: DocumentLimits = LIMITS) -> None:
        self.job = job
        self.task = task
        self._store = store
        self._limits = limits
        self._closed = asyncio.Event()

    @classmethod
    async def open(
        cls,
        job_id: str,
        task_index: int | None,
        num_tasks: int | None,
        store: StateStore,
        *,
        tags: tuple[str, ...] = (),
        limits: DocumentLimits = LIMITS,
    ) -> StateManager:
        """Return the manager of a task. Its job is created where there is none, unless `num_tasks` is None."""
        if num_tasks is None:
            job = await store.find_job(job_id)
        else:
            job = await store.open_job(StateJob(job_id=job_id, tasks=num_tasks, tags=tags))
        if task_index is not None:
            validate_task(task_index, job.tasks)
        return cls(job, task_index, store, limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every subscription of this manager; the store stays open."""
        self._closed.set()

    async def set_state(
        self, tag: str, status: int | None, message: str = "", *, task: int | None = None, **options: Any
    ) -> State:
        """Store the status of the task under a tag and return the state. `event_id` makes a repeated write harmless."""
        write = StateWrite(
            job_id=options.pop("job_id", self.job.job_id),
            task=self._require_own(task),
            tag=tag,
            status=status,
            message=message,
            event_id=options.pop("event_id", None) or secrets.token_hex(16),
            **options,
        )
        return await self._store.write(validate_write(write, self.job, self._limits), self.job.generation)

    async def set_started(self, tag: str, message: str = "started", **options: Any) -> State:
        """Store the status of a task that has started."""
        return await self.set_state(tag, STARTED, message, **options)

    async def set_finished(self, tag: str, message: str = "finished", **options: Any) -> State:
        """Store the status of a task that has finished."""
        return await self.set_state(tag, FINISHED, message, **options)

    async def set_error(self, tag: str, error: BaseException | str, *, code: int = FAILED, **options: Any) -> State:
        """Store an error. `code` is negative; the lowest status of a scope stands for it."""
        if validate_status(code) >= 0:
            raise InvalidRequest("code", f"{code} is not an error code", hint="error codes are negative")
        message = str(error) or type(error).__name__
        return await self.set_state(tag, code, message, severity=Severity.ERROR, **options)

    async def set_warning(self, tag: str, warning: str, **options: Any) -> State:
        """Store a warning; the status stays as it is."""
        return await self.set_state(tag, None, warning, severity=Severity.WARNING, **options)

    async def get_state(self, *, task: int | None = None, tag: str | None = None) -> State:
        """Return the state of one task and tag, or the lowest of all in scope."""
        if tag is not None:
            validate_tag(tag)
        key = None if task is None or tag is None else StateKey(task, tag)
        job, states = await self._store.states(self.job.job_id, key)
        if task is not None:
            validate_task(task, job.tasks)
        return aggregate(job, states, task, tag)

    async def subscribe(
        self, *, task: int | None = None, tag: str | None = None, after: str | None = None
    ) -> AsyncGenerator[FeedMessage[State], None]:
        """Yield the current states of a scope, then every later version; it ends when the manager is closed.

        With a cursor (or "0") it begins with the versions after it instead of the current states. `MessageKind.RESET`
        reports that the job, or old versions of its states, were deleted; what follows is complete. A job that is
        deleted and created again continues in the same subscription, in its next generation.
        """
        self._check_scope(task, tag)
        feed = await self._store.feed(self.job.job_id)

        def wanted(state: State) -> bool:
            return task in (None, state.task) and tag in (None, state.tag)

        head = await feed.log.head()
        if after is None:
            _, states = await self._store.states(self.job.job_id)
            now = sorted(filter(wanted, states), key=lambda state: state.timestamp)
            messages = feed.follow(head, SubscriptionOptions(wanted=_News(now, wanted).is_news), replayed=now)
        else:
            start = feed.log.first() if after == START else after
            messages = feed.follow(start, SubscriptionOptions(wanted=wanted), until=head)
        async with contextlib.aclosing(messages), contextlib.aclosing(_until(self._closed, messages)) as open_messages:
            async for message in open_messages:
                yield message

    async def delete_job(self) -> bool:
        """Delete the job's states and leave a tombstone. Only the first task, or a monitor, may."""
        if self.task:
            raise InvalidRequest("task", f"task {self.task} may not delete the job", hint="task 0 or a monitor may")
        return await self._store.delete_job(self.job.job_id)

    def _require_own(self, task: int | None) -> int:
        if self.task is None:
            raise InvalidRequest("task", "a monitor can't write", hint="open a manager with a task index")
        if task is not None and task != self.task:
            raise InvalidRequest(
                "task", f"{task} is not the task of this manager", hint=f"it writes for task {self.task}"
            )
        return self.task

    def _check_scope(self, task: int | None, tag: str | None) -> None:
        if task is not None:
            validate_task(task, self.job.tasks)
        if tag is not None:
            validate_tag(tag)


class _News:
    """Filters the versions that a snapshot already held: it may be newer than the cursor that the log is read from."""

    def __init__(self, seen: list[State], wanted: Wanted[State]) -> None:
        self._versions = {(state.generation, state.key): state.version for state in seen}
        self._wanted = wanted

    def is_news(self, state: State) -> bool:
        return self._wanted(state) and state.version > self._versions.get((state.generation, state.key), 0)


async def _until(
    closed: asyncio.Event, messages: AsyncGenerator[FeedMessage[State], None]
) -> AsyncGenerator[FeedMessage[State], None]:
    """Yield messages until an event is set, which also ends a wait for the next message."""
    closing = asyncio.create_task(closed.wait())
    try:
        while not closed.is_set():
            waiting = asyncio.ensure_future(anext(messages, None))
            try:
                await asyncio.wait({waiting, closing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not waiting.done():
                    waiting.cancel()
                    await asyncio.gather(waiting, return_exceptions=True)
            if waiting.cancelled() or (message := waiting.result()) is None:
                return
            yield message
    finally:
        closing.cancel()
