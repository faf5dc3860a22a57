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


class Listener:
    """What a task would be told, in place of one that runs."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    def note(self, percent: float | None = None, message: str | None = None, **_: Any) -> None:
        assert percent is None, "how far it is stays as it was"
        self.heard.put_nowait(message or "")


async def test_what_takes_long_is_told_again_and_again_until_it_is_over() -> None:
    listener: Any = Listener()
    async with asyncio.timeout(300), report_waiting(listener, "storing", every=0.01):
        told = [await listener.heard.get() for _ in range(3)]
        assert all(words.startswith("storing") for words in told)
        assert len(set(told)) == 3, "the same words again would be no progress"
    before = listener.heard.qsize()
    await asyncio.sleep(0.05)
    assert listener.heard.qsize() == before


TASK: Any = SimpleNamespace(job_id=7, stage="encode", part=3, token=1)


async def test_a_folder_is_deleted_beside_the_loop_which_others_wait_for(
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


async def test_a_folder_goes_with_a_task_that_is_stopped_whenever_that_is(tmp_path: Path) -> None:
    here = MediaTools.from_settings(Settings(scratch=str(tmp_path), storage_url=str(tmp_path / "media")))

    async def work() -> None:
        async with here.folder(TASK):
            await asyncio.Event().wait()

    for turns in range(6):
        task = asyncio.create_task(work())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert names_in(tmp_path) == []
