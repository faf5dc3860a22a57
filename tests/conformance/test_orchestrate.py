"""orchestrate: what is possible opens, what is due becomes ready, the job shows where it stands."""

import pytest

from reelstate.core.machine import PHASES, JobStatus, TaskStatus
from reelstate.core.model import Completion, Json
from reelstate.core.pipeline import StageSpec
from reelstate.dispatch.dispatch import Wakeup
from reelstate.engine import Engine
from reelstate.services.orchestrate import Orchestrated
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    finish,
    job_path,
    running_parts,
    stage_statuses,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done, failed

BRANCHES = (
    StageSpec(name="left"),
    StageSpec(name="right"),
    StageSpec(name="join", after=("left", "right")),
)


def chain(*phases: JobStatus) -> list[StageSpec]:
    """A stage in each phase, one after the other."""
    names = [f"s{number}" for number in range(len(phases))]
    return [
        StageSpec(name=name, after=tuple(names[:number][-1:]), phase=phase)
        for number, (name, phase) in enumerate(zip(names, phases, strict=True))
    ]


async def test_a_job_passes_through_the_phases_of_its_stages_in_order(engine: Engine) -> None:
    await declared(engine, "five", *chain(*PHASES))
    job_id = await submitted(engine, "five")
    await finish(engine, await a_worker(engine))
    assert await job_path(engine, job_id) == [
        ("pending", "user"),
        ("validating", "worker"),
        ("planning", "orchestrator"),
        ("downloading_inputs", "orchestrator"),
        ("processing", "orchestrator"),
        ("uploading_outputs", "orchestrator"),
        ("completed", "orchestrator"),
    ]


async def test_a_job_skips_the_phases_that_it_has_no_stage_for(engine: Engine) -> None:
    await declared(engine, "two", *chain(JobStatus.VALIDATING, JobStatus.UPLOADING_OUTPUTS))
    job_id = await submitted(engine, "two")
    await finish(engine, await a_worker(engine))
    statuses = [status for status, _ in await job_path(engine, job_id)]
    assert statuses == ["pending", "validating", "uploading_outputs", "completed"]


async def test_a_job_leaves_pending_at_its_first_claim(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine)
    await engine.orchestrate()
    assert await status_of(engine, job_id) is JobStatus.PENDING
    clock.advance(5)
    await take_one(engine, await a_worker(engine))
    job = (await engine.job(job_id)).job
    assert (job.status, job.started_at, job.version) == (JobStatus.PROCESSING, clock.now, 2)


async def test_a_job_shows_the_lowest_phase_among_its_unfinished_stages(engine: Engine) -> None:
    await declared(
        engine,
        "mixed",
        StageSpec(name="early", phase=JobStatus.PLANNING),
        StageSpec(name="late", phase=JobStatus.UPLOADING_OUTPUTS),
    )
    job_id = await submitted(engine, "mixed")
    early, late = await take(engine, await a_worker(engine))
    assert await status_of(engine, job_id) is JobStatus.PLANNING
    await engine.complete([done(late)])
    assert await status_of(engine, job_id) is JobStatus.PLANNING
    await engine.complete([done(early)])
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_two_stages_of_one_phase_change_the_job_once(engine: Engine) -> None:
    await declared(engine, "same", *chain(JobStatus.PROCESSING, JobStatus.PROCESSING))
    job_id = await submitted(engine, "same")
    await finish(engine, await a_worker(engine))
    assert [status for status, _ in await job_path(engine, job_id)] == ["pending", "processing", "completed"]


@pytest.mark.parametrize("first, last", [(0, 1), (1, 0)])
async def test_a_join_opens_when_the_second_branch_is_through(engine: Engine, first: int, last: int) -> None:
    await declared(engine, "branches", *BRANCHES)
    job_id = await submitted(engine, "branches")
    worker = await a_worker(engine)
    branches = await take(engine, worker)
    await engine.complete([done(branches[first])])
    assert (await stage_statuses(engine, job_id))["join"] is TaskStatus.NEW
    assert await take(engine, worker) == []
    await engine.complete([done(branches[last])])
    assert (await take_one(engine, worker)).stage_name == "join"


