import asyncio
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reelstate.config import Settings
from reelstate.media.tools import MediaTools, report_waiting
from tests.media.processes import names_in
from tests.waiting import let_others_run


class FakeTask:
    """Records the messages that a running task would report."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[str] = asyncio.Queue()

    def note(self, percent: float | None = None, message: str | None = None, **_: Any) -> None:
        assert percent is None, "the percentage stays unchanged"
        self.messages.put_nowait(message or "")


async def test_a_long_step_is_reported_repeatedly_until_it_ends() -> None:
    task: Any = FakeTask()
    async with asyncio.timeout(300), report_waiting(task, "storing", every=0.01):
        messages = [await task.messages.get() for _ in range(3)]
        assert all(message.startswith("storing") for message in messages)
        assert len(set(messages)) == 3, "a repeated message would be no progress"
    before = task.messages.qsize()
    await asyncio.sleep(0.05)  # a time in which nothing may be reported
    assert task.messages.qsize() == before


TASK: Any = SimpleNamespace(job_id=7, stage="encode", part=3, token=1)


async def test_a_folder_is_deleted_in_a_thread_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, rmtree = [], shutil.rmtree

    def seen(*arguments: Any, **options: Any) -> None:
        threads.append(threading.current_thread())
        rmtree(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", seen)
    here = MediaTools.from_settings(Settings(scratch=str(tmp_path), storage_url=str(tmp_path / "media")))
    (tmp_path / "reel-7-encode-3-0-killed").mkdir()
    async with here.folder(TASK) as folder:
        assert names_in(tmp_path) == [folder.name]
    assert names_in(tmp_path) == []
    assert len(threads) == 2
    assert threading.main_thread() not in threads


async def test_the_folder_of_a_task_is_deleted_whenever_the_task_is_cancelled(tmp_path: Path) -> None:
    here = MediaTools.from_settings(Settings(scratch=str(tmp_path), storage_url=str(tmp_path / "media")))

    async def work() -> None:
        async with here.folder(TASK):
            await asyncio.Event().wait()

    for turns in range(6):
        task = asyncio.create_task(work())
        await let_others_run(turns)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert names_in(tmp_path) == []
