"""A cancelled job, a revoked key and a disabled name stop a remote worker's run soon."""

from reelstate.core.machine import JobStatus, TaskStatus
from tests.remote.remote_fleet import TASKS, RemoteFleet


async def test_a_cancel_stops_a_run_at_once_and_a_revoked_key_its_worker(remote_fleet: RemoteFleet) -> None:
    remote_fleet.app = TASKS
    fleet = remote_fleet.fleet
    await remote_fleet.serve()
    far = await remote_fleet.worker("far", heartbeat=1200.0, stale_after=3600.0, worker_concurrency=2)
    first = await fleet.submit("long", work=[{"gate": "never"}])
    await fleet.wait_until(lambda: len(fleet.runs(job=first)) == 1, "a run has started")
    await fleet.engine.cancel(first, reason="test")
    await fleet.wait_until(lambda: len(fleet.runs("stopped", job=first)) == 1, "the run is stopped")

    second = await fleet.submit("long", work=[{"gate": "never"}])
    await fleet.wait_until(lambda: len(fleet.runs(job=second)) == 1, "a run has started")
    assert fleet.reel("workers", "revoke", "far") == {"name": "far", "keys": 1, "released": 1}
    await fleet.wait_until(lambda: len(fleet.runs("stopped", job=second)) == 1, "the run is stopped")
    assert await far.ended() == 1
    assert "not in force" in far.log
    (task,) = await fleet.tasks(second, stage="work")
    assert (task.status, task.attempt) == (TaskStatus.READY, 0)
    assert (await fleet.engine.job(second)).job.status is JobStatus.PROCESSING


async def test_a_disabled_worker_stops_its_run_and_continues_when_it_is_enabled(remote_fleet: RemoteFleet) -> None:
    remote_fleet.app = TASKS
    fleet = remote_fleet.fleet
    await remote_fleet.serve()
    far = await remote_fleet.worker("far", heartbeat=0.5)
    job = await fleet.submit("long", work=[{"gate": "open"}])
    await fleet.wait_until(lambda: len(fleet.runs(job=job)) == 1, "a run has started")
    assert fleet.reel("workers", "disable", "far") == {"name": "far", "released": 1}
    await fleet.wait_until(lambda: len(fleet.runs("stopped", job=job)) == 1, "the run is stopped")
    assert fleet.reel("workers", "enable", "far") == {"name": "far", "changed": []}
    await fleet.wait_until(lambda: len(fleet.runs(job=job)) == 2, "the same process runs it again")
    assert {run.pid for run in fleet.runs(job=job)} == {far.pid}