async def test_a_join_opens_once_when_both_branches_end_together(engine: Engine) -> None:
    await declared(engine, "branches", *BRANCHES)
    job_id = await submitted(engine, "branches")
    worker = await a_worker(engine)
    await engine.complete([done(task) for task in await take(engine, worker)])
    assert await finish(engine, worker) == ["join"]
    opened = [event.stage_number for event in (await engine.history(job_id)).items if event.entity == "stage"]
    assert opened == [0, 1, 2]


async def test_one_event_records_that_a_stage_opened_and_with_how_many_parts(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), {"plan": {"items": ["a", "c"]}})
    opened = [event for event in (await engine.history(job_id)).items if event.entity == "stage"]
    shown = [(event.stage_number, event.part, event.target, event.actor, event.data) for event in opened]
    assert shown == [
        (0, None, "opened", "orchestrator", {"total": 1}),
        (1, None, "opened", "orchestrator", {"total": 2}),
        (2, None, "opened", "orchestrator", {"total": 1}),
    ]


async def test_a_fan_out_has_a_task_for_every_element_whatever_it_is(engine: Engine) -> None:
    items = [1, "two", [3], {"four": 4}, None, False, 2.5]
    job_id = await submitted(engine, "fan")
    worker = await a_worker(engine)
    await engine.complete([done(await take_one(engine, worker), {"items": items})])
    assert [task.input for task in await take(engine, worker)] == items
    assert [task.part for task in (await engine.tasks(job_id, stage="work")).items] == list(range(7))


