import contextlib
import os
from pathlib import Path

from tests.worker import process_pipelines as processes
from tests.worker.local_workers import engine_for, run_worker, until, wait_inactive


async def test_handlers_in_processes_speak_like_the_others(database_url: str) -> None:
    async with (
        engine_for(database_url, processes.heavy) as engine,
        run_worker(engine, database_url, [processes.heavy]),
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


async def test_a_process_that_ends_badly_fails_with_its_last_words(database_url: str) -> None:
    async with (
        engine_for(database_url, processes.fragile) as engine,
        run_worker(engine, database_url, [processes.fragile]),
    ):
        hows = ("raise", "die", "exit", "not json")
        jobs = {how: await engine.submit("fragile", {"how": how}) for how in hows}
        causes = {how: (await wait_inactive(engine, job.id, 60)).job.error["cause"] for how, job in jobs.items()}
    assert causes["raise"] == {"type": "Fail", "message": "no such film"}
    assert causes["die"]["message"] == "its process was killed by SIGSEGV without a report"
    assert "the last words" in causes["die"]["stderr"]
    assert causes["exit"]["type"] == "SystemExit"
    assert "not JSON" in causes["not json"]["message"]


async def test_cancel_kills_the_process_and_all_that_it_started(database_url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with (
        engine_for(database_url, processes.fragile) as engine,
        run_worker(engine, database_url, [processes.fragile], heartbeat=30.0),
    ):
        job = await engine.submit("fragile", {"how": "hang", "pids": str(pids)})
        await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        found = [int(pid) for pid in pids.read_text().split()]
        assert all(map(_lives, found))
        await engine.cancel(job.id, reason="test")
        await until(lambda: not any(map(_lives, found)), 20.0)  # before a heartbeat


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
