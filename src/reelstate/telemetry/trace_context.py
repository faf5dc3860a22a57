"""The trace that a job, an attempt or a request belongs to, as its W3C headers carry it, and the ids of its spans.

The context of a job is one text in its row: its `traceparent`, and after a space its `tracestate`. Ids of spans are
hashes of what they stand for, so every process knows the span of a job, a stage or an attempt that another one sends.
OpenTelemetry is imported only where a trace is at hand: without one, nothing here costs more than a lookup.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, NamedTuple

from reelstate.telemetry.logs import log_fields

MAX_TRACESTATE: Final = 512
"""Characters of a `tracestate`; a longer one is dropped, as the standard allows."""
MAX_MEMBERS: Final = 32
SAMPLED: Final = 1
_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,200})?", re.ASCII)
_TRACESTATE: Final = re.compile(r"[ -~]*", re.ASCII)
_MEMBER: Final = re.compile(r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[!-+\--<>-~ ]{0,255}[!-+\--<>-~]", re.ASCII)


_NOTHING: Final = nullcontext()


class TraceContext(NamedTuple):
    """A span of a trace: what its children need to know."""

    trace_id: int
    span_id: int
    sampled: bool = True
    state: str = ""

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{SAMPLED if self.sampled else 0:02x}"

    @property
    def text(self) -> str:
        """The context as a row or a message keeps it."""
        return f"{self.traceparent} {self.state}" if self.state else self.traceparent

    @property
    def headers(self) -> dict[str, str]:
        parent = {"traceparent": self.traceparent}
        return {**parent, "tracestate": self.state} if self.state else parent

    def child(self, span_id: int, *, sampled: bool = True) -> TraceContext:
        """Return the context of another span of the trace."""
        return self._replace(span_id=span_id, sampled=self.sampled and sampled)


def parse_context(traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
    """Return the context of two headers; None for a malformed one. A malformed `tracestate` is left out."""
    found = _TRACEPARENT.fullmatch(traceparent or "")
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    sampled = bool(int(flags, 16) & SAMPLED)
    return TraceContext(int(trace_id, 16), int(span_id, 16), sampled, _valid_state(tracestate))


def parse_text(text: str | None) -> TraceContext | None:
    """Return the context that a row or a message keeps; None without one, or for a malformed one."""
    if not text:
        return None
    traceparent, _, tracestate = text.partition(" ")
    return parse_context(traceparent, tracestate)


def read_headers(headers: Iterable[tuple[bytes, bytes]]) -> TraceContext | None:
    """Return the context of a request; None without one, or for a malformed one. Baggage is never read."""
    parents, states = [], []
    for name, value in headers:
        if name == b"traceparent":
            parents.append(value)
        elif name == b"tracestate":
            states.append(value)
    if len(parents) != 1:
        return None
    return parse_context(parents[0].decode("latin-1"), b",".join(states).decode("latin-1"))


def _valid_state(text: str | None) -> str:
    if not text or len(text) > MAX_TRACESTATE or not _TRACESTATE.fullmatch(text):
        return ""
    members = [member.strip() for member in text.split(",") if member.strip()]
    valid = len(members) <= MAX_MEMBERS and all(map(_MEMBER.fullmatch, members))
    return ",".join(members) if valid else ""


def new_trace_id() -> int:
    return random.getrandbits(128) or 1


def new_span_id() -> int:
    return random.getrandbits(64) or 1


def span_id_of(*parts: object) -> int:
    """Return the id of a span that is known by its parts: the same in every process."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") or 1


def job_span(context: TraceContext, job_id: int) -> TraceContext:
    return context.child(span_id_of("job", context.span_id, job_id))


def stage_span(context: TraceContext, job_id: int, stage: int) -> TraceContext:
    return context.child(span_id_of("stage", context.span_id, job_id, stage))


def attempt_span(context: TraceContext, job_id: int, stage: int, part: int, token: int) -> TraceContext:
    return context.child(span_id_of("attempt", context.span_id, job_id, stage, part, token))


def keeps_part(part: int, parts_per_stage: int) -> bool:
    """Return whether the attempts of a part are in the trace of their job.

    All of the first `parts_per_stage` are, about half of as many after them, a third of those after, and so on: with
    100, about 500 of 10,000 parts. With 0 none is.
    """
    if part < parts_per_stage:
        return True
    return parts_per_stage > 0 and span_id_of("part", part) % (part // parts_per_stage + 1) == 0


def current_context() -> TraceContext | None:
    """Return the span in whose context this code runs; None without one."""
    if "opentelemetry.trace" not in sys.modules:  # nothing has set a span
        return None
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - see the module's docstring

    span = get_current_span().get_span_context()
    if not span.is_valid:
        return None
    state = _valid_state(span.trace_state.to_header())
    return TraceContext(span.trace_id, span.span_id, bool(span.trace_flags & SAMPLED), state)


def running_in(context: TraceContext | None) -> AbstractContextManager[None]:
    """Make a span the current one of OpenTelemetry, and add its trace to every line that is logged; None does nothing.

    Spans that a handler or a library starts are its children.
    """
    return _NOTHING if context is None else _running_in(context)


@contextmanager
def _running_in(context: TraceContext) -> Iterator[None]:
    from opentelemetry import trace  # noqa: PLC0415 - see the module's docstring

    span = trace.NonRecordingSpan(
        trace.SpanContext(
            context.trace_id,
            context.span_id,
            is_remote=False,
            trace_flags=trace.TraceFlags(SAMPLED if context.sampled else 0),
            trace_state=trace.TraceState.from_header([context.state]),
        )
    )
    with trace.use_span(span), log_fields(trace_id=f"{context.trace_id:032x}"):
        yield