async def test_a_whole_number_fans_out_over_its_indexes(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    worker = await a_worker(engine)
    await engine.complete([done(await take_one(engine, worker), {"items": 12})])
    assert [task.input for task in await take(engine, worker)] == list(range(12))
    assert (await engine.job(job_id)).stages[1].total == 12


async def test_a_fan_out_may_follow_the_gathering_of_another(engine: Engine) -> None:
    await declared(
        engine,
        "nested",
        StageSpec(name="plan"),
        StageSpec(name="outer", after=("plan",), each="plan.chunks"),
        StageSpec(name="merge", after=("outer",)),
        StageSpec(name="inner", after=("merge",), each="merge.deep.list"),
        StageSpec(name="again", after=("inner",), each="plan.chunks"),
        StageSpec(name="last", after=("again",)),
    )
    job_id = await submitted(engine, "nested")
    results = {"plan": {"chunks": [1, 2]}, "merge": {"deep": {"list": ["x", "y", "z"]}}, "last": "end"}
    seen = await finish(engine, await a_worker(engine), results)
    assert seen == ["plan", *["outer"] * 2, "merge", *["inner"] * 3, *["again"] * 2, "last"]
    detail = await engine.job(job_id)
    assert detail.plan == results
    assert detail.outputs == {"last": "end"}


@pytest.mark.parametrize("field", ["with space", 'quo"te', "it's", "a[0]", "$", "ž", "0"])
async def test_a_path_names_its_fields_literally(engine: Engine, field: str) -> None:
    await declared(engine, "odd", StageSpec(name="part", each=f"spec.in.{field}"))
    await submitted(engine, "odd", {"in": {field: [7]}})
    assert (await take_one(engine, await a_worker(engine))).input == 7


@pytest.mark.parametrize("parts", [[], 0])
async def test_an_empty_fan_out_is_skipped_and_satisfies_what_waits_for_it(engine: Engine, parts: Json) -> None:
    job_id = await submitted(engine, "fan")
    assert await finish(engine, await a_worker(engine), {"plan": {"items": parts}}) == ["plan", "pack"]
    expected = {"plan": TaskStatus.DONE, "work": TaskStatus.SKIPPED, "pack": TaskStatus.DONE}
    assert await stage_statuses(engine, job_id) == expected
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_empty_fan_outs_in_a_row_are_all_passed_over(engine: Engine) -> None:
    stages = [StageSpec(name="plan")]
    stages += [StageSpec(name=f"e{n}", after=(stages[-1].name,), each="plan.none") for n in range(4)]
    await declared(engine, "hollow", *stages, StageSpec(name="last", after=("e3",)))
    job_id = await submitted(engine, "hollow")
    assert await finish(engine, await a_worker(engine), {"plan": {"none": []}}) == ["plan", "last"]
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_a_stage_whose_every_part_was_skipped_is_skipped(engine: Engine) -> None:
    tasks = await running_parts(engine, 2)
    await engine.complete([Completion(key=task.key, token=task.token, skipped=True) for task in tasks])
    job_id = tasks[0].key.job_id
    assert await task_statuses(engine, job_id) == [TaskStatus.SKIPPED] * 2
    assert await stage_statuses(engine, job_id) == {"part": TaskStatus.SKIPPED}
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


@pytest.mark.parametrize(
    "result", [None, {}, {"items": None}, {"items": "ab"}, {"items": {}}, {"items": -1}, {"items": 0.5}, [1]]
)
async def test_a_missing_fan_out_path_fails_the_job_and_names_it(engine: Engine, result: Json) -> None:
    job_id = await submitted(engine, "fan")
    assert await finish(engine, await a_worker(engine), {"plan": result}) == ["plan"]
    job = (await engine.job(job_id)).job
    assert job.status is JobStatus.FAILED
    assert job.error["type"] == "fan_out"
    assert job.error["stage"] == "work"
    assert "plan.items" in job.error["message"]
    assert "plan.items" in (job.reason or "")


async def test_a_job_that_fails_by_its_fan_out_leaves_nothing_ready(engine: Engine) -> None:
    await declared(
        engine,
        "broken",
        StageSpec(name="plan"),
        StageSpec(name="other", each="spec.parts"),
        StageSpec(name="work", after=("plan",), each="plan.items"),
    )
    job_id = await submitted(engine, "broken", {"parts": 2})
    worker = await a_worker(engine)
    await engine.complete([done(await take_one(engine, worker), {})])
    assert await status_of(engine, job_id) is JobStatus.FAILED
    assert await task_statuses(engine, job_id, "other") == [TaskStatus.NEW] * 2


async def test_a_later_fan_out_over_the_spec_fails_the_job_when_it_is_reached(engine: Engine) -> None:
    await declared(engine, "later", StageSpec(name="plan"), StageSpec(name="work", after=("plan",), each="spec.files"))
    job_id = await submitted(engine, "later", {})
    await finish(engine, await a_worker(engine))
    job = (await engine.job(job_id)).job
    assert job.status is JobStatus.FAILED
    assert "spec.files" in job.error["message"]


OPTIONAL = (
    StageSpec(name="extra", each="spec.parts", required=False, attempts=1),
    StageSpec(name="last", after=("extra",)),
)


@pytest.mark.parametrize("broken", [1, 3])
async def test_a_failed_part_of_an_optional_stage_leaves_the_job_degraded(engine: Engine, broken: int) -> None:
    await declared(engine, "lenient", *OPTIONAL)
    job_id = await submitted(engine, "lenient", {"parts": 3})
    worker = await a_worker(engine)
    tasks = await take(engine, worker)
    await engine.complete([done(task) for task in tasks[broken:]])
    await engine.fail([failed(task) for task in tasks[:broken]])
    assert (await stage_statuses(engine, job_id))["extra"] is TaskStatus.DONE
    assert await finish(engine, worker) == ["last"]
    job = (await engine.job(job_id)).job
    reason = f"extra: {broken} failed, part 0: it broke"
    assert (job.status, job.degraded, job.error) == (JobStatus.COMPLETED, [reason], None)


LISTS: list[tuple[Json, list[str] | None]] = [
    (["1080p", 4], ["1080p", "4"]),
    ([["captions"]], ["['captions']"]),
    ([], None),
    ({"1080p": "no encoder"}, None),
    ({"0": "1080p"}, None),
    ("1080p", None),
    (1080, None),
    (True, None),
    (None, None),
]
"""What a result has under `degraded`, and what the job shows of it: only a list is one of reasons."""


@pytest.mark.parametrize("listed, shown", LISTS)
async def test_a_last_stage_may_report_what_is_missing(engine: Engine, listed: Json, shown: list[str] | None) -> None:
    await declared(engine, "two", *chain(JobStatus.VALIDATING, JobStatus.UPLOADING_OUTPUTS))
    job_id = await submitted(engine, "two", {})
    worker = await a_worker(engine)
    while tasks := (await engine.claim(worker, 10)).tasks:
        await engine.complete([done(task, {"degraded": listed}) for task in tasks])
    job = (await engine.job(job_id)).job
    assert (job.status, job.degraded) == (JobStatus.COMPLETED, shown)


async def test_each_job_shows_what_its_own_last_stages_report_in_their_order(engine: Engine) -> None:
    stages = [StageSpec(name="first"), *(StageSpec(name=name, after=("first",)) for name in ("left", "right"))]
    await declared(engine, "two_ends", *stages)
    jobs = [await submitted(engine, "two_ends") for _ in range(2)]
    worker = await a_worker(engine)
    while tasks := (await engine.claim(worker, 10)).tasks:
        reports = [
            done(task, {"degraded": [f"{task.stage_name} of {jobs.index(task.key.job_id)}"]})
            for task in reversed(tasks)
        ]
        await engine.complete(reports)
    shown = [(await engine.job(job_id)).job.degraded for job_id in jobs]
    assert shown == [["left of 0", "right of 0"], ["left of 1", "right of 1"]]


async def test_a_job_in_which_all_went_well_is_not_degraded(engine: Engine) -> None:
    await declared(engine, "lenient", *OPTIONAL)
    job_id = await submitted(engine, "lenient", {"parts": 1})
    await finish(engine, await a_worker(engine))
    assert (await engine.job(job_id)).job.degraded is None


async def test_an_optional_part_is_tried_again_before_it_is_given_up(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "lenient", StageSpec(name="extra", required=False, attempts=2))
    job_id = await submitted(engine, "lenient")
    worker = await a_worker(engine)
    await engine.fail([failed(await take_one(engine, worker), retry_in=1)])
    assert await status_of(engine, job_id) is JobStatus.PROCESSING
    clock.advance(1)
    await engine.orchestrate()
    await engine.fail([failed(await take_one(engine, worker))])
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_a_failed_task_becomes_ready_after_its_retry_delay(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=30)])
    clock.advance(29)
    assert (await engine.orchestrate()).ready == 0
    clock.advance(1)
    assert (await engine.orchestrate()).ready == 1
    row = await task_at(engine, task.key)
    assert (row.status, row.ready_at, row.run_after) == (TaskStatus.READY, clock.now, None)
    assert (await task_path(engine, task.key))[-1] == ("error", "ready", "orchestrator")


