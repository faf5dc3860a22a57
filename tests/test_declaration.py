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


def test_a_function_becomes_a_stage_under_its_own_name_and_stays_what_it_was() -> None:
    film = rs.Pipeline("film")
    assert film.stage(nothing) is nothing
    assert film.graph == rs.Graph.of("film", [rs.StageSpec(name="nothing")])


def test_where_a_handler_runs_follows_from_what_it_is() -> None:
    film = rs.Pipeline("film")
    film.stage(name="thread")(nothing)
    film.stage(name="loop")(nothing_async)
    film.stage(name="process", process=True)(nothing)
    styles = {name: handler.style for name, handler in film.handlers.items()}
    assert styles == {"thread": Style.THREAD, "loop": Style.ASYNC, "process": Style.PROCESS}


def test_every_option_reaches_the_graph() -> None:
    film = rs.Pipeline("film")
    film.stage(name="plan", phase="planning")(nothing)
    film.stage(
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
    assert film.graph.stages[1] == rs.StageSpec(
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
    film = rs.Pipeline("film")

    @film.stage
    def plan(task: Any) -> None: ...

    @film.stage(name="sound", after=plan)
    def other(task: Any) -> None: ...

    film.stage(name="pack", after=[plan, other])(nothing)
    assert film.graph.stages[2].after == ("plan", "sound")
    assert [stage_name(plan), stage_name(other), stage_name("pack")] == ["plan", "sound", "pack"]


def _circle(film: rs.Pipeline) -> None:
    film.stage(name="cut", after="cut")(nothing)


def _stranger(film: rs.Pipeline) -> None:
    film.stage(name="cut", after=nothing_async)(nothing)


def _nested(film: rs.Pipeline) -> None:
    @film.stage(name="cut", process=True)
    def inner(task: Any) -> None: ...


WRONG: list[tuple[Callable[[rs.Pipeline], Any], str, str]] = [
    (_circle, "film.cut.after", "waits for itself: cut → cut"),
    (_stranger, "film.cut.after", "'nothing_async' is not a stage of this pipeline"),
    (_nested, "film.cut.process", "a new process can't import it"),
    (lambda film: film.stage(name="cut", after="plam")(nothing), "film.cut.after", "unknown stage 'plam'"),
    (lambda film: film.stage(name="plan")(nothing), "film.plan", "another stage has this name"),
    (lambda film: film.stage(name="Cut")(nothing), "film.Cut", "invalid name 'Cut'"),
    (lambda film: film.stage(name="cut")(lambda: None), "film.cut", "does not take exactly one argument"),  # type: ignore[type-var]
    (lambda film: film.stage(name="cut")(7), "film.cut", "7 is not a function"),  # type: ignore[type-var]
    (lambda film: film.stage(name="cut", leese=3)(nothing), "film.cut.leese", "unknown option"),  # type: ignore[call-overload]
    (lambda film: film.stage(name="cut", phase="encoding")(nothing), "film.cut.phase", "invalid value 'encoding'"),  # type: ignore[call-overload]
    (lambda film: film.stage(name="cut", attempts=0)(nothing), "film.cut.attempts", "invalid value 0"),
    (lambda film: film.stage(name="cut", lease="60")(nothing), "film.cut.lease", "invalid value '60'"),  # type: ignore[call-overload]
    (lambda film: film.stage(name="cut", timeout=-1)(nothing), "film.cut.timeout", "invalid value -1"),
    (lambda film: film.stage(name="cut", needs=3)(nothing), "film.cut.needs", "invalid value 3"),  # type: ignore[call-overload]
    (lambda film: film.stage(name="cut", tags=3)(nothing), "film.cut.tags", "invalid value 3"),  # type: ignore[call-overload]
    (lambda film: film.stage(name="cut", tags="a/b")(nothing), "film.cut.tags", "'a/b' contains a slash"),
    (lambda film: film.stage(name="cut", backoff=-2)(nothing), "film.cut.backoff", "invalid value Backoff(base=-2"),
    (lambda film: film.stage(name="cut", each="plam.parts")(nothing), "film.cut.each", "'plam' is not a stage"),
]


@pytest.mark.parametrize("declare, path, words", WRONG)
def test_a_mistake_is_reported_where_it_is_written(
    declare: Callable[[rs.Pipeline], Any], path: str, words: str
) -> None:
    film = rs.Pipeline("film")
    film.stage(name="plan")(nothing)
    with pytest.raises(InvalidPipeline) as raised:
        declare(film)
    assert raised.value.field == path
    assert words in raised.value.message
    assert raised.value.hint
    assert list(film.handlers) == ["plan"], "what was refused left no trace"


def test_a_pipeline_has_a_name() -> None:
    with pytest.raises(InvalidPipeline, match="invalid name 'Film!'"):
        rs.Pipeline("Film!")
