import ast
import asyncio
import contextlib
import inspect
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.errors import InvalidRequest, NotFound, StoreUnavailable, WaitTimeout
from reelstate.core.model import JobDetail
from reelstate.engine import Engine
from reelstate.runtime.loop_thread import StepwiseIterator
from reelstate.runtime.verbs import Noun
from tests.engines import FAN, SIMPLE, done
from tests.waiting import let_others_run, until_true

ROOT = Path(__file__).parents[1]


@pytest.fixture
def reel(database_url: str) -> Iterator[rs.BlockingReel]:
    with rs.connect(database_url, pipelines=[SIMPLE, FAN]) as made:
        yield made


def finish_one(reel: rs.BlockingReel) -> None:
    async def work(engine: Engine) -> list[rs.Verdict]:
        worker = await engine.register("worker", hostname="host", software="test")
        (task,) = (await engine.claim(worker)).tasks
        return await engine.complete([done(task)])

    assert reel.run(work) == [rs.Verdict.OK]


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "reelstate"]


@contextlib.contextmanager
def script(source: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program that shows what it prints line by line; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-c", source, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def verbs(nouns: object) -> dict[str, Any]:
    """The verbs of a noun and of the nouns in it, by their path."""
    found = {name: getattr(nouns, name) for name in dir(nouns) if not name.startswith("_")}
    inner = [(name, value) for name, value in found.items() if isinstance(value, Noun)]
    called = {name: value for name, value in found.items() if callable(value)}
    return called | {f"{name}.{path}": verb for name, noun in inner for path, verb in verbs(noun).items()}


async def test_both_kinds_have_the_same_verbs() -> None:
    async with rs.open("sqlite://") as one:
        awaited = verbs(one)
    with rs.connect("sqlite://") as other:
        blocking = verbs(other)
    assert len(awaited) > 50
    assert blocking.keys() - awaited.keys() == {"close", "run"}
    for path, verb in awaited.items():
        assert inspect.signature(blocking[path]) == inspect.signature(verb), path
        assert blocking[path].__doc__ == verb.__doc__, path
        assert inspect.iscoroutinefunction(verb) or "AsyncGenerator" in str(inspect.signature(verb)), path
        assert not inspect.iscoroutinefunction(blocking[path]), path


def test_every_verb_says_what_it_does() -> None:
    with rs.connect("sqlite://") as reel:
        assert [path for path, verb in verbs(reel).items() if not verb.__doc__] == []


def test_connect_takes_what_open_takes() -> None:
    assert inspect.signature(rs.connect) == inspect.signature(rs.open)


def test_a_job_from_submit_to_completion(reel: rs.BlockingReel) -> None:
    job = reel.submit("simple", {"a": 1}, priority=7)
    finish_one(reel)
    detail = reel.wait(job.job_id, timeout=300)
    assert isinstance(detail, JobDetail)
    assert (detail.job.status, detail.job.spec, detail.job.priority) == ("completed", {"a": 1}, 7)


def test_watch_is_an_iterator_that_ends(reel: rs.BlockingReel) -> None:
    job = reel.submit("simple")
    events = reel.watch(job.job_id)
    assert next(events).target == "pending"
    finish_one(reel)
    assert [event.target for event in events if event.entity == "job"][-1] == "completed"


def test_an_iterator_that_is_left_early_stops_listening(reel: rs.BlockingReel) -> None:
    job = reel.submit("simple")
    for _ in reel.watch(job.job_id):
        break

    async def has_listeners(engine: Engine) -> bool:
        return bool(engine.dispatch._local.has_listeners)  # type: ignore[attr-defined]

    assert not reel.run(has_listeners)


async def test_closing_an_iterator_waits_for_a_step_that_was_interrupted() -> None:
    begun, cleaned = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncGenerator[int, None]:
        try:
            begun.set()
            await asyncio.Event().wait()
            yield 1
        finally:
            await let_others_run(10)
            cleaned.set()

    steps = StepwiseIterator(slow)
    step = asyncio.create_task(steps.next())
    await begun.wait()
    step.cancel()
    await steps.close()
    assert cleaned.is_set()


def test_errors_are_raised_to_the_caller(reel: rs.BlockingReel) -> None:
    with pytest.raises(NotFound):
        reel.jobs.get(7)
    with pytest.raises(NotFound):
        list(reel.watch(7))
    with pytest.raises(WaitTimeout):
        reel.wait(reel.submit("simple").job_id, timeout=0)
    with pytest.raises(TypeError):
        reel.jobs.get()  # type: ignore[call-arg]
    assert reel.jobs.list().items, "and it goes on"


def test_a_connection_without_the_code_checks_specs(reel: rs.BlockingReel, database_url: str) -> None:
    reel.pipelines.declare(rs.Graph.of("shots", [rs.StageSpec(name="grab")], spec={"required": ["video"]}))
    with rs.connect(database_url) as elsewhere, pytest.raises(InvalidRequest, match=r"spec\.video: is missing"):
        elsewhere.submit("shots", {"video_file": "a.mp4"})


def test_many_threads_may_call_at_once(reel: rs.BlockingReel) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: reel.submit("simple", {"n": number}), range(80)))
    assert len({answer.job_id for answer in answers}) == 80
    assert len(reel.jobs.list(limit=100).items) == 80


