"""One attempt of a task, as its handler sees it: what it is given, and what it may say while it runs.

An async handler gets a `Run`, whose words are awaited; a blocking one gets a `BlockingRun`, whose words are calls. Both
speak to a `Desk`, which stands in this process or at the other end of a pipe.
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

LONGEST_LINE = 64 * 1024 * 1024
"""More is not said in one piece through a pipe; what may be stored is far below it."""


class Results(NamedTuple):
    """One page of the results of a stage; `after` asks for the next, None is the end."""

    values: list[Json]
    after: str | None


class Reporter(Protocol):
    """Where the words of a run go."""

    def note(self, percent: float | None, message: str | None, step: str | None) -> None: ...

    def log(self, line: LogLine) -> None: ...

    def step(self, step: Step) -> None: ...

    def state(self, state: TaskState) -> None: ...

    def save(self, checkpoint: Json) -> Future[None]: ...

    def results(self, stage: str, after: str | None) -> Future[Results]: ...


class _Attempt:
    """What every handler is given."""

    def __init__(self, task: ClaimedTask, desk: Reporter) -> None:
        self._task = task
        self._desk = desk
        self._steps = count(1)
        self._states = count(1)
        self.checkpoint: Json = task.checkpoint
        """What the last run of this task saved, or this one; None at first."""

    @property
    def key(self) -> TaskKey:
        return self._task.key

    @property
    def job_id(self) -> int:
        return self._task.key.job_id

    @property
    def part(self) -> int:
        """Which part of its stage: 0 where there is only one."""
        return self._task.key.part

    @property
    def pipeline(self) -> str:
        return self._task.pipeline

    @property
    def stage(self) -> str:
        return self._task.stage_name

    @property
    def spec(self) -> Json:
        """What the job was submitted with."""
        return self._task.spec

    @property
    def input(self) -> Json:
        """The element of the fan-out that this task is for."""
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
        """Grows with every run of this task: put it into the names of files you write."""
        return self._task.token

    def log(self, message: str, level: LogLevel = "info", **metadata: Json) -> None:
        """Keep a line with the job (`reel logs`). It is stored with the next report."""
        self._desk.log(LogLine(message=str(message), level=level, metadata=metadata or None))

    def note(self, percent: float | None = None, message: str | None = None, *, step: str | None = None) -> None:
        """Say how far it is, without waiting for anything: fit for callbacks of other libraries."""
        self._desk.note(percent, message, step)

    def step(
        self,
        argv: Sequence[str],
        *,
        exit_code: int | None = None,
        seconds: float = 0.0,
        output: str = "",
        type: str = "",  # noqa: A002 - the word of the table
    ) -> None:
        """Keep a command that has just ended with the job (`reel steps`). It is stored with the next report.

        `type` says what kind of step it is, such as ffmpeg or download; when empty, it is the name of the program.
        """
        self._desk.step(
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
        """Say how far it is under a tag (`reel states`): 1 started, 2147483647 finished, below 0 an error.

        It is stored with the next report, and told to whoever subscribes. None leaves the status as it is.
        """
        if severity is None:
            failed = isinstance(status, int) and status < NOT_STARTED
            severity = Severity.ERROR if failed else Severity.INFO
        said = TaskState(
            number=next(self._states), tag=tag, status=status, message=message, severity=severity, payload=payload
        )
        self._desk.state(said)

    def warning(self, tag: str, message: str, *, payload: Json = None) -> None:
        """Say under a tag that something is amiss; the status stays as it is."""
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
        """Say how far it is. With a checkpoint it returns when that is stored: the next attempt would get it."""
        self._desk.note(percent, message, step)
        if checkpoint is not None:
            await asyncio.wrap_future(self._desk.save(checkpoint))
            self.checkpoint = checkpoint

    async def results(self, stage: StageRef) -> AsyncIterator[Json]:
        """The results of the parts of an earlier stage, in order; pages are read as they are needed."""
        after: str | None = None
        while True:
            page = await asyncio.wrap_future(self._desk.results(stage_name(stage), after))
            for value in page.values:
                yield value
            if (after := page.after) is None:
                return

    async def result(self, stage: StageRef) -> Json:
        """The result of an earlier stage that has one part."""
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
        """Say how far it is. With a checkpoint it returns when that is stored: the next attempt would get it."""
        self._desk.note(percent, message, step)
        if checkpoint is not None:
            self._desk.save(checkpoint).result()
            self.checkpoint = checkpoint

    def results(self, stage: StageRef) -> Iterator[Json]:
        """The results of the parts of an earlier stage, in order; pages are read as they are needed."""
        after: str | None = None
        while True:
            page = self._desk.results(stage_name(stage), after).result()
            yield from page.values
            if (after := page.after) is None:
                return

    def result(self, stage: StageRef) -> Json:
        """The result of an earlier stage that has one part."""
        for value in self.results(stage):
            return value
        raise NotFound("result of stage", stage_name(stage))
