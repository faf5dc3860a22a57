"""Pipelines as data: a mistake is named by its path, and what follows what is a pure function."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.errors import InvalidPipeline
from reelstate.core.machine import PHASES, JobStatus
from reelstate.core.pipeline import SPEC_SOURCE, Graph, Opening, StageSpec
from reelstate.core.policy import Backoff
from tests.core.properties import quickly

DIAMOND = Graph.of(
    "diamond",
    [
        StageSpec(name="join", after=("left", "right"), phase=JobStatus.UPLOADING_OUTPUTS),
        StageSpec(name="left", after=("top",), each="top.items"),
        StageSpec(name="right", after=("top",), each="spec.files.list"),
        StageSpec(name="top", phase=JobStatus.PLANNING),
    ],
)


@pytest.mark.parametrize("name", ["", "Upper", "1st", "with space", "ž", "x" * 64, "a\n"])
def test_a_pipeline_has_a_proper_name(name: str) -> None:
    with pytest.raises(InvalidPipeline) as refused:
        Graph.of(name, [StageSpec(name="a")])
    assert refused.value.field == "name"


def test_a_pipeline_has_stages() -> None:
    with pytest.raises(InvalidPipeline) as refused:
        Graph.of("empty", [])
    assert refused.value.field == "empty"


@pytest.mark.parametrize(
    "field, options",
    [
        ("phase", {"phase": JobStatus.PENDING}),
        ("phase", {"phase": JobStatus.COMPLETED}),
        ("attempts", {"attempts": 0}),
        ("attempts", {"attempts": 1001}),
        ("attempts", {"attempts": 1.5}),
        ("max_lost", {"max_lost": 0}),
        ("max_lost", {"max_lost": 2.5}),
        ("max_lost", {"max_lost": 40_000}),
        ("lease", {"lease": 0.5}),
        ("lease", {"lease": 86_401}),
        ("lease", {"lease": float("nan")}),
        ("weight", {"weight": 0}),
        ("weight", {"weight": -1}),
        ("weight", {"weight": float("inf")}),
        ("weight", {"weight": float("nan")}),
        ("backoff", {"backoff": Backoff(base=-1)}),
        ("backoff", {"backoff": Backoff(base=10, cap=5)}),
        ("backoff", {"backoff": Backoff(cap=float("inf"))}),
        ("stall_after", {"stall_after": 0}),
        ("timeout", {"timeout": -1}),
        ("timeout", {"timeout": float("inf")}),
        ("stall_after", {"stall_after": 1e300}),
        ("needs", {"needs": frozenset({""})}),
        ("prefers", {"prefers": frozenset({""})}),
        ("after", {"after": ("nowhere",)}),
        ("each", {"each": ""}),
        ("each", {"each": "spec"}),
        ("each", {"each": "spec."}),
        ("each", {"each": "spec..a"}),
        ("each", {"each": ".a"}),
        ("each", {"each": "nowhere.items"}),
        ("each", {"each": "other.items"}),
        ("each", {"each": "stage.items"}),
    ],
)
def test_a_bad_option_is_named_by_its_path(field: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidPipeline) as refused:
        Graph.of("line", [StageSpec(name="other"), StageSpec(name="stage", **options)])
    assert refused.value.field == f"line.stage.{field}"
    assert refused.value.hint


@pytest.mark.parametrize("name", ["spec", "", "A", "a.b"])
def test_a_stage_has_a_proper_name(name: str) -> None:
    with pytest.raises(InvalidPipeline) as refused:
        Graph.of("line", [StageSpec(name=name)])
    assert refused.value.field == f"line.{name}"


def test_two_stages_do_not_share_a_name() -> None:
    with pytest.raises(InvalidPipeline, match="another stage") as refused:
        Graph.of("line", [StageSpec(name="a"), StageSpec(name="a")])
    assert refused.value.field == "line.a"


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_cycle_is_named_with_its_stages(length: int) -> None:
    names = [f"s{number}" for number in range(length)]
    stages = [StageSpec(name=name, after=(names[number - 1],)) for number, name in enumerate(names)]
    with pytest.raises(InvalidPipeline, match="waits for itself") as refused:
        Graph.of("round", stages)
    assert refused.value.field.startswith("round.s")
    assert refused.value.field.endswith(".after")
    assert all(name in str(refused.value) for name in names)


def test_a_phase_is_not_before_that_of_what_it_waits_for() -> None:
    for number, phase in enumerate(PHASES):
        for other, later in enumerate(PHASES):
            stages = [StageSpec(name="a", phase=phase), StageSpec(name="b", after=("a",), phase=later)]
            if other >= number:
                Graph.of("line", stages)
            else:
                with pytest.raises(InvalidPipeline) as refused:
                    Graph.of("line", stages)
                assert refused.value.field == "line.b.phase"


def test_a_fan_out_over_a_stage_with_many_parts_is_refused() -> None:
    stages = [StageSpec(name="a", each="spec.n"), StageSpec(name="b", after=("a",), each="a.items")]
    with pytest.raises(InvalidPipeline, match="many parts") as refused:
        Graph.of("line", stages)
    assert refused.value.field == "line.b.each"


def test_a_fan_out_may_read_any_stage_that_comes_before_directly_or_not() -> None:
    stages = [StageSpec(name="a"), StageSpec(name="b", after=("a",)), StageSpec(name="c", after=("b",), each="a.x.y")]
    assert Graph.of("line", stages).opening(2) == Opening(2, 0, ("x", "y"))


def test_stages_stand_after_those_they_wait_for() -> None:
    assert [stage.name for stage in DIAMOND.stages] == ["top", "left", "right", "join"]
    assert DIAMOND.index == {"top": 0, "left": 1, "right": 2, "join": 3}
    assert DIAMOND.leaves == (3,)


def test_what_follows_is_what_the_closed_stages_allow() -> None:
    assert DIAMOND.first.openings == (Opening(0, None, ()),)
    assert DIAMOND.first_phase is JobStatus.PLANNING
    after_top = DIAMOND.next({0})
    assert after_top.openings == (Opening(1, 0, ("items",)), Opening(2, SPEC_SOURCE, ("files", "list")))
    assert after_top.phase is JobStatus.PROCESSING
    assert DIAMOND.next({0}, opened={1, 2}).openings == ()
    assert DIAMOND.next({0, 1}, opened={2}).openings == ()
    joined = DIAMOND.next({0, 1, 2})
    assert (joined.openings, joined.phase) == ((Opening(3, None, ()),), JobStatus.UPLOADING_OUTPUTS)
    ended = DIAMOND.next({0, 1, 2, 3})
    assert (ended.openings, ended.phase) == ((), None)


def test_downstream_is_everything_that_waits_directly_or_not() -> None:
    assert [DIAMOND.downstream(number) for number in range(4)] == [(1, 2, 3), (3,), (3,), ()]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph without cycles: each stage waits for some of those before it."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 8)))]
    stages = [
        StageSpec(
            name=name,
            after=tuple(draw(st.sets(st.sampled_from(names[:number]))) if number else ()),
            needs=frozenset(draw(st.sets(st.sampled_from(["gpu", "av1"])))),
            timeout=draw(st.none() | st.floats(1, 1e6)),
            backoff=Backoff(1, draw(st.floats(1, 100))),
            each=draw(st.none() | st.just("spec.items")),
        )
        for number, name in enumerate(names)
    ]
    return Graph.of("any", draw(st.permutations(stages)))


@quickly
@given(graphs())
def test_every_stage_comes_after_those_it_waits_for(graph: Graph) -> None:
    for number, stage in enumerate(graph.stages):
        assert all(graph.index[name] < number for name in stage.after)


@quickly
@given(graphs(), st.randoms())
def test_in_whatever_order_stages_close_each_opens_once_and_all_are_reached(graph: Graph, random: Any) -> None:
    closed: set[int] = set()
    opened: set[int] = set()
    while len(closed) < len(graph.stages):
        openings = [opening.stage for opening in graph.next(closed, opened).openings]
        assert opened.isdisjoint(openings)
        assert all(graph.index[name] in closed for stage in openings for name in graph.stages[stage].after)
        opened |= set(openings)
        closed.add(random.choice(sorted(opened - closed)))
    assert opened == closed
    assert graph.next(closed).phase is None


@quickly
@given(graphs())
def test_a_stored_graph_is_the_declared_one(graph: Graph) -> None:
    again = Graph.from_document(json.loads(json.dumps(graph.document())))
    assert again == graph
    assert again.digest == graph.digest


def test_equal_declarations_have_one_digest_and_others_another() -> None:
    one = Graph.of("p", [StageSpec(name="a", needs=frozenset({"x", "y"}))])
    same = Graph.of("p", [StageSpec(name="a", needs=frozenset({"y", "x"}))])
    other = Graph.of("p", [StageSpec(name="a", needs=frozenset({"y", "x"}), lease=61)])
    assert one.digest == same.digest
    assert one.digest != other.digest


def test_a_graph_without_tags_is_stored_as_it_was_before_there_were_any() -> None:
    encode = StageSpec(name="encode", after=("plan",), each="plan.parts", needs=frozenset({"ffmpeg"}))
    graph = Graph.of("video", [StageSpec(name="plan"), encode])
    assert graph.digest == "e5d0599d594cf3d305ce9dc4d69521093eca9316544346bc75cb0ceb59694e30"
    assert all("tags" not in stage for stage in graph.document()["stages"])
    assert Graph.from_document(graph.document()) == graph


def test_tags_are_part_of_a_graph_whatever_their_order() -> None:
    plain, one, same = (Graph.of("p", [StageSpec(name="a", tags=tags)]) for tags in ((), ("x", "y"), ("y", "x", "y")))
    assert one.digest == same.digest != plain.digest
    assert Graph.from_document(json.loads(json.dumps(one.document()))) == one
    assert one.stages[0].tags == ("x", "y")


@pytest.mark.parametrize("tag", ["", "a/b", "x" * 201, "a\0", 7])
def test_an_invalid_tag_is_named(tag: Any) -> None:
    with pytest.raises(InvalidPipeline) as refused:
        Graph.of("p", [StageSpec(name="a", tags=(tag, "good"))])
    assert refused.value.field == "p.a.tags"
    assert refused.value.hint