def test_it_may_be_closed_without_with_and_twice(database_url: str) -> None:
    reel = rs.connect(database_url, pipelines=[SIMPLE])
    reel.submit("simple")
    assert threads() == ["reelstate"]
    reel.close()
    reel.close()
    assert threads() == []
    with pytest.raises(StoreUnavailable, match="closed"):
        reel.jobs.list()
    with pytest.raises(StoreUnavailable, match="closed"):
        list(reel.watch(1))


def test_closing_ends_the_calls_of_other_threads(database_url: str) -> None:
    reel = rs.connect(database_url, pipelines=[SIMPLE])
    job = reel.submit("simple")
    events = reel.watch(job.job_id)
    assert [next(events).entity for _ in range(2)] == ["job", "stage"]
    with ThreadPoolExecutor(2) as pool:
        calls: list[Future[Any]] = [pool.submit(reel.wait, job.job_id), pool.submit(list, events)]
        until_true(lambda: begun(reel) == {"Engine.wait", "StepwiseIterator.next"})
        reel.close()
        for call in calls:
            with pytest.raises(StoreUnavailable):
                call.result(timeout=300)


def begun(reel: rs.BlockingReel) -> set[str]:
    """Return the calls that run on the reel's loop."""

    async def names(_: Engine) -> set[str]:
        running = {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
        return {name for name in running if name.startswith(("Engine.", "StepwiseIterator."))}

    return reel.run(names)


def test_a_failed_open_is_reported_at_once_and_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="folder"):
        rs.connect(f"sqlite:///{tmp_path}/nowhere/jobs.db")
    with pytest.raises(InvalidRequest, match="unknown kind of store"):
        rs.connect("mysql://host/name")
    until_true(lambda: not threads(), "its threads end")


def test_a_call_from_its_own_loop_is_refused_instead_of_waiting_for_itself(reel: rs.BlockingReel) -> None:
    async def misuse(_: Engine) -> None:
        reel.jobs.list()

    with pytest.raises(InvalidRequest, match="its own loop"):
        reel.run(misuse)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_must_open_its_own_connection(reel: rs.BlockingReel) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            reel.jobs.list()
        except StoreUnavailable as error:
            os.write(writer, str(error).encode())
        reel.close()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert "forked" in pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert reel.jobs.list().items == []


INTERRUPTED = """
import sys
import reelstate as rs
from tests.engines import SIMPLE

reel = rs.connect(sys.argv[1], pipelines=[SIMPLE])
job = reel.submit("simple")
try:
    print("waiting")
    {call}
except KeyboardInterrupt:
    print("interrupted")
print(reel.jobs.get(job.job_id).job.status)
reel.close()
print("closed")
"""


@pytest.mark.parametrize("call", ["reel.wait(job.job_id)", "list(reel.watch(job.job_id))"])
def test_an_interrupt_ends_the_call_and_not_the_connection(database_url: str, call: str) -> None:
    with script(INTERRUPTED.format(call=call), database_url) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.2)  # there is no signal for "now it is inside the call"
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=300)
    assert printed.splitlines() == ["interrupted", "pending", "closed"], errors


FORGOTTEN = """
import sys
import reelstate as rs
from tests.engines import SIMPLE

reel = rs.connect(sys.argv[1], pipelines=[SIMPLE])
reel.submit("simple")
events = reel.watch(1)
real = reel._loop._finished.set_result
reel._loop._finished.set_result = lambda result: (print("closed"), real(result))
"""


def test_an_unclosed_connection_is_closed_when_the_program_ends(database_url: str) -> None:
    with script(FORGOTTEN, database_url) as process:
        printed, errors = process.communicate(timeout=300)
    assert (process.returncode, printed, errors) == (0, "closed\n", "")


GUIDE = ROOT / "docs" / "guides" / "scripts-and-web-apps.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_of_the_guide_compile_and_use_existing_names(program: str) -> None:
    tree = ast.parse(program)
    compile(tree, "guide", "exec")
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    ours = [node.attr for node in named if ast.unparse(node.value) in {"reel", "reel()"}]
    with rs.connect("sqlite://") as reel:
        assert [name for name in ours if not hasattr(reel, name)] == []
    assert [node.attr for node in named if ast.unparse(node.value) == "rs" and not hasattr(rs, node.attr)] == []


def test_the_guide_shows_a_script_a_watch_django_and_flask() -> None:
    assert len(PROGRAMS) == 5
