"""The other end of `process.py`: started by a worker to run one attempt of one task, and nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib
import inspect
import json
import os
import runpy
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any, TextIO

from reelstate.core import state as states
from reelstate.core.document import LIMITS
from reelstate.core.errors import InvalidRequest, TooLarge
from reelstate.core.model import ClaimedTask, Completion, Json, LogLine, Step, TaskKey, TaskState
from reelstate.core.outcome import Ended, Fail, done, judged
from reelstate.core.step import kept
from reelstate.worker.process import LOADING_VARIABLE
from reelstate.worker.run import LONGEST_LINE, BlockingRun, Results, Run


class PipeReporter:
    """Words and questions go down the pipe; a thread hears the answers."""

    def __init__(self, spoken: TextIO) -> None:
        self._spoken = spoken
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._asked: dict[int, Future[Any]] = {}

    def note(self, percent: float | None, message: str | None, step: str | None) -> None:
        self.say({"note": [percent, message, step]})

    def log(self, line: LogLine) -> None:
        self.say({"log": dataclasses.asdict(line)})

    def step(self, step: Step) -> None:
        self.say({"step": dataclasses.asdict(kept(step, LIMITS))})

    def state(self, state: TaskState) -> None:
        self.say({"state": dataclasses.asdict(states.kept(state, LIMITS))})

    def save(self, checkpoint: Json) -> Future[None]:
        return self._ask({"save": checkpoint})

    def results(self, stage: str, after: str | None) -> Future[Results]:
        answer: Future[Results] = Future()
        asked = self._ask({"results": [stage, after]})
        asked.add_done_callback(functools.partial(_as_results, answer))
        return answer

    def say(self, message: dict[str, Any]) -> None:
        text = json.dumps(message)
        if len(text) > LONGEST_LINE:
            raise TooLarge(next(iter(message)), len(text), LONGEST_LINE)
        with self._lock:
            self._spoken.write(text + "\n")
            self._spoken.flush()

    def hear(self, heard: TextIO) -> None:
        """Hand out answers until the worker is gone; then nobody wants this run any more."""
        for line in heard:
            answer = json.loads(line)
            asked = self._asked.pop(answer["number"])
            if "error" in answer:
                asked.set_exception(RuntimeError(answer["error"]["message"]))
            else:
                asked.set_result(answer["answer"])
        os.killpg(0, signal.SIGKILL)

    def _ask(self, question: dict[str, Any]) -> Future[Any]:
        number = next(self._numbers)
        answer: Future[Any] = Future()
        self._asked[number] = answer
        self.say({**question, "number": number})
        return answer


def _as_results(answer: Future[Results], asked: Future[Any]) -> None:
    if error := asked.exception():
        answer.set_exception(error)
    else:
        answer.set_result(Results(*asked.result()))


def main() -> None:
    spoken, heard = _own_pipes()
    order = json.loads(heard.readline())
    sys.path[:] = order["path"]
    key = TaskKey(*order["task"].pop("key"))
    task = ClaimedTask(key=key, **order["task"])
    desk = PipeReporter(spoken)
    threading.Thread(target=desk.hear, args=[heard], daemon=True).start()
    _report(_attempt(task, order["call"], desk), desk)
    sys.stderr.flush()
    os.killpg(0, signal.SIGKILL)  # whatever the handler has left running ends with it


def _own_pipes() -> tuple[TextIO, TextIO]:
    """Keep stdin and stdout for the worker: what a handler prints goes to stderr, and it has nothing to read."""
    spoken, heard = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(0))
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    return spoken, heard


def _attempt(task: ClaimedTask, place: dict[str, str], desk: PipeReporter) -> Ended:
    try:
        call = _found(place)
        if inspect.iscoroutinefunction(call):
            return done(task, asyncio.run(call(Run(task, desk))))
        return done(task, call(BlockingRun(task, desk)))
    except BaseException as raised:  # noqa: BLE001 - whatever a handler raises, SystemExit too, is its failure
        return judged(task, raised)


def _found(place: dict[str, str]) -> Callable[[Any], Any]:
    """The handler. While its module is loaded, nothing may be opened: a script without a guard would run again here."""
    os.environ[LOADING_VARIABLE] = "loading"
    try:
        return _loaded(place)
    except InvalidRequest as refused:
        raise Fail(str(refused)) from refused
    finally:
        del os.environ[LOADING_VARIABLE]


def _loaded(place: dict[str, str]) -> Callable[[Any], Any]:
    if "module" in place:
        found: Any = importlib.import_module(place["module"])
        for name in place["name"].split("."):
            found = getattr(found, name)
    else:
        found = runpy.run_path(place["file"], run_name="__reelstate_child__")[place["name"]]
    return found  # type: ignore[no-any-return]  # what a name stands for in the user's module is not known here


def _report(ended: Ended, desk: PipeReporter) -> None:
    names = [field.name for field in dataclasses.fields(ended) if field.name not in {"key", "token"}]
    fields = {name: getattr(ended, name) for name in names}
    try:
        desk.say({"completed" if isinstance(ended, Completion) else "failed": fields})
    except TooLarge as error:
        desk.say({"failed": {"error": f"the result {error.message.partition(': ')[2]}", "retryable": False}})
    except (TypeError, ValueError, RecursionError) as error:
        desk.say({"failed": {"error": f"the result is not JSON: {error}", "retryable": False}})


if __name__ == "__main__":
    main()
