"""Tracing: a sink that turns facts into spans, and sends them with the SDK of OpenTelemetry where that is set up.

```text
 POST /api/jobs (SERVER) ─▶ send transcode (PRODUCER) ─▶ job transcode ─▶ stage encode
   ─▶ process transcode/encode (CONSUMER), one for each attempt ─▶ ffmpeg (CLIENT)
```

A span is sent when it is over, by the process that knows: a job by the one that ends it, an attempt by its worker, a
lost attempt by the keeper that takes its lease back. The SDK is imported by `tracing` only.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import JobStatus
from reelstate.core.model import Json
from reelstate.core.outcome import mask_passwords
from reelstate.telemetry import facts
from reelstate.telemetry.trace_context import (
    SAMPLED,
    TraceContext,
    attempt_span,
    current_context,
    job_span,
    keeps_part,
    new_span_id,
    new_trace_id,
    parse_text,
    stage_span,
)

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import SpanContext

logger = logging.getLogger("reelstate.telemetry")

SYSTEM: Final = "reelstate"
SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds for the last spans to be sent when the process ends."""
PARTS_PER_STAGE: Final = 100
MAX_MESSAGE: Final = 500
SERVER_ERROR: Final = 500
UNHARMED: Final = frozenset({"completed", "skipped", "released", "cancelled"})
"""Outcomes of attempts that are no errors."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_active: Tracing | None = None


class Sending(NamedTuple):
    """The spans of a submission while it is written."""

    parent: TraceContext | None
    span: TraceContext | None
    """None where no spans are sent: jobs then belong to the trace of their submitter."""
    jobs: Sequence[TraceContext | None]
    """The context that each job keeps."""
    began: float

    @property
    def seconds(self) -> float:
        return time.time() - self.began


def is_tracing() -> bool:
    """Whether this process sends spans."""
    return _active is not None


def start_sending(number: int) -> Sending | None:
    """Return the contexts of new jobs; None where there is no trace.

    A job is part of the trace of its submitter. Of many that are submitted at once, each gets a trace of its own that
    is linked to the submitter's.
    """
    parent = current_context()
    if _active is None:
        return None if parent is None else Sending(parent, None, [parent] * number, 0.0)
    span = _active.start(parent)
    jobs = [span] if number == 1 else [_active.start(None, sampled=span.sampled) for _ in range(number)]
    return Sending(parent, span, jobs, time.time())


def start_request(method: str, parent: TraceContext | None, *, polled: bool) -> TraceContext | None:
    """Return the span of a request; None for one that belongs to no trace and changes nothing, or is `polled`."""
    if _active is None:
        return parent
    if parent is None and (polled or method in SAFE_METHODS):
        return None
    return _active.start(parent)


def attempt_context(trace: str | None, job_id: int, stage: int, part: int, token: int) -> TraceContext | None:
    """Return the span of an attempt; not sampled for a part that is left out of the trace."""
    context = parse_text(trace)
    if context is None:
        return None
    parts = PARTS_PER_STAGE if _active is None else _active.parts_per_stage
    span = attempt_span(context, job_id, stage, part, token)
    return span.child(span.span_id, sampled=keeps_part(part, parts))


class Tracing:
    """Receives the facts of a process and gives a span of each that belongs to a sampled trace to a processor."""

    def __init__(
        self, provider: TracerProvider, processor: SpanProcessor, *, parts_per_stage: int = PARTS_PER_STAGE
    ) -> None:
        """`provider` has the sampler and the description of this process."""
        self.parts_per_stage = parts_per_stage
        self._provider = provider
        self._processor = processor
        self._handlers: dict[type, Callable[[Any], None]] = {
            facts.JobsSent: self._on_sent,
            facts.JobEnded: self._on_job,
            facts.StageEnded: self._on_stage,
            facts.AttemptRecorded: self._on_attempt,
            facts.ToolExited: self._on_command,
            facts.RequestAnswered: self._on_request,
        }

    def __call__(self, fact: facts.Fact) -> None:
        """Send the span of a fact, if it has one; safe from any thread."""
        handler = self._handlers.get(type(fact))
        if handler is not None:
            handler(fact)

    def start(self, parent: TraceContext | None, *, sampled: bool = True) -> TraceContext:
        """Return the context of a new span; without a parent the sampler decides on its trace."""
        from opentelemetry import trace  # noqa: PLC0415 - see the module's docstring
        from opentelemetry.sdk.trace.sampling import Decision  # noqa: PLC0415 - same

        trace_id = new_trace_id() if parent is None else parent.trace_id
        around = None if parent is None else trace.set_span_in_context(trace.NonRecordingSpan(_span_context(parent)))
        decision = self._provider.sampler.should_sample(around, trace_id, SYSTEM).decision
        state = "" if parent is None else parent.state
        return TraceContext(trace_id, new_span_id(), sampled and decision is Decision.RECORD_AND_SAMPLE, state)

    def _on_sent(self, fact: facts.JobsSent) -> None:
        name = fact.jobs[0].pipeline if len({job.pipeline for job in fact.jobs}) == 1 else "jobs"
        many = len(fact.jobs) > 1
        attributes = _message("send", "send", name)
        if many:
            attributes["messaging.batch.message_count"] = len(fact.jobs)
        else:
            attributes["reelstate.job.id"] = fact.jobs[0].job_id
        kind = "CLIENT" if many else "PRODUCER"
        self._send(f"send {name}", kind, fact.span, fact.parent, attributes, seconds=fact.seconds)
        if not many:
            return
        for job in fact.jobs:
            context = parse_text(job.trace)
            if context is not None:
                attributes = _message("create", "create", job.pipeline) | {"reelstate.job.id": job.job_id}
                self._send(
                    f"create {job.pipeline}", "PRODUCER", context, None, attributes, seconds=fact.seconds,
                    link=fact.span,
                )  # fmt: skip

    def _on_job(self, fact: facts.JobEnded) -> None:
        job, context = fact.job, None if fact.job is None else parse_text(fact.job.trace)
        if job is None or context is None:
            return
        attributes = {
            "reelstate.job.id": job.job_id,
            "reelstate.pipeline": job.pipeline,
            "reelstate.job.status": fact.status,
        }
        failed = fact.status in (JobStatus.FAILED, JobStatus.QUARANTINED)
        error = (fact.error or {"type": fact.status}) if failed else None
        span = job_span(context, job.job_id)
        self._send(f"job {job.pipeline}", "INTERNAL", span, context, attributes, seconds=fact.seconds, error=error)

    def _on_stage(self, fact: facts.StageEnded) -> None:
        job, context = fact.job, parse_text(fact.job.trace)
        if context is None:
            return
        attributes = {
            "reelstate.job.id": job.job_id,
            "reelstate.pipeline": job.pipeline,
            "reelstate.stage": fact.name,
            "reelstate.phase": fact.phase,
            "reelstate.parts": fact.parts,
            "reelstate.parts.failed": fact.failed,
        }
        error = {"type": "failed", "message": f"{fact.failed} parts failed"} if fact.failed else None
        span, parent = stage_span(context, job.job_id, fact.stage), job_span(context, job.job_id)
        self._send(f"stage {fact.name}", "INTERNAL", span, parent, attributes, seconds=fact.seconds, error=error)

    def _on_attempt(self, fact: facts.AttemptRecorded) -> None:
        job, context = fact.job, parse_text(fact.job.trace)
        harmed = fact.outcome not in UNHARMED
        if context is None or not (harmed or keeps_part(fact.part, self.parts_per_stage)):
            return
        attributes = _message("process", "process", f"{job.pipeline}/{fact.name}") | {
            "reelstate.job.id": job.job_id,
            "reelstate.pipeline": job.pipeline,
            "reelstate.stage": fact.name,
            "reelstate.part": fact.part,
            "reelstate.token": fact.token,
            "reelstate.attempt": fact.attempt,
            "reelstate.worker": fact.worker,
            "reelstate.outcome": fact.outcome,
        }
        error = (fact.error or {"type": fact.outcome}) if harmed else None
        self._send(
            f"process {job.pipeline}/{fact.name}",
            "CONSUMER",
            attempt_span(context, job.job_id, fact.stage, fact.part, fact.token),
            stage_span(context, job.job_id, fact.stage),
            attributes,
            seconds=fact.seconds,
            ended=fact.ended,
            error=error,
        )

    def _on_command(self, fact: facts.ToolExited) -> None:
        parent = current_context()
        if parent is None:
            return
        attributes: dict[str, Any] = {"process.executable.name": fact.program, "reelstate.exit_cause": fact.cause}
        if fact.exit_code is not None:
            attributes["process.exit.code"] = fact.exit_code
        attributes |= {f"reelstate.{name}": value for name, value in fact.ids.items()}
        error = None if fact.cause == "ok" else {"type": fact.cause}
        span = parent.child(new_span_id())
        name = fact.program.partition("-")[0]  # the file of a static build has its version in its name
        self._send(name, "CLIENT", span, parent, attributes, seconds=fact.seconds, error=error)

    def _on_request(self, fact: facts.RequestAnswered) -> None:
        if fact.span is None:
            return
        attributes = {
            "http.request.method": fact.method,
            "http.route": fact.route,
            "http.response.status_code": fact.status,
        }
        error = {"type": str(fact.status)} if fact.status >= SERVER_ERROR or not fact.status else None
        name = f"{fact.method} {fact.route}"
        self._send(name, "SERVER", fact.span, fact.parent, attributes, seconds=fact.seconds, error=error)

    def _send(
        self,
        name: str,
        kind: str,
        span: TraceContext,
        parent: TraceContext | None,
        attributes: Mapping[str, Any],
        *,
        seconds: float,
        ended: float | None = None,
        error: Json = None,
        link: TraceContext | None = None,
    ) -> None:
        """Send a span that ended now, or at `ended`, and took some seconds; with an error it has failed."""
        if not span.sampled:
            return
        from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415 - see the module's docstring
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - same
        from opentelemetry.trace import Link, SpanKind, Status, StatusCode  # noqa: PLC0415 - same

        end = time.time() if ended is None else ended
        status = Status()
        if error is not None:
            kind_of_error, message = _describe(error)
            attributes = {**attributes, "error.type": kind_of_error}
            status = Status(StatusCode.ERROR, message)
        self._processor.on_end(
            ReadableSpan(
                name,
                context=_span_context(span),
                parent=None if parent is None else _span_context(parent),
                resource=self._provider.resource,
                attributes=attributes,
                links=() if link is None else (Link(_span_context(link)),),
                kind=SpanKind[kind],
                status=status,
                start_time=int((end - max(0.0, seconds)) * 1e9),
                end_time=int(end * 1e9),
                instrumentation_scope=InstrumentationScope(SYSTEM),
            )
        )


def _message(name: str, kind: str, destination: str) -> dict[str, Any]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": destination,
    }


def _describe(error: Json) -> tuple[str, str]:
    """Return the type and the message of an error; that of a job has the error of its task as its cause."""
    if not isinstance(error, dict):
        return "error", mask_passwords(str(error))[:MAX_MESSAGE]
    cause = error.get("cause")
    if isinstance(cause, dict):
        return _describe(cause)
    kind = str(error.get("type") or "error")[:MAX_MESSAGE]
    return kind, mask_passwords(str(error.get("message") or kind))[:MAX_MESSAGE]


def _span_context(context: TraceContext) -> SpanContext:
    from opentelemetry import trace  # noqa: PLC0415 - see the module's docstring

    return trace.SpanContext(
        context.trace_id,
        context.span_id,
        is_remote=True,
        trace_flags=trace.TraceFlags(SAMPLED if context.sampled else 0),
        trace_state=trace.TraceState.from_header([context.state]),
    )


@contextmanager
def sending_to(
    processor: SpanProcessor, provider: TracerProvider, *, parts_per_stage: int = PARTS_PER_STAGE
) -> Iterator[Tracing]:
    """Give the spans of this process to a processor while the context is open."""
    global _active  # noqa: PLW0603 - there is one stream of facts in a process
    tracing = Tracing(provider, processor, parts_per_stage=parts_per_stage)
    before, _active = _active, tracing
    facts.add_sink(tracing)
    try:
        yield tracing
    finally:
        facts.remove_sink(tracing)
        _active = before


@contextmanager
def exporting_traces(service: str, *, handlers: bool = False, parts_per_stage: int = PARTS_PER_STAGE) -> Iterator[None]:
    """Send the spans of this process to a collector while the context is open; `OTEL_…` variables say where.

    With `handlers`, what handlers start with OpenTelemetry is sent too, unless their application has set up a provider;
    in a server that would be spans of its web framework for every poll. Raises `InvalidRequest` where the SDK is not
    installed.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 - slow to load, and absent without the extra
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - same
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - same
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - same
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - same
    except ImportError as error:
        raise InvalidRequest(
            "traces", f"the SDK of OpenTelemetry is missing: {error}", hint="pip install 'reelstate[otel]'"
        ) from error
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if named else {"service.name": service})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # that would wait for the collector
    processor = BatchSpanProcessor(OTLPSpanExporter())
    provider.add_span_processor(processor)
    if handlers and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(provider)
    logger.info("traces sent service=%s", provider.resource.attributes.get("service.name"))
    try:
        with sending_to(processor, provider, parts_per_stage=parts_per_stage):
            yield
    finally:
        _shut_down(provider)


def _shut_down(provider: TracerProvider) -> None:
    """Send the last spans, but do not let an unreachable collector hold up the end of the process."""
    thread = threading.Thread(target=provider.shutdown, name="reelstate traces", daemon=True)
    thread.start()
    thread.join(SHUTDOWN_TIMEOUT)
    if thread.is_alive():
        logger.warning("last traces not sent seconds=%.0f hint=check OTEL_EXPORTER_OTLP_ENDPOINT", SHUTDOWN_TIMEOUT)
