"""One attempt of a task, as its handler sees it: its input, and the methods to report progress.

An async handler gets a `Run` with coroutine methods, a blocking one a `BlockingRun` with plain ones. Both report
through a `Reporter`, in this process or through a pipe to the worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from itertools import count
from typing import NamedTuple, Protocol

from reelstate.core.errors import NotFound
from reelstate.core.model import ClaimedTask, Json, LogLevel, LogLine, SeverityName, Step, TaskKey, TaskState
from reelstate.core.state import NOT_STARTED, Severity
from reelstate.pipelines.declaration import StageRef, stage_name

MAX_PIPE_MESSAGE = 64 * 1024 * 1024
"""Characters of one message through a pipe; the limits of what can be stored are far below it."""


class Results(NamedTuple):
    """One page of the results of a stage; `after` is the cursor of the next page, None after the last."""

    values: list[Json]
    after: str | None


class Reporter(Protocol):
    """Receives what a run reports, and reads results for it."""

    def note(self, percent: float | None, message: str | None, step: str | None) -> None: ...

    def log(self, line: LogLine) -> None: ...

    def step(self, step: Step) -> None: ...

    def state(self, state: TaskState) -> None: ...

    def save(self, checkpoint: Json) -> Future[None]: ...

    def results(self, stage: str, after: str | None) -> Future[Results]: ...


class _Attempt:
    """The properties and reports that async and blocking runs share."""

    def __init__(self, task: ClaimedTask, reporter: Reporter) -> None:
        self._task = task
        self._reporter = reporter
        self._steps = count(1)
        self._states = count(1)
        self.checkpoint: Json = task.checkpoint
        """The checkpoint that this run, or an earlier one of the task, saved last; None if there is none."""

    @property
    def key(self) -> TaskKey:
        return self._task.key

    @property
    def job_id(self) -> int:
        return self._task.key.job_id

    @property
    def part(self) -> int:
        """The number of this part of the stage; 0 without fan-out."""
        return self._task.key.part

    @property
    def pipeline(self) -> str:
        return self._task.pipeline

    @property
    def stage(self) -> str:
        return self._task.stage_name

    @property
    def spec(self) -> Json:
        """The spec that the job was submitted with."""
        return self._task.spec

    @property
    def input(self) -> Json:
        """The element of the fan-out that this task processes."""
        return self._task.input

    @property
    def attempt(self) -> int:
        """1 for the first run."""
        return self._task.attempt

    @property
    def max_attempts(self) -> int:
        return self._task.max_attempts

    @property
    def token(self) -> int:
        """A number that grows with every run of this task. Use it in the names of files that the run writes."""
        return self._task.token

    def log(self, message: str, level: LogLevel = "info", **metadata: Json) -> None:
        """Add a line to the job's log (`reel logs`). It is stored with the next report."""
        self._reporter.log(LogLine(message=str(message), level=level, metadata=metadata or None))

    def note(self, percent: float | None = None, message: str | None = None, *, step: str | None = None) -> None:
        """Report progress without waiting; safe in callbacks of other libraries."""
        self._reporter.note(percent, message, step)

    def step(
        self,
        argv: Sequence[str],
        *,
        exit_code: int | None = None,
        seconds: float = 0.0,
        output: str = "",
        type: str = "",  # noqa: A002 - the column's name
    ) -> None:
        """Record a command that has just ended (`reel steps`). It is stored with the next report.

        `type` is the kind of step, such as ffmpeg or download; by default the name of the program.
        """
        self._reporter.step(
            Step(
                number=next(self._steps),
                argv=argv,
                exit_code=exit_code,
                seconds=seconds,
                output=output,
                type=type,
                started=time.time() - seconds,
            )
        )

    def state(
        self,
        tag: str,
        status: int | None,
        message: str = "",
        *,
        severity: SeverityName | Severity | None = None,
        payload: Json = None,
    ) -> None:
        """Report a state under a tag (`reel states`): 1 is started, 2147483647 finished, a negative status an error.

        None keeps the status. The state is stored with the next report and published to subscribers.
        """
        if severity is None:
            failed = isinstance(status, int) and status < NOT_STARTED
            severity = Severity.ERROR if failed else Severity.INFO
        self._reporter.state(
            TaskState(
                number=next(self._states), tag=tag, status=status, message=message, severity=severity, payload=payload
            )
        )

    def warning(self, tag: str, message: str, *, payload: Json = None) -> None:
        """Report a warning under a tag; its status does not change."""
        self.state(tag, None, message, severity=Severity.WARNING, payload=payload)


class Run(_Attempt):
    """One attempt of a task, for an `async def` handler."""

    async def progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        *,
        step: str | None = None,
        checkpoint: Json = None,
    ) -> None:
        """Report progress. With a checkpoint, return when it is stored: the next attempt starts with it."""
        self._reporter.note(percent, message, step)
        if checkpoint is not None:
            await asyncio.wrap_future(self._reporter.save(checkpoint))
            self.checkpoint = checkpoint

    async def results(self, stage: StageRef) -> AsyncIterator[Json]:
        """Yield the results of the parts of an earlier stage in order; pages are read as needed."""
        after: str | None = None
        while True:
            page = await asyncio.wrap_future(self._reporter.results(stage_name(stage), after))
            for value in page.values:
                yield value
            if (after := page.after) is None:
                return

    async def result(self, stage: StageRef) -> Json:
        """Return the result of an earlier stage that has one part. Raise NotFound if there is none."""
        async for value in self.results(stage):
            return value
        raise NotFound("result of stage", stage_name(stage))


class BlockingRun(_Attempt):
    """One attempt of a task, for a `def` handler in a thread or a process."""

    def progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        *,
        step: str | None = None,
        checkpoint: Json = None,
    ) -> None:
        """Report progress. With a checkpoint, return when it is stored: the next attempt starts with it."""
        self._reporter.note(percent, message, step)
        if checkpoint is not None:
            self._reporter.save(checkpoint).result()
            self.checkpoint = checkpoint

    def results(self, stage: StageRef) -> Iterator[Json]:
        """Yield the results of the parts of an earlier stage in order; pages are read as needed."""
        after: str | None = None
        while True:
            page = self._reporter.results(stage_name(stage), after).result()
            yield from page.values
            if (after := page.after) is None:
                return

    def result(self, stage: StageRef) -> Json:
        """Return the result of an earlier stage that has one part. Raise NotFound if there is none."""
        for value in self.results(stage):
            return value
        raise NotFound("result of stage", stage_name(stage))
