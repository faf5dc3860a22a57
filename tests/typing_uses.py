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


async def engine(reel: rs.Engine) -> None:
    assert_type(await reel.submit("clips", {"file": "a"}, priority="high", delay=5), rs.Submitted)
    await reel.submit("clips", priority="hihg")  # type: ignore[arg-type]
    await reel.submit("clips", prioritty=5)  # type: ignore[call-arg]
    await reel.submit("clips", run_after="tomorrow")  # type: ignore[arg-type]
    await reel.submit_many([rs.Submission(pipeline="clips", priority="urgent")])  # type: ignore[arg-type]
    await reel.submit_video("a.mp4", title="A", idempotency_key="a")
    await reel.submit_video("a.mp4", video=7)  # type: ignore[call-arg]
    await reel.retranscode(7, priority="hihg")  # type: ignore[arg-type]
    assert_type(await reel.job(7), rs.JobDetail)
    assert_type(await reel.jobs(statuses=[rs.JobStatus.FAILED], user_id="ada"), rs.Page[rs.Job])
    await reel.jobs(status="failed")  # type: ignore[call-arg]
    await reel.videos(statuses=["ready"])  # type: ignore[list-item]
    await reel.history(7, part="first")  # type: ignore[arg-type]
    await reel.cancel(7, reason="not needed")
    await reel.cancel(7, because="not needed")  # type: ignore[call-arg]
    await reel.force(7, "completed")  # type: ignore[arg-type]
    await reel.pin(7, 8, version="2")  # type: ignore[arg-type]
    await reel.claim(1, 5, capabilities=["gpu"])
    await reel.claim(1, 5, capability=["gpu"])  # type: ignore[call-arg]
    await reel.register("far", hostname="far", software="1", kind="remote")
    await reel.register("far", hostname="far", software="1", kind="cloud")  # type: ignore[arg-type]
    await reel.register("far")  # type: ignore[call-arg]
    reel.subscribe(7, only=["task", "state"])
    reel.subscribe(7, only=["tasks"])  # type: ignore[list-item]
    async for event in reel.watch(7):
        assert_type(event, rs.Event)
        assert_type(event.stage, str | None)


def blocking(reel: rs.Connection) -> None:
    assert_type(reel.submit("clips", {"file": "a"}, priority="high"), rs.Submitted)
    reel.submit("clips", priority="hihg")  # type: ignore[arg-type]
    reel.submit("clips", prioritty=5)  # type: ignore[call-arg]
    reel.retranscode(7, priority="hihg")  # type: ignore[arg-type]
    assert_type(reel.wait(7), rs.JobDetail)
    reel.jobs(status="failed")  # type: ignore[call-arg]
    reel.cancel(7, because="not needed")  # type: ignore[call-arg]
    reel.subscribe(7, only=["tasks"])  # type: ignore[list-item]
    for event in reel.watch(7):
        assert_type(event, rs.Event)
    try:
        reel.job(7)
    except rs.NotFound as error:
        print(error.key, error.hint)  # noqa: T201
