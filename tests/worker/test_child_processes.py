import contextlib
import os
from pathlib import Path

from tests.waiting import until
from tests.worker import process_pipelines
from tests.worker.local_workers import engine_for, run_worker, wait_inactive


async def test_handlers_in_processes_report_like_the_others(database_url: str) -> None:
    async with (
        engine_for(database_url, process_pipelines.heavy) as engine,
        run_worker(engine, database_url, [process_pipelines.heavy]),
    ):
        job = await engine.submit("heavy")
        detail = await wait_inactive(engine, job.id, 60)
        tasks = (await engine.tasks(job.id, stage="cut")).items
        lines = (await engine.logs(job.id)).items
        steps = (await engine.steps(job.id)).items
    assert detail.outputs == {"pack": [0, 1, 2]}
    assert sorted((step.part, step.number, step.argv, step.exit_code) for step in steps) == [
        (part, 1, ["cut", f"{part}"], 0) for part in range(3)
    ]
    assert {task.checkpoint["part"] for task in tasks} == {0, 1, 2}
    assert len({task.result["pid"] for task in tasks} | {os.getpid()}) == 4
    assert [task.result["plan"] for task in tasks] == [{"parts": 3}] * 3
    assert sorted(line.metadata["part"] for line in lines) == [0, 1, 2]


async def test_a_process_that_dies_fails_its_task_with_its_stderr(database_url: str) -> None:
    async with (
        engine_for(database_url, process_pipelines.fragile) as engine,
        run_worker(engine, database_url, [process_pipelines.fragile]),
    ):
        kinds = ("raise", "die", "exit", "not json")
        jobs = {how: await engine.submit("fragile", {"how": how}) for how in kinds}
        causes = {how: (await wait_inactive(engine, job.id, 60)).job.error["cause"] for how, job in jobs.items()}
    assert causes["raise"] == {"type": "Fail", "message": "no such video"}
    assert causes["die"]["message"] == "its process was killed by SIGSEGV without a report"
    assert "last line of stderr" in causes["die"]["stderr"]
    assert causes["exit"]["type"] == "SystemExit"
    assert "not JSON" in causes["not json"]["message"]


async def test_cancel_kills_the_process_and_its_children(database_url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with (
        engine_for(database_url, process_pipelines.fragile) as engine,
        run_worker(engine, database_url, [process_pipelines.fragile], heartbeat=600.0, stale_after=1800.0),
    ):
        job = await engine.submit("fragile", {"how": "hang", "pids": str(pids)})
        await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        found = [int(pid) for pid in pids.read_text().split()]
        assert all(map(_is_alive, found))
        await engine.cancel(job.id, reason="test")
        await until(lambda: not any(map(_is_alive, found)))  # before the next heartbeat


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
