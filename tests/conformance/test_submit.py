"""submit: jobs are born, once each, and their first stages open."""

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Verdict
from reelstate.services.engine import Engine
from tests.engines import a_worker, done


async def test_a_submitted_job_runs_to_the_end(engine: Engine) -> None:
    submitted = await engine.submit("fan", {"name": "film"})
    worker = await a_worker(engine)
    results = {"plan": {"items": [1, 5, 9]}, "pack": {"file": "out.mp4"}}
    seen = []
    while (claim := await engine.claim(worker, 10)).tasks:
        seen.append([(task.stage_name, task.key.part, task.input, task.spec) for task in claim.tasks])
        verdicts = await engine.complete([done(task, results.get(task.stage_name)) for task in claim.tasks])
        assert verdicts == [Verdict.OK] * len(claim.tasks)
    spec = {"name": "film"}
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
