"""Whatever a process writes, leaves running or dies of, its task ends with an outcome that names it."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reelstate.core.machine import JobStatus
from reelstate.core.model import JobDetail
from tests.worker.local_workers import count_leased, engine_for, run_worker, wait_inactive
from tests.worker.process_pipelines import fragile


class BrokenStream(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


async def run_fragile(url: str, how: str, **spec: Any) -> JobDetail:
    async with (
        engine_for(url, fragile) as engine,
        run_worker(engine, url, [fragile], worker_concurrency=1) as worker,
    ):
        detail = await wait_inactive(engine, (await engine.submit("fragile", {"how": how, **spec})).id)
        assert (worker.running, await count_leased(engine)) == (0, 0)
    return detail


async def test_stderr_without_line_breaks_neither_blocks_nor_fails_a_run(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", BrokenStream())
    assert (await run_fragile(database_url, "much stderr")).outputs == {"step": "done"}


@pytest.mark.parametrize("how", ["left behind", "left behind, then exits"])
async def test_a_run_ends_though_a_process_it_left_running_holds_its_pipes(
    database_url: str, tmp_path: Path, how: str
) -> None:
    pid = tmp_path / "pid"
    try:
        detail = await run_fragile(database_url, how, pid=str(pid))
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    if how == "left behind":
        assert detail.outputs == {"step": "done"}
    else:
        assert detail.job.error["cause"]["message"] == "its process exited with 7 without a report"


@pytest.mark.parametrize(
    "how, message",
    [
        ("too large", "the result is 67,108,911 bytes, the limit is 67,108,864"),
        ("not serializable", "the result is not JSON: Object of type lock is not JSON serializable"),
        ("signal without a name", "its process was killed by signal 40 without a report"),
    ],
)
async def test_an_outcome_that_cant_be_sent_fails_with_the_reason(database_url: str, how: str, message: str) -> None:
    job = (await run_fragile(database_url, how)).job
    assert job.status is JobStatus.FAILED
    assert job.error["cause"]["message"] == message


def test_a_script_without_a_main_guard_fails_instead_of_running_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio\n"
        "import reelstate as rs\n"
        "video = rs.Pipeline('video')\n"
        "@video.stage(process=True)\n"
        "def cut(task): return 1\n"
        "async def main():\n"
        "    async with rs.open('sqlite:///jobs.db', pipelines=[video], workers=1) as reel:\n"
        "        job = await reel.submit('video')\n"
        "        print((await reel.wait(job.id, timeout=300)).job.error['cause']['message'])\n"
        "        print(len((await reel.jobs.list()).items), 'job')\n"
        "asyncio.run(main())\n"
    )
    answer = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert 'move the main program under `if __name__ == "__main__":`' in answer.stdout
    assert "1 job" in answer.stdout
