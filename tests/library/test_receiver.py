"""A stopped sender keeps the lock of its file until its last bytes are written."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reelstate.artifacts.folder import Folder
from reelstate.artifacts.spool import Spool
from reelstate.library.receiver import UploadReceiver
from reelstate.library.uploads import UploadLimits, Uploads
from tests.engines import engine_at


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_a_file_is_locked_until_its_last_bytes_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, may = threading.Event(), threading.Event()

    def slow(descriptor: int) -> None:
        writing.set()
        assert may.wait(300)
        os.fsync(descriptor)

    spool = Spool(tmp_path / "spool")
    async with engine_at(f"sqlite:///{tmp_path / 'jobs.db'}") as engine:
        uploads = Uploads(engine.store, lifetime=60.0, limits=UploadLimits(open=2, unused=100, bytes=2**40))
        reception = UploadReceiver(uploads, Folder(tmp_path / "media"), spool, limit=100, idle=20.0)
        upload = await reception.create(user_id="ada", length=5)
        monkeypatch.setattr(os, "fdatasync", slow)
        receiving = asyncio.create_task(reception.receive(upload, once(b"video")))
        await asyncio.to_thread(writing.wait, 300)
        receiving.cancel()
        await asyncio.wait({receiving}, timeout=0.2)
        with spool.held(upload.id) as descriptor:
            assert descriptor is None, "another task may already write to it"
        may.set()
        with pytest.raises(asyncio.CancelledError):
            await receiving
        with spool.held(upload.id) as descriptor:
            assert descriptor is not None
        assert (await uploads.find(upload.id)).received == 5
