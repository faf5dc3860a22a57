"""Handlers that run in processes, in a module that a child process can import."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from opentelemetry import trace

import reelstate as rs
from reelstate.worker.run import MAX_PIPE_MESSAGE
from tests.waiting import block_forever

BLOCK = 1024 * 1024

heavy = rs.Pipeline("heavy")


@heavy.stage
def plan(task: rs.BlockingRun) -> dict[str, int]:
    return {"parts": 3}


@heavy.stage(after=plan, each="plan.parts", process=True)
def cut(task: rs.BlockingRun) -> dict[str, object]:
    print("a handler may print")  # noqa: T201 - that is the point
    task.progress(50, "half way", checkpoint={"part": task.part})
    task.log("cutting", level="warning", part=task.part)
    task.step(["cut", f"{task.part}"], exit_code=0, seconds=1)
    return {"part": task.input, "pid": os.getpid(), "plan": task.result(plan)}


@heavy.stage(after=cut, process=True)
async def pack(task: rs.Run) -> list[int]:
    await task.progress(10, checkpoint={"packed": True})
    return [part["part"] async for part in task.results(cut)]


traced = rs.Pipeline("traced")


@traced.stage(process=True)
def span(task: rs.BlockingRun) -> list[str]:
    current = trace.get_current_span().get_span_context()
    return [f"{current.trace_id:x}", f"{current.span_id:x}"]


fragile = rs.Pipeline("fragile")


@fragile.stage(process=True, attempts=1)
def step(task: rs.BlockingRun) -> object:
    match task.spec["how"]:
        case "raise":
            raise rs.Fail("no such video")
        case "die":
            sys.stderr.write("last line of stderr\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            sys.exit(3)
        case "not json":
            return {1, 2}
        case "much stderr":
            for _ in range(2 * MAX_PIPE_MESSAGE // BLOCK):
                sys.stderr.write("." * BLOCK)
            return "done"
        case "left behind":
            daemon = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            Path(task.spec["pid"]).write_text(str(daemon.pid))
            return "done"
        case "left behind, then exits":
            forked = os.fork()
            if not forked:
                os.setsid()
                block_forever()
            Path(task.spec["pid"]).write_text(str(forked))
            os._exit(7)
        case "too large":
            return "." * MAX_PIPE_MESSAGE
        case "not serializable":
            return threading.Lock()
        case "signal without a name":
            os.kill(os.getpid(), 40)
        case "hang":
            child = subprocess.Popen(["sleep", "1000"])
            Path(task.spec["pids"]).write_text(f"{os.getpid()} {child.pid}")
            block_forever()
    return None


reporting = rs.Pipeline("reporting")


@reporting.stage(process=True)
def report_states(task: rs.BlockingRun) -> None:
    task.state("ingest", 1, "begun", payload={"files": 2})
    task.warning("ingest", "slow")
    task.state("export", -5, "no disk")
    task.state("ingest", 2**31 - 1)


endless = rs.Pipeline("endless")


@endless.stage(process=True, timeout=0.3, attempts=1)
def wait_forever(task: rs.BlockingRun) -> None:
    block_forever()
