from collections.abc import Callable
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.errors import InvalidPipeline
from reelstate.pipelines.declaration import Style, stage_name


def nothing(task: Any) -> None:
    """Do nothing; at the top of a module, where a process finds it."""


async def nothing_async(task: Any) -> None:
    """Do nothing, on the loop."""


def test_a_function_becomes_a_stage_under_its_own_name_and_stays_callable() -> None:
    video = rs.Pipeline("video")
    assert video.stage(nothing) is nothing
    assert video.graph == rs.Graph.of("video", [rs.StageSpec(name="nothing")])


def test_the_kind_of_a_handler_decides_where_it_runs() -> None:
    video = rs.Pipeline("video")
    video.stage(name="thread")(nothing)
    video.stage(name="loop")(nothing_async)
    video.stage(name="process", process=True)(nothing)
    styles = {name: handler.style for name, handler in video.handlers.items()}
    assert styles == {"thread": Style.THREAD, "loop": Style.ASYNC, "process": Style.PROCESS}


def test_every_option_reaches_the_graph() -> None:
    video = rs.Pipeline("video")
    video.stage(name="plan", phase="planning")(nothing)
    video.stage(
        name="cut",
        after="plan",
        each="plan.parts",
        phase="processing",
        attempts=5,
        backoff=2,
        lease=30,
        stall_after=20,
        timeout=600,
        needs={"ffmpeg"},
        prefers="gpu",
        weight=8,
        required=False,
        max_lost=2,
        strict_lease=True,
    )(nothing)
    assert video.graph.stages[1] == rs.StageSpec(
        name="cut",
        after=("plan",),
        each="plan.parts",
        attempts=5,
        backoff=rs.Backoff(2, 300),
        lease=30,
        stall_after=20,
        timeout=600,
        needs=frozenset({"ffmpeg"}),
        prefers=frozenset({"gpu"}),
        weight=8,
        required=False,
        max_lost=2,
        strict_lease=True,
    )


def test_a_stage_may_be_named_by_its_function_alone_or_among_others() -> None:
    video = rs.Pipeline("video")

    @video.stage
    def plan(task: Any) -> None: ...

    @video.stage(name="sound", after=plan)
    def other(task: Any) -> None: ...

    video.stage(name="pack", after=[plan, other])(nothing)
    assert video.graph.stages[2].after == ("plan", "sound")
    assert [stage_name(plan), stage_name(other), stage_name("pack")] == ["plan", "sound", "pack"]


def _cycle(video: rs.Pipeline) -> None:
    video.stage(name="cut", after="cut")(nothing)


def _foreign_stage(video: rs.Pipeline) -> None:
    video.stage(name="cut", after=nothing_async)(nothing)


def _nested(video: rs.Pipeline) -> None:
    @video.stage(name="cut", process=True)
    def inner(task: Any) -> None: ...


WRONG: list[tuple[Callable[[rs.Pipeline], Any], str, str]] = [
    (_cycle, "video.cut.after", "waits for itself: cut → cut"),
    (_foreign_stage, "video.cut.after", "'nothing_async' is not a stage of this pipeline"),
    (_nested, "video.cut.process", "a new process can't import it"),
    (lambda video: video.stage(name="cut", after="plam")(nothing), "video.cut.after", "unknown stage 'plam'"),
    (lambda video: video.stage(name="plan")(nothing), "video.plan", "another stage has this name"),
    (lambda video: video.stage(name="Cut")(nothing), "video.Cut", "invalid name 'Cut'"),
    (lambda video: video.stage(name="cut")(lambda: None), "video.cut", "does not take exactly one argument"),  # type: ignore[type-var]
    (lambda video: video.stage(name="cut")(7), "video.cut", "7 is not a function"),  # type: ignore[type-var]
    (lambda video: video.stage(name="cut", leese=3)(nothing), "video.cut.leese", "unknown option"),  # type: ignore[call-overload]
    (lambda video: video.stage(name="cut", phase="encoding")(nothing), "video.cut.phase", "invalid value 'encoding'"),  # type: ignore[call-overload]
    (lambda video: video.stage(name="cut", attempts=0)(nothing), "video.cut.attempts", "invalid value 0"),
    (lambda video: video.stage(name="cut", lease="60")(nothing), "video.cut.lease", "invalid value '60'"),  # type: ignore[call-overload]
    (lambda video: video.stage(name="cut", timeout=-1)(nothing), "video.cut.timeout", "invalid value -1"),
    (lambda video: video.stage(name="cut", needs=3)(nothing), "video.cut.needs", "invalid value 3"),  # type: ignore[call-overload]
    (lambda video: video.stage(name="cut", tags=3)(nothing), "video.cut.tags", "invalid value 3"),  # type: ignore[call-overload]
    (lambda video: video.stage(name="cut", tags="a/b")(nothing), "video.cut.tags", "'a/b' contains a slash"),
    (lambda video: video.stage(name="cut", backoff=-2)(nothing), "video.cut.backoff", "invalid value Backoff(base=-2"),
    (lambda video: video.stage(name="cut", each="plam.parts")(nothing), "video.cut.each", "'plam' is not a stage"),
]


@pytest.mark.parametrize("declare, path, words", WRONG)
def test_a_mistake_is_reported_where_it_is_written(
    declare: Callable[[rs.Pipeline], Any], path: str, words: str
) -> None:
    video = rs.Pipeline("video")
    video.stage(name="plan")(nothing)
    with pytest.raises(InvalidPipeline) as raised:
        declare(video)
    assert raised.value.field == path
    assert words in raised.value.message
    assert raised.value.hint
    assert list(video.handlers) == ["plan"], "what was refused left no trace"


def test_a_pipeline_has_a_name() -> None:
    with pytest.raises(InvalidPipeline, match="invalid name 'Video!'"):
        rs.Pipeline("Video!")
