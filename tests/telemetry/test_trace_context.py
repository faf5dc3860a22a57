"""The W3C headers of a trace: what is read, what is ignored, and which parts of a stage are kept."""

import pytest

from reelstate.telemetry.trace_context import (
    MAX_TRACESTATE,
    TraceContext,
    attempt_span,
    job_span,
    keeps_part,
    parse_context,
    parse_text,
    read_headers,
    stage_span,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_context_is_read_from_headers_and_from_a_row() -> None:
    headers = [(b"host", b"example"), (b"traceparent", PARENT.encode()), (b"tracestate", b"a=1, b=2")]
    context = read_headers(headers)
    assert context == TraceContext(int(TRACE, 16), int(SPAN, 16), sampled=True, state="a=1,b=2")
    assert context.text == f"{PARENT} a=1,b=2"
    assert parse_text(context.text) == context
    assert context.headers == {"traceparent": PARENT, "tracestate": "a=1,b=2"}


def test_a_later_version_and_an_unsampled_trace_are_read() -> None:
    later = parse_context(f"01-{TRACE}-{SPAN}-00-more")
    assert later == TraceContext(int(TRACE, 16), int(SPAN, 16), sampled=False)
    assert later.traceparent == f"00-{TRACE}-{SPAN}-00"


@pytest.mark.parametrize(
    "malformed",
    [
        "",
        "nonsense",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        PARENT.upper(),
        f"{PARENT}\n",
        f" {PARENT}",
        f"01-{TRACE}-{SPAN}-01-{'x' * 5000}",
        "٠" * 55,
    ],
)
def test_a_malformed_traceparent_is_ignored(malformed: str) -> None:
    assert parse_context(malformed) is None
    assert read_headers([(b"traceparent", malformed.encode())]) is None


def test_two_traceparents_are_ignored() -> None:
    assert read_headers([(b"traceparent", PARENT.encode())] * 2) is None


@pytest.mark.parametrize(
    "malformed",
    ["no equals", "a=1\r\nx: y", f"a={'1' * MAX_TRACESTATE}", "A=1", ",".join(f"k{n}=1" for n in range(33))],
)
def test_a_malformed_tracestate_is_left_out(malformed: str) -> None:
    context = parse_context(PARENT, malformed)
    assert context is not None
    assert context.text == PARENT


def test_ids_of_spans_follow_from_what_they_stand_for() -> None:
    context = TraceContext(1, 2)
    spans = [job_span(context, 5), job_span(context, 6), stage_span(context, 5, 0), attempt_span(context, 5, 0, 0, 1),
             attempt_span(context, 5, 0, 0, 2), attempt_span(context, 5, 0, 1, 1)]  # fmt: skip
    assert len({span.span_id for span in spans}) == len(spans)
    assert {span.trace_id for span in spans} == {1}
    assert job_span(context, 5) == spans[0]


@pytest.mark.parametrize("parts_per_stage", [1, 10, 100])
def test_of_10000_parts_few_are_kept_from_the_first_to_the_last(parts_per_stage: int) -> None:
    kept = [part for part in range(10_000) if keeps_part(part, parts_per_stage)]
    assert kept[:parts_per_stage] == list(range(parts_per_stage))
    assert len(kept) <= 12 * parts_per_stage
    assert any(part > 9_000 for part in kept) or parts_per_stage < 100


def test_with_0_no_part_is_kept() -> None:
    assert not any(keeps_part(part, 0) for part in range(100))