async def test_what_is_due_is_made_ready_in_portions_the_longest_waiting_first(
    engine: Engine, clock: FakeClock
) -> None:
    tasks = await running_parts(engine, 3)
    await engine.fail([failed(task, retry_in=9 - task.key.part) for task in tasks])
    clock.advance(60)
    assert (await engine.orchestrate(limit=2)).ready == 2
    ready, error = TaskStatus.READY, TaskStatus.ERROR
    assert await task_statuses(engine, tasks[0].key.job_id) == [error, ready, ready]
    assert (await engine.orchestrate(limit=2)).ready == 1


async def test_a_due_task_of_an_inactive_job_becomes_new(engine: Engine, clock: FakeClock) -> None:
    first, second = await running_parts(engine, 2)
    await fail_for_good(engine, first)
    await engine.fail([failed(second, retry_in=5)])
    clock.advance(5)
    await engine.orchestrate()
    row = await task_at(engine, second.key)
    assert (row.status, row.run_after) == (TaskStatus.NEW, None)


async def test_a_delayed_job_that_was_put_aside_stays_new_when_it_is_due(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, delay=5)
    await engine.quarantine(job_id, reason="wait")
    clock.advance(5)
    await engine.orchestrate()
    assert await task_statuses(engine, job_id) == [TaskStatus.NEW]


async def test_with_nothing_due_orchestrate_does_nothing(engine: Engine, clock: FakeClock) -> None:
    await submitted(engine)
    clock.advance(10_000)
    assert await engine.orchestrate() == Orchestrated(ready=0, advanced=0)


async def test_a_job_whose_next_step_was_missed_is_moved_on(
    engine: Engine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forget(*_: object) -> set[Wakeup]:
        """Stand for a process that counted the task and then took no further step."""
        return set()

    task = await a_running_task(engine, "fan")
    with monkeypatch.context() as patch:
        patch.setattr("reelstate.services.complete.advance", forget)
        await engine.complete([done(task, {"items": [1, 2]})])
    clock.advance(59)
    assert (await engine.orchestrate(stuck_after=60)).advanced == 0
    clock.advance(1)
    assert (await engine.orchestrate(stuck_after=60)).advanced == 1
    assert await task_statuses(engine, task.key.job_id, "work") == [TaskStatus.READY] * 2
    assert await status_of(engine, task.key.job_id) is JobStatus.PROCESSING
