"""Spans of jobs, stages, attempts and requests, as an exporter in memory receives them from the SDK."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import attach, detach
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import reelstate as rs
from reelstate.core.model import Submission
from reelstate.engine import Engine
from reelstate.telemetry.trace_context import TraceContext, running_in
from reelstate.telemetry.tracing import sending_to
from tests.api.api_server import api_server
from tests.engines import FakeClock, a_worker, done, engine_at
from tests.manual_sql import ManualSql
from tests.worker.local_workers import engine_for, run_worker, wait_inactive
from tests.worker.process_pipelines import traced

CALLER = TraceContext(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0xF067AA0BA902B7, state="vendor=1")
LEASE = 60.0


class Spans:
    """The spans that were sent, by name."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.processor = SimpleSpanProcessor(self._exporter)

    def all(self, name: str = "") -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(name)]

    def one(self, name: str) -> ReadableSpan:
        (found,) = self.all(name)
        return found


def span_id(span: ReadableSpan) -> int:
    return span.get_span_context().span_id  # type: ignore[union-attr]


def trace_id(span: ReadableSpan) -> int:
    return span.get_span_context().trace_id  # type: ignore[union-attr]


def parent_id(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def attribute(span: ReadableSpan, name: str) -> Any:
    return (span.attributes or {}).get(f"reelstate.{name}")


@contextmanager
def recording(**options: Any) -> Iterator[Spans]:
    spans = Spans()
    with sending_to(spans.processor, spans.provider, **options):
        yield spans


@pytest.fixture
def spans() -> Iterator[Spans]:
    with recording() as spans:
        yield spans


async def test_a_job_with_its_stages_and_attempts_is_one_trace(spans: Spans, database_url: str) -> None:
    seen: list[int] = []
    steps = rs.Pipeline("steps")

    @steps.stage
    async def plan(task: rs.Run) -> dict[str, int]:
        seen.append(trace.get_current_span().get_span_context().span_id)
        return {"parts": 2}

    @steps.stage(after=plan, each="plan.parts")
    def cut(task: rs.BlockingRun) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    async with engine_for(database_url, steps) as engine, run_worker(engine, database_url, [steps]):
        with running_in(CALLER):
            job = (await engine.submit("steps")).job_id
        await wait_inactive(engine, job)
    assert {trace_id(span) for span in spans.all()} == {CALLER.trace_id}
    send, root = spans.one("send steps"), spans.one("job steps")
    stages = {attribute(span, "stage"): span for span in spans.all("stage ")}
    attempts = spans.all("process steps/")
    assert (send.kind, parent_id(send)) == (SpanKind.PRODUCER, CALLER.span_id)
    assert parent_id(root) == span_id(send)
    assert {parent_id(span) for span in stages.values()} == {span_id(root)}
    assert sorted((attribute(span, "stage"), attribute(span, "part")) for span in attempts) == [
        ("cut", 0), ("cut", 1), ("plan", 0),
    ]  # fmt: skip
    for span in attempts:
        assert (span.kind, parent_id(span)) == (SpanKind.CONSUMER, span_id(stages[attribute(span, "stage")]))
        assert (attribute(span, "job.id"), attribute(span, "token"), attribute(span, "attempt")) == (job, 1, 1)
        assert (attribute(span, "worker"), attribute(span, "outcome")) == ("worker", "completed")
    assert sorted(seen) == sorted(span_id(span) for span in attempts)
    assert {span.status.status_code for span in spans.all()} == {StatusCode.UNSET}
    assert attribute(stages["cut"], "parts") == 2
    assert all(span.start_time <= span.end_time for span in spans.all())  # type: ignore[operator]
    assert len(spans.all()) == 7


async def test_a_job_of_one_task_is_a_trace_of_its_own_without_a_caller(spans: Spans, database_url: str) -> None:
    single = rs.Pipeline("single")

    @single.stage
    async def main(task: rs.Run) -> None: ...

    async with engine_for(database_url, single) as engine, run_worker(engine, database_url, [single]):
        job = (await engine.submit("single")).job_id
        await wait_inactive(engine, job)
    send, root, stage, attempt = (spans.one(name) for name in ("send ", "job ", "stage ", "process "))
    assert [parent_id(span) for span in (send, root, stage, attempt)] == [
        None, span_id(send), span_id(root), span_id(stage),
    ]  # fmt: skip
    assert len({trace_id(span) for span in spans.all()}) == 1


async def test_failed_attempts_and_their_job_end_with_an_error(spans: Spans, database_url: str) -> None:
    breaks = rs.Pipeline("breaks")

    @breaks.stage(attempts=2, backoff=0.0)
    async def main(task: rs.Run) -> None:
        raise ValueError("no such file password=hunter2")

    async with engine_for(database_url, breaks) as engine, run_worker(engine, database_url, [breaks]):
        await wait_inactive(engine, (await engine.submit("breaks")).job_id)
    attempts = spans.all("process ")
    assert [(attribute(span, "attempt"), attribute(span, "outcome")) for span in attempts] == [
        (1, "retried"), (2, "failed"),
    ]  # fmt: skip
    for span in [*attempts, spans.one("job ")]:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "ValueError"
        assert "no such file" in str(span.status.description)
        assert "hunter2" not in str(span.status.description)
    stage = spans.one("stage ")
    assert (stage.status.status_code, parent_id(attempts[0])) == (StatusCode.ERROR, span_id(stage))


async def test_the_keeper_ends_the_span_of_a_lost_attempt_once(spans: Spans, engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    await engine.submit("simple")
    (task,) = (await engine.claim(worker, 1)).tasks
    clock.advance(2 * LEASE)
    await engine.reclaim()
    await engine.reclaim()
    lost = spans.one("process simple/main")
    assert (lost.kind, lost.status.status_code) == (SpanKind.CONSUMER, StatusCode.ERROR)
    assert (lost.attributes or {})["error.type"] == "lost"
    assert (attribute(lost, "outcome"), attribute(lost, "token"), attribute(lost, "attempt")) == ("lease expired", 1, 1)
    assert attribute(lost, "worker") == str(worker)
    assert (lost.end_time - lost.start_time) / 1e9 == pytest.approx(2 * LEASE)  # type: ignore[operator]
    (again,) = (await engine.claim(worker, 1)).tasks
    assert (task.trace, again.token) == (again.trace, 2)
    await engine.complete([done(again)])
    assert parent_id(lost) == span_id(spans.one("stage main"))


async def test_jobs_that_end_before_their_stages_send_them_too(spans: Spans, engine: Engine) -> None:
    job = (await engine.submit("fan")).job_id
    await engine.cancel(job)
    root, stage = spans.one("job fan"), spans.one("stage plan")
    assert (attribute(root, "job.status"), root.status.status_code) == ("cancelled", StatusCode.UNSET)
    assert parent_id(stage) == span_id(root)


async def test_jobs_of_a_batch_have_traces_of_their_own_that_are_linked(spans: Spans, engine: Engine) -> None:
    with running_in(CALLER):
        await engine.submit_many([Submission(pipeline="simple"), Submission(pipeline="simple")])
    send, created = spans.one("send simple"), spans.all("create simple")
    assert (send.kind, parent_id(send), trace_id(send)) == (SpanKind.CLIENT, CALLER.span_id, CALLER.trace_id)
    assert {span.kind for span in created} == {SpanKind.PRODUCER}
    assert len({trace_id(span) for span in (send, *created)}) == 3
    assert {span.links[0].context.span_id for span in created} == {span_id(send)}


async def test_of_many_parts_few_are_sent_but_every_failed_and_lost_one_is(
    engine: Engine, clock: FakeClock, database_url: str
) -> None:
    """The worker of the tasks is inside of the test, so that hundreds of them are quick."""
    parts, bad = 300, {250, 260, 270}
    wide = rs.Pipeline("wide")

    @wide.stage(each="spec.parts", attempts=1, required=False)
    async def work(task: rs.Run) -> None:
        if task.part in bad:
            raise rs.Fail("broken")

    with recording(parts_per_stage=3) as spans:
        async with engine_for(database_url, wide) as made, run_worker(made, database_url, [wide]):
            await wait_inactive(made, (await made.submit("wide", {"parts": parts})).job_id)
        sent = {attribute(span, "part") for span in spans.all("process wide/work")}
        failed = {
            attribute(span, "part") for span in spans.all("process ") if span.status.status_code is StatusCode.ERROR
        }
        assert failed == bad
        assert {0, 1, 2} | bad <= sent
        assert len(sent) < parts / 5
        assert (len(spans.all("stage ")), len(spans.all("job "))) == (1, 1)
        worker = await a_worker(engine)
        await engine.submit("parts", {"parts": list(range(parts))})
        claimed = (await engine.claim(worker, parts)).tasks
        clock.advance(2 * LEASE)
        await engine.reclaim()
        assert len(claimed) == len(spans.all("process parts/part")) == parts


async def test_a_trace_that_is_not_sampled_is_kept_and_sends_nothing(spans: Spans, engine: Engine) -> None:
    with running_in(CALLER._replace(sampled=False)):
        await engine.submit("simple")
    (task,) = (await engine.claim(await a_worker(engine), 1)).tasks
    await engine.complete([done(task)])
    assert task.trace is not None
    assert task.trace.startswith(f"00-{CALLER.trace_id:032x}-")
    assert task.trace.endswith("-00 vendor=1")
    assert spans.all() == []


async def test_a_process_handler_runs_in_the_trace_of_its_job(spans: Spans, database_url: str) -> None:
    async with engine_for(database_url, traced) as engine, run_worker(engine, database_url, [traced]):
        job = (await engine.submit("traced")).job_id
        await wait_inactive(engine, job)
        (seen,) = (await engine.results(job, "span")).items
    ids = (trace_id(spans.one("send ")), span_id(spans.one("process traced/span")))
    assert seen == [f"{each:x}" for each in ids]


async def test_requests_continue_the_trace_of_their_client(spans: Spans, engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url) as api:
        await api.ask("ada", "POST", "/api/v1/jobs", json={"pipeline": "simple"}, headers=CALLER.headers)
        await api.ask("ada", "GET", "/api/v1/jobs", headers=CALLER.headers)
        await api.ask("ada", "GET", "/api/v1/jobs")
    post, get = spans.one("POST /api/v1/jobs"), spans.one("GET /api/v1/jobs")
    assert {post.kind, get.kind} == {SpanKind.SERVER}
    assert {parent_id(post), parent_id(get)} == {CALLER.span_id}
    assert parent_id(spans.one("send simple")) == span_id(post)
    assert (post.attributes or {})["http.response.status_code"] == 201


async def test_a_malformed_traceparent_is_ignored(engine: Engine, database_url: str) -> None:
    malformed = [b"nonsense", b"\xff" * 55, b"x" * 4000, b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01"]
    async with api_server(engine, database_url) as api:
        for traceparent in malformed:
            headers = [(b"traceparent", traceparent), (b"tracestate", b"\xff" * 600)]
            answer = await api.ask("ada", "POST", "/api/v1/jobs", json={"pipeline": "simple"}, headers=headers)
            assert answer.status_code == 201
    assert ManualSql(database_url).run("SELECT trace FROM jobs") == [(None,)] * len(malformed)


async def test_without_an_exporter_a_job_keeps_the_context_of_its_submitter_and_no_baggage(
    engine: Engine, database_url: str
) -> None:
    token = attach(baggage.set_baggage("user", "ada"))
    try:
        with running_in(CALLER):
            await engine.submit("simple")
            await engine.submit_many([Submission(pipeline="simple"), Submission(pipeline="fan")])
    finally:
        detach(token)
    await engine.submit("simple")
    rows = ManualSql(database_url).run("SELECT trace FROM jobs ORDER BY id")
    assert [row[0] for row in rows] == [CALLER.text] * 3 + [None]
    (task,) = (await engine.claim(await a_worker(engine), 1)).tasks
    assert task.trace == CALLER.text


async def test_a_repeated_request_of_another_trace_is_the_same_request(engine: Engine) -> None:
    first = await engine.submit("simple", idempotency_key="key")
    with running_in(CALLER):
        again = await engine.submit("simple", idempotency_key="key")
    assert again.job_id == first.job_id


OFF = """
import asyncio, sys
import reelstate as rs
from reelstate.app import metered, open_engine
from reelstate.config import Settings

async def main():
    single = rs.Pipeline("single")
    async def run(task): ...
    single.stage(name="main")(run)
    settings = Settings(database_url="sqlite://", traces=sys.argv[1])
    with metered(settings):
        async with open_engine("sqlite://", pipelines=[single], workers=1) as engine:
            job = await engine.submit("single")
            await engine.wait(job.job_id)
asyncio.run(main())
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def test_while_traces_are_off_nothing_of_opentelemetry_is_imported() -> None:
    answer = subprocess.run([sys.executable, "-c", OFF, "off"], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_without_the_sdk_the_setting_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['opentelemetry.sdk'] = None\n" + OFF
    answer = subprocess.run([sys.executable, "-c", hidden, "otlp"], capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "pip install 'reelstate[otel]'" in answer.stderr


@pytest.fixture
async def engine(database_url: str, clock: FakeClock) -> Any:
    async with engine_at(database_url, clock) as engine:
        yield engine
