"""submit: jobs are created once each, and their first stages open."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reelstate.core.errors import IdempotencyConflict, InvalidPipeline, InvalidRequest, TooLarge, UnknownPipeline
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Json, Submission, Submitted, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    declared,
    finish,
    job_path,
    stage_statuses,
    status_of,
    submitted,
    take,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done


async def job_ids(engine: Engine) -> list[int]:
    """All jobs, the oldest first."""
    return [job.id for job in reversed((await engine.jobs()).items)]


async def test_a_submitted_job_runs_to_the_end(engine: Engine) -> None:
    submitted = await engine.submit("fan", {"name": "video"})
    worker = await a_worker(engine)
    results = {"plan": {"items": [1, 5, 9]}, "pack": {"file": "out.mp4"}}
    seen = []
    while (claim := await engine.claim(worker, 10)).tasks:
        seen.append([(task.stage_name, task.key.part, task.input, task.spec) for task in claim.tasks])
        verdicts = await engine.complete([done(task, results.get(task.stage_name)) for task in claim.tasks])
        assert verdicts == [Verdict.OK] * len(claim.tasks)
    spec = {"name": "video"}
    assert seen == [
        [("plan", 0, None, spec)],
        [("work", 0, 1, spec), ("work", 1, 5, spec), ("work", 2, 9, spec)],
        [("pack", 0, None, spec)],
    ]
    detail = await engine.job(submitted.job_id)
    assert detail.job.status is JobStatus.COMPLETED
    assert detail.outputs == {"pack": {"file": "out.mp4"}}
    assert detail.progress == 100.0
    assert [stage.status for stage in detail.stages] == [TaskStatus.DONE] * 3


async def test_a_new_job_is_as_it_was_submitted(engine: Engine, clock: FakeClock) -> None:
    answer = await engine.submit("simple", {"video": "a"}, priority=7, user_id="ada")
    assert answer.verdict is Verdict.OK
    job = (await engine.job(answer.job_id)).job
    assert (job.pipeline, job.spec, job.priority, job.user_id) == ("simple", {"video": "a"}, 7, "ada")
    assert (job.status, job.version, job.actor, job.ended) == (JobStatus.PENDING, 1, "user", False)
    assert (job.created_at, job.started_at, job.finished_at) == (clock.now, None, None)
    assert await job_path(engine, job.id) == [("pending", "user")]


async def test_a_job_without_a_spec_has_an_empty_one(engine: Engine) -> None:
    job_id = await submitted(engine)
    assert (await engine.job(job_id)).job.spec == {}


@pytest.mark.parametrize(
    "spec",
    [
        {"unicode": "žluťoučký 🎬 \u2028 \\u0000", "deep": {"a": [{"b": [1, 2.5, -3e-7, True, None]}]}},
        {"": "", " a.b[0]'\"$": [], "big": 2**53, "small": -(2**62)},
        ["a", "list"],
        "a text",
        7,
    ],
)
async def test_a_spec_comes_back_as_it_was_given(engine: Engine, spec: Json) -> None:
    job_id = await submitted(engine, spec=spec)
    assert (await engine.job(job_id)).job.spec == spec
    (task,) = await take(engine, await a_worker(engine))
    assert task.spec == spec


async def test_many_jobs_are_answered_in_the_order_of_their_submissions(engine: Engine) -> None:
    answers = await engine.submit_many([Submission(pipeline="simple", spec=number) for number in range(20)])
    assert [answer.job_id for answer in answers] == await job_ids(engine)
    assert [(await engine.job(answer.job_id)).job.spec for answer in answers] == list(range(20))


async def test_ids_grow_with_submission(engine: Engine) -> None:
    ids = [await submitted(engine) for _ in range(5)]
    assert ids == sorted(set(ids))


async def test_submitting_nothing_creates_nothing(engine: Engine) -> None:
    assert await engine.submit_many([]) == []
    assert await job_ids(engine) == []


async def test_of_a_batch_all_jobs_are_made_or_none(engine: Engine) -> None:
    good, bad = Submission(pipeline="simple"), Submission(pipeline="parts", spec={})
    with pytest.raises(InvalidRequest):
        await engine.submit_many([good, bad, good])
    assert await job_ids(engine) == []


async def test_the_same_key_and_body_give_the_first_job(engine: Engine) -> None:
    first = await engine.submit("simple", {"a": 1}, idempotency_key="k")
    again = await engine.submit("simple", {"a": 1}, idempotency_key="k")
    assert again == Submitted(first.job_id, Verdict.REPEATED)
    assert await job_ids(engine) == [first.job_id]


async def test_a_key_still_returns_the_first_job_when_it_has_finished(engine: Engine) -> None:
    first = await engine.submit("simple", idempotency_key="k")
    await finish(engine, await a_worker(engine))
    assert await engine.submit("simple", idempotency_key="k") == Submitted(first.job_id, Verdict.REPEATED)


@pytest.mark.parametrize(
    "other",
    [
        Submission(pipeline="simple", spec={"a": 2}, idempotency_key="k"),
        Submission(pipeline="fan", spec={"a": 1}, idempotency_key="k"),
        Submission(pipeline="simple", spec={"a": 1}, priority=6, idempotency_key="k"),
        Submission(pipeline="simple", spec={"a": 1}, delay=1, idempotency_key="k"),
    ],
    ids=["spec", "pipeline", "priority", "delay"],
)
async def test_the_same_key_with_another_body_is_refused_and_changes_nothing(engine: Engine, other: Submission) -> None:
    first = await submitted(engine, spec={"a": 1}, idempotency_key="k")
    with pytest.raises(IdempotencyConflict, match=str(first)) as refused:
        await engine.submit_many([Submission(pipeline="simple"), other])
    assert (refused.value.key, refused.value.job_id) == ("k", first)
    assert await job_ids(engine) == [first]


async def test_one_priority_in_two_spellings_is_one_body(engine: Engine) -> None:
    first = await engine.submit("simple", priority="normal", idempotency_key="k")
    assert (await engine.submit("simple", priority=5, idempotency_key="k")).job_id == first.job_id


async def test_a_key_twice_in_one_batch_makes_one_job(engine: Engine) -> None:
    twice = Submission(pipeline="simple", idempotency_key="k")
    first, plain, again = await engine.submit_many([twice, Submission(pipeline="simple"), twice])
    assert again == Submitted(first.job_id, Verdict.REPEATED)
    assert await job_ids(engine) == [first.job_id, plain.job_id]


async def test_a_key_twice_in_one_batch_with_two_bodies_makes_nothing(engine: Engine) -> None:
    with pytest.raises(IdempotencyConflict):
        await engine.submit_many(
            [Submission(pipeline="simple", spec=number, idempotency_key="k") for number in range(2)]
        )
    assert await job_ids(engine) == []


async def test_a_refused_submission_does_not_use_up_its_key(engine: Engine) -> None:
    with pytest.raises(InvalidRequest):
        await engine.submit("parts", {}, idempotency_key="k")
    assert (await engine.submit("parts", {"parts": 1}, idempotency_key="k")).verdict is Verdict.OK


async def test_every_user_has_keys_of_their_own(engine: Engine) -> None:
    ada = await engine.submit("simple", 1, user_id="ada", idempotency_key="k")
    bob = await engine.submit("simple", 2, user_id="bob", idempotency_key="k")
    assert bob.verdict is Verdict.OK
    assert await job_ids(engine) == [ada.job_id, bob.job_id]


@pytest.mark.parametrize("name, number", [("low", 2), ("normal", 5), ("high", 8), ("critical", 10), (0, 0)])
async def test_a_priority_may_be_a_word(engine: Engine, name: str | int, number: int) -> None:
    job_id = await submitted(engine, priority=name)
    assert (await engine.job(job_id)).job.priority == number


@pytest.mark.parametrize(
    "field, options",
    [
        ("priority", {"priority": -1}),
        ("priority", {"priority": 11}),
        ("priority", {"priority": "urgent"}),
        ("priority", {"priority": True}),
        ("priority", {"priority": 5.0}),
        ("delay", {"delay": -1}),
        ("delay", {"delay": float("nan")}),
        ("delay", {"delay": float("inf")}),
        ("idempotency_key", {"idempotency_key": ""}),
        ("idempotency_key", {"idempotency_key": "k" * 256}),
        ("idempotency_key", {"idempotency_key": "a\x00b"}),
        ("idempotency_key", {"idempotency_key": "\ud800"}),
        ("user_id", {"user_id": "u" * 256}),
        ("user_id", {"user_id": "a\x00"}),
        ("spec", {"spec": {"a": float("nan")}}),
        ("spec", {"spec": {"a": object()}}),
        ("spec.a[1]", {"spec": {"a": ["", "\x00"]}}),
        ("spec", {"spec": {"a": "\ud800"}}),
    ],
)
async def test_a_bad_submission_is_refused_by_the_name_of_its_field(
    engine: Engine, field: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await engine.submit("simple", **options)
    assert refused.value.field == field
    assert refused.value.hint
    assert await job_ids(engine) == []


async def test_a_spec_has_a_largest_size(engine: Engine) -> None:
    await submitted(engine, spec="x" * (256 * 1024 - 2))
    with pytest.raises(TooLarge) as refused:
        await engine.submit("simple", "x" * (256 * 1024 - 1))
    assert (refused.value.field, refused.value.size, refused.value.limit) == ("spec", 262145, 262144)


async def test_a_key_of_255_letters_of_any_script_is_accepted(engine: Engine) -> None:
    first = await engine.submit("simple", idempotency_key="字" * 255)
    assert (await engine.submit("simple", idempotency_key="字" * 255)).job_id == first.job_id


async def test_an_unknown_pipeline_is_refused_with_those_that_are_known(engine: Engine) -> None:
    with pytest.raises(UnknownPipeline, match="fan, parts, simple") as refused:
        await engine.submit("simpel")
    assert refused.value.name == "simpel"


async def test_the_known_pipelines_are_those_of_every_process(engine: Engine) -> None:
    with pytest.raises(UnknownPipeline, match="fan, parts, simple"):
        await Engine(engine.store).submit("no\x00name")


async def stages_of(engine: Engine, job_id: int) -> list[str]:
    return [stage.name for stage in (await engine.job(job_id)).stages]


async def submits(engine: Engine, **options: Any) -> list[str]:
    """The stages that a new job of the pipeline `video` has: made alone, and in a batch."""
    alone = await stages_of(engine, (await engine.submit("video", **options)).job_id)
    made = await engine.submit_many([Submission(pipeline="video", **options), Submission(pipeline="simple")])
    assert await stages_of(engine, made[0].job_id) == alone
    return alone


OLD, NEW = (Graph.of("video", [StageSpec(name=name)]) for name in ("old", "new"))


async def test_an_old_version_that_is_declared_again_does_not_come_back(engine: Engine, clock: FakeClock) -> None:
    stranger = Engine(engine.store)
    for graph, expected in ((OLD, "old"), (NEW, "new"), (OLD, "new")):
        clock.advance(1)
        await Engine(engine.store).declare(graph)
        assert await submits(stranger) == [expected]
    assert stranger.catalogue.names == []


async def test_every_process_submits_the_newest_version_whatever_code_it_has(engine: Engine) -> None:
    await engine.declare(OLD)
    assert await submits(engine) == ["old"]
    await Engine(engine.store).declare(NEW)
    assert await submits(engine) == ["new"]


async def test_a_submission_may_name_its_version(engine: Engine) -> None:
    await engine.declare(OLD, NEW)
    for digest in (OLD.digest, OLD.digest[:6]):
        assert await submits(engine, digest=digest) == ["old"]
    for digest in ("", OLD.digest[:5], "0" * 64):
        with pytest.raises(InvalidRequest, match="is not the digest of a version of video") as refused:
            await engine.submit("video", digest=digest)
        assert (refused.value.field, OLD.digest[:12] in refused.value.hint) == ("digest", True)


async def test_the_same_key_with_another_version_is_another_request(engine: Engine) -> None:
    await engine.declare(OLD, NEW)
    await engine.submit("video", idempotency_key="once", digest=OLD.digest)
    with pytest.raises(IdempotencyConflict):
        await engine.submit("video", idempotency_key="once", digest=NEW.digest)


async def test_a_pinned_version_stays_though_a_newer_one_is_declared(engine: Engine) -> None:
    await engine.declare(OLD)
    assert (await engine.use_pipeline("video", OLD.digest[:8])).digest == OLD.digest
    await Engine(engine.store).declare(NEW)
    assert await submits(engine) == ["old"]
    shown = [(each.digest, each.current, each.pinned) for each in await engine.pipelines() if each.name == "video"]
    assert shown == [(NEW.digest, False, False), (OLD.digest, True, True)]
    assert (await engine.use_pipeline("video", None)).digest == NEW.digest
    assert await submits(engine) == ["new"]
    with pytest.raises(UnknownPipeline):
        await engine.use_pipeline("flim", None)
    with pytest.raises(InvalidRequest, match="is not the digest"):
        await engine.use_pipeline("video", "abcdef")


async def test_a_change_of_the_newest_version_is_logged(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "reelstate.pipelines")
    for graph in (OLD, OLD, NEW, NEW, OLD):
        await Engine(engine.store).declare(graph)
    changed, ignored = (record.getMessage() for record in caplog.records)
    assert "new jobs run it pipeline=video" in changed
    assert NEW.digest[:12] in changed
    assert f"pipeline version not current pipeline=video digest={OLD.digest[:12]}" in ignored


async def test_a_version_is_listed_with_the_workers_that_have_its_code(engine: Engine) -> None:
    await engine.declare(OLD, NEW)
    for name, graph in (("cpu-1", OLD), ("cpu-2", NEW), ("cpu-3", NEW)):
        await a_worker(engine, name, metadata={"pipelines": {"video": graph.digest}})
    gone = await a_worker(engine, "cpu-4", metadata={"pipelines": {"video": OLD.digest}})
    await engine.move_worker(gone, WorkerStatus.OFFLINE, actor="worker")
    await a_worker(engine, "old-release", metadata=None)
    versions = [each for each in await engine.pipelines() if each.name == "video"]
    assert [(each.digest, each.workers, each.stages) for each in versions] == [
        (NEW.digest, ("cpu-2", "cpu-3"), ("new",)),
        (OLD.digest, ("cpu-1",), ("old",)),
    ]


@pytest.mark.parametrize("given", [{}, {"parts": None}, {"parts": "abc"}, {"parts": {}}, {"parts": True}, []])
async def test_a_fan_out_over_the_spec_is_refused_when_its_path_leads_to_no_parts(engine: Engine, given: Json) -> None:
    with pytest.raises(InvalidRequest, match=r"spec\.parts") as refused:
        await engine.submit("parts", given)
    assert refused.value.field == "spec"
    assert await job_ids(engine) == []


@pytest.mark.parametrize("number", [-1, 1.5, 10_000_001])
async def test_a_number_that_counts_nothing_is_no_fan_out(engine: Engine, number: float) -> None:
    with pytest.raises(InvalidRequest, match=r"spec\.parts"):
        await engine.submit("parts", {"parts": number})


@pytest.mark.parametrize("parts", [[], 0])
async def test_a_job_with_nothing_to_do_is_completed_at_once(engine: Engine, parts: Json) -> None:
    job_id = await submitted(engine, "parts", {"parts": parts})
    assert await job_path(engine, job_id) == [("pending", "user"), ("completed", "orchestrator")]
    assert await stage_statuses(engine, job_id) == {"part": TaskStatus.SKIPPED}
    assert (await engine.job(job_id)).progress == 100.0


async def test_jobs_of_one_batch_may_have_something_and_nothing_to_do(engine: Engine) -> None:
    answers = await engine.submit_many([Submission(pipeline="parts", spec={"parts": n}) for n in (0, 2, 0)])
    statuses = [await status_of(engine, answer.job_id) for answer in answers]
    assert statuses == [JobStatus.COMPLETED, JobStatus.PENDING, JobStatus.COMPLETED]


async def test_a_delayed_job_is_not_ready_before_it_is_due(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, delay=90)
    worker = await a_worker(engine)
    due = clock.now + timedelta(seconds=90)
    assert (await engine.job(job_id)).job.run_after == due
    (waiting,) = (await engine.tasks(job_id)).items
    assert (waiting.status, waiting.run_after) == (TaskStatus.NEW, due)
    clock.advance(89)
    assert (await engine.orchestrate()).ready == 0
    assert await take(engine, worker) == []
    clock.advance(1)
    assert (await engine.orchestrate()).ready == 1
    assert await task_statuses(engine, job_id) == [TaskStatus.READY]
    assert len(await take(engine, worker)) == 1


async def test_a_job_may_start_in_ten_years_and_no_later(engine: Engine, clock: FakeClock) -> None:
    latest = clock.now + timedelta(days=3650)
    job_id = await submitted(engine, run_after=latest)
    assert (await engine.job(job_id)).job.run_after == latest
    for late in (latest + timedelta(seconds=1), datetime.max.replace(tzinfo=UTC)):
        with pytest.raises(InvalidRequest, match=re.escape(f"{late} is too far ahead")) as refused:
            await engine.submit("simple", run_after=late, idempotency_key="late")
        assert (refused.value.field, refused.value.hint) == ("run_after", "at most ten years from now")
    assert [job.id for job in (await engine.jobs()).items] == [job_id]
    assert (await engine.submit("simple", idempotency_key="late")).verdict is Verdict.OK, "the key was not used up"


async def test_a_delayed_fan_out_waits_as_a_whole(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, "parts", {"parts": 3}, delay=5)
    assert await task_statuses(engine, job_id) == [TaskStatus.NEW] * 3
    clock.advance(5)
    assert (await engine.orchestrate()).ready == 3


async def test_a_delay_also_holds_what_follows_an_empty_first_stage(engine: Engine, clock: FakeClock) -> None:
    stages = (StageSpec(name="each", each="spec.parts"), StageSpec(name="last", after=("each",)))
    await declared(engine, "hollow", *stages)
    job_id = await submitted(engine, "hollow", {"parts": []}, delay=60)
    worker = await a_worker(engine)
    assert await take(engine, worker) == []
    clock.advance(60)
    await engine.orchestrate()
    assert await finish(engine, worker) == ["last"]
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_a_job_runs_the_graph_it_was_submitted_with(engine: Engine) -> None:
    await declared(engine, "changing", StageSpec(name="old"), StageSpec(name="older", after=("old",)))
    before = await submitted(engine, "changing")
    await declared(engine, "changing", StageSpec(name="new"))
    after = await submitted(engine, "changing")
    assert await finish(engine, await a_worker(engine)) == ["old", "new", "older"]
    assert await stage_statuses(engine, before) == {"old": TaskStatus.DONE, "older": TaskStatus.DONE}
    assert await stage_statuses(engine, after) == {"new": TaskStatus.DONE}


async def test_a_pipeline_declared_twice_is_one_pipeline(engine: Engine) -> None:
    await declared(engine, "same", StageSpec(name="a"))
    first = (await engine.job(await submitted(engine, "same"))).job
    await declared(engine, "same", StageSpec(name="a"))
    again = (await engine.job(await submitted(engine, "same"))).job
    assert first.digest == again.digest


SHOTS = {
    "type": "object",
    "required": ["video"],
    "additionalProperties": False,
    "properties": {"video": {"type": "string"}, "width": {"type": "integer", "minimum": 1}},
}


async def submits_elsewhere(engine: Engine, schema: dict[str, Any]) -> Engine:
    """Declare `shots` with a schema of its specs; the answer is an engine of a process without the code."""
    await engine.declare(Graph.of("shots", [StageSpec(name="grab")], spec=schema))
    return Engine(engine.store)


async def test_a_process_without_the_code_checks_specs_by_the_stored_schema(engine: Engine) -> None:
    elsewhere = await submits_elsewhere(engine, SHOTS)
    good = {"video": "a.mp4", "width": 640}
    await elsewhere.submit("shots", good)
    for key in (None, "k"):
        with pytest.raises(InvalidRequest) as refused:
            await elsewhere.submit("shots", {**good, "width": 0}, idempotency_key=key)
        assert str(refused.value) == "spec.width: 0 is less than the minimum of 1 (expected integer, at least 1)"
    with pytest.raises(InvalidRequest, match=r"spec\.video: is missing"):
        await elsewhere.submit_many([Submission(pipeline="shots", spec=spec) for spec in (good, {"width": 1})])
    assert len(await job_ids(engine)) == 1


async def test_a_spec_is_checked_by_the_schema_of_the_version_that_its_job_runs(engine: Engine) -> None:
    elsewhere = await submits_elsewhere(engine, SHOTS)
    strict = {"video": "a.mp4"}
    await elsewhere.submit("shots", strict, idempotency_key="before")
    new = {**SHOTS, "required": ["video", "width"]}
    (old,) = [version.digest for version in await engine.pipelines() if version.name == "shots"]
    await submits_elsewhere(engine, new)
    with pytest.raises(InvalidRequest, match=r"spec\.width: is missing"):
        await elsewhere.submit("shots", strict)
    assert (await elsewhere.submit("shots", strict, digest=old)).verdict is Verdict.OK
    assert (await elsewhere.submit("shots", strict, idempotency_key="before")).verdict is Verdict.REPEATED
    assert [version.spec for version in await engine.pipelines() if version.name == "shots"] == [new, SHOTS]


async def test_a_graph_with_an_unusable_schema_is_not_stored(engine: Engine) -> None:
    with pytest.raises(InvalidPipeline, match="refers to another document"):
        await submits_elsewhere(engine, {"$ref": "https://example.com/schema.json"})
    assert "shots" not in {version.name for version in await engine.pipelines()}
