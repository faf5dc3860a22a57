"""The child process of `process.py`: runs one attempt of one task and exits."""

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
from reelstate.core.outcome import Fail, RunOutcome, completion, outcome_of
from reelstate.core.step import normalise_step
from reelstate.telemetry.logs import LogSetup, job_log, log_fields, set_up
from reelstate.telemetry.trace_context import parse_text, running_in
from reelstate.worker.process import LOADING_VARIABLE
from reelstate.worker.run import MAX_PIPE_MESSAGE, BlockingRun, Results, Run


class PipeReporter:
    """Sends reports and requests to the worker through a pipe; a thread reads the answers."""

    def __init__(self, pipe: TextIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._requests: dict[int, Future[Any]] = {}

    def note(self, percent: float | None, message: str | None, step: str | None) -> None:
        self.send({"note": [percent, message, step]})

    def log(self, line: LogLine) -> None:
        self.send({"log": dataclasses.asdict(line)})

    def step(self, step: Step) -> None:
        self.send({"step": dataclasses.asdict(normalise_step(step, LIMITS))})

    def state(self, state: TaskState) -> None:
        self.send({"state": dataclasses.asdict(states.normalise_state(state, LIMITS))})

    def save(self, checkpoint: Json) -> Future[None]:
        return self._request({"save": checkpoint})

    def results(self, stage: str, after: str | None) -> Future[Results]:
        results: Future[Results] = Future()
        self._request({"results": [stage, after]}).add_done_callback(functools.partial(_set_results, results))
        return results

    def send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message)
        if len(text) > MAX_PIPE_MESSAGE:
            raise TooLarge(next(iter(message)), len(text), MAX_PIPE_MESSAGE)
        with self._lock:
            self._pipe.write(text + "\n")
            self._pipe.flush()

    def read_answers(self, pipe: TextIO) -> None:
        """Resolve requests until the worker closes the pipe or dies; then kill this process group."""
        for line in pipe:
            answer = json.loads(line)
            request = self._requests.pop(answer["number"])
            if "error" in answer:
                request.set_exception(RuntimeError(answer["error"]["message"]))
            else:
                request.set_result(answer["answer"])
        os.killpg(0, signal.SIGKILL)

    def _request(self, message: dict[str, Any]) -> Future[Any]:
        number = next(self._numbers)
        answer: Future[Any] = Future()
        self._requests[number] = answer
        self.send({**message, "number": number})
        return answer


def _set_results(results: Future[Results], answer: Future[Any]) -> None:
    if error := answer.exception():
        results.set_exception(error)
    else:
        results.set_result(Results(*answer.result()))


def main() -> None:
    outgoing, incoming = _take_over_pipes()
    order = json.loads(incoming.readline())
    sys.path[:] = order["path"]
    key = TaskKey(*order["task"].pop("key"))
    task = ClaimedTask(key=key, **order["task"])
    reporter = PipeReporter(outgoing)
    threading.Thread(target=reporter.read_answers, args=[incoming], daemon=True).start()
    if order["logging"] is not None:
        set_up(LogSetup(**order["logging"]))
    with log_fields(**order["log_fields"]), running_in(parse_text(order["trace"])), job_log(reporter.log):
        outcome = _attempt(task, order["handler"], reporter)
    _send_outcome(outcome, reporter)
    sys.stderr.flush()
    os.killpg(0, signal.SIGKILL)  # kills what the handler has left running, too


def _take_over_pipes() -> tuple[TextIO, TextIO]:
    """Reserve stdin and stdout for the worker: what a handler prints goes to stderr, and its stdin is empty."""
    outgoing, incoming = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(0))
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return outgoing, incoming


def _attempt(task: ClaimedTask, location: dict[str, str], reporter: PipeReporter) -> RunOutcome:
    try:
        call = _load_handler(location)
        if inspect.iscoroutinefunction(call):
            return completion(task, asyncio.run(call(Run(task, reporter))))
        return completion(task, call(BlockingRun(task, reporter)))
    except BaseException as raised:  # noqa: BLE001 - whatever a handler raises, SystemExit too, is its failure
        return outcome_of(task, raised)


def _load_handler(location: dict[str, str]) -> Callable[[Any], Any]:
    """Import the handler. Meanwhile no engine may be opened: a script without a `__main__` guard would run again."""
    os.environ[LOADING_VARIABLE] = "loading"
    try:
        if "module" not in location:
            loaded: Any = runpy.run_path(location["file"], run_name="__reelstate_child__")[location["name"]]
        else:
            loaded = importlib.import_module(location["module"])
            for name in location["name"].split("."):
                loaded = getattr(loaded, name)
    except InvalidRequest as refused:
        raise Fail(str(refused)) from refused
    finally:
        del os.environ[LOADING_VARIABLE]
    return loaded  # type: ignore[no-any-return]  # the type of a name in the user's module is not known here


def _send_outcome(outcome: RunOutcome, reporter: PipeReporter) -> None:
    names = [field.name for field in dataclasses.fields(outcome) if field.name not in {"key", "token"}]
    fields = {name: getattr(outcome, name) for name in names}
    try:
        reporter.send({"completed" if isinstance(outcome, Completion) else "failed": fields})
    except TooLarge as error:
        reporter.send({"failed": {"error": f"the result {error.message.partition(': ')[2]}", "retryable": False}})
    except (TypeError, ValueError, RecursionError) as error:
        reporter.send({"failed": {"error": f"the result is not JSON: {error}", "retryable": False}})


if __name__ == "__main__":
    main()
