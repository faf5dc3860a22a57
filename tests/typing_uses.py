"""Right and wrong uses of the public surface, for the type checker alone: nothing here is run.

Each wrong line names the error it must be reported with; `test_typing.py` compares, and `make lint` refuses an unused
`type: ignore`.
"""

from typing import assert_type

import reelstate as rs

clips = rs.Pipeline("clips")


@clips.stage(phase="validating")
async def probe(task: rs.Run) -> rs.Json:
    task.log("probed", level="warning")
    task.log("probed", level="loud")  # type: ignore[arg-type]
    task.state("ingest", 1, severity="error")
    task.state("ingest", 1, severity="fatal")  # type: ignore[arg-type]


@clips.stage(after=probe, phase=rs.JobStatus.PROCESSING)
def encode(task: rs.BlockingRun) -> None:
    task.progress(50.0, step="encode")
    task.progress("half")  # type: ignore[arg-type]


clips.stage(phase="proccessing")  # type: ignore[call-overload]
clips.stage(phase=rs.JobStatus.COMPLETED)  # type: ignore[call-overload]
clips.stage(atempts=3)  # type: ignore[call-overload]


async def nouns(reel: rs.Reel) -> None:
    assert_type(await reel.submit("clips", {"file": "a"}, priority="high", delay=5), rs.Submitted)
    await reel.submit("clips", priority="hihg")  # type: ignore[arg-type]
    await reel.submit("clips", prioritty=5)  # type: ignore[call-arg]
    await reel.submit("clips", run_after="tomorrow")  # type: ignore[arg-type]
    await reel.jobs.submit_many([rs.Submission(pipeline="clips", priority="urgent")])  # type: ignore[arg-type]
    await reel.videos.submit("a.mp4", title="A", idempotency_key="a")
    await reel.videos.submit("a.mp4", video=7)  # type: ignore[call-arg]
    await reel.videos.retranscode(7, priority="hihg")  # type: ignore[arg-type]
    assert_type(await reel.jobs.get(7), rs.JobDetail)
    assert_type(await reel.jobs.list(statuses=[rs.JobStatus.FAILED], user_id="ada"), rs.Page[rs.Job])
    await reel.jobs.list(status="failed")  # type: ignore[call-arg]
    await reel.videos.list(statuses=["ready"])  # type: ignore[list-item]
    await reel.jobs.history(7, part="first")  # type: ignore[arg-type]
    await reel.jobs.cancel(7, reason="not needed")
    await reel.jobs.cancel(7, because="not needed")  # type: ignore[call-arg]
    await reel.jobs.force(7, "completed")  # type: ignore[arg-type]
    await reel.videos.pin(7, 8, version="2")  # type: ignore[arg-type]
    await reel.engine.claim(1, 5, capabilities=["gpu"])
    await reel.engine.claim(1, 5, capability=["gpu"])  # type: ignore[call-arg]
    await reel.engine.register("far", hostname="far", software="1", kind="remote")
    await reel.engine.register("far", hostname="far", software="1", kind="cloud")  # type: ignore[arg-type]
    await reel.engine.register("far")  # type: ignore[call-arg]
    reel.events.subscribe(7, only=["task", "state"])
    reel.events.subscribe(7, only=["tasks"])  # type: ignore[list-item]
    assert_type(await reel.keys.create("ci", scopes=["jobs:read"]), rs.MadeKey)
    await reel.keys.create("ci", scope="jobs:read")  # type: ignore[call-arg]
    await reel.workers.register("far", days=7)  # type: ignore[call-arg]
    await reel.claim(1)  # type: ignore[attr-defined]
    async for event in reel.watch(7):
        assert_type(event, rs.Event)
        assert_type(event.stage, str | None)


def blocking(reel: rs.BlockingReel) -> None:
    assert_type(reel.submit("clips", {"file": "a"}, priority="high"), rs.Submitted)
    reel.submit("clips", priority="hihg")  # type: ignore[arg-type]
    reel.submit("clips", prioritty=5)  # type: ignore[call-arg]
    reel.videos.retranscode(7, priority="hihg")  # type: ignore[arg-type]
    assert_type(reel.wait(7), rs.JobDetail)
    reel.jobs.list(status="failed")  # type: ignore[call-arg]
    reel.jobs.cancel(7, because="not needed")  # type: ignore[call-arg]
    reel.events.subscribe(7, only=["tasks"])  # type: ignore[list-item]
    assert_type(reel.workers.list(), list[rs.Worker])
    assert_type(reel.keys.list(), list[rs.Key])
    reel.videos.pin(7, 8, version="2")  # type: ignore[arg-type]
    reel.claim(1)  # type: ignore[attr-defined]
    assert_type(reel.run(lambda engine: engine.claim(1)), rs.Claim)
    for event in reel.watch(7):
        assert_type(event, rs.Event)
    try:
        reel.jobs.get(7)
    except rs.NotFound as error:
        print(error.key, error.hint)  # noqa: T201
