import asyncio
import logging
import os
import sqlite3
from pathlib import Path

import pytest

from reelstate.app import dispatch_at
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.dispatch.signal import MAX_FILE_BYTES, WATCH_INTERVAL, SignalDispatch, WakeupFile
from tests.dispatch.conftest import StartNotifier, wait_for


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.db"
    sqlite3.connect(path).close()
    path.touch()
    return path


async def test_a_wakeup_reaches_its_own_process_at_once(database: Path) -> None:
    dispatch = SignalDispatch(database)
    listener = dispatch.listen()
    dispatch.notify(Wakeup.WORK)
    assert await listener.wait(0) == {Wakeup.WORK}
    await dispatch.close()


async def test_another_process_receives_a_wakeup(database: Path, start_notifier: StartNotifier) -> None:
    other = await start_notifier(f"sqlite:///{database}")
    dispatch = SignalDispatch(database)
    listener = dispatch.listen(EVERY_WAKEUP)
    for wakeup in Wakeup:
        other.notify(wakeup)
        assert await wait_for(listener, wakeup) == {wakeup}
    await dispatch.close()


async def test_a_process_does_not_receive_its_own_wakeups_again(database: Path) -> None:
    dispatch, neighbour = SignalDispatch(database), SignalDispatch(database)
    own, theirs = dispatch.listen(), neighbour.listen()
    dispatch.notify(Wakeup.WORK)
    assert await own.wait(0) == {Wakeup.WORK}
    await wait_for(theirs, Wakeup.WORK)
    neighbour.notify(Wakeup.STOP)
    assert await wait_for(own, Wakeup.STOP) == {Wakeup.STOP}, "and not the line it wrote itself"
    await dispatch.close()
    await neighbour.close()


async def test_the_last_wakeups_of_a_process_are_received(database: Path, start_notifier: StartNotifier) -> None:
    dispatch = SignalDispatch(database)
    listener = dispatch.listen()
    other = await start_notifier(f"sqlite:///{database}")
    other.notify(Wakeup.WORK, Wakeup.STOP)
    await other.end()
    received = await wait_for(listener, Wakeup.WORK)
    assert received | await listener.wait(WATCH_INTERVAL * 2) == {Wakeup.WORK, Wakeup.STOP}
    await dispatch.close()


async def test_earlier_wakeups_are_not_received(database: Path) -> None:
    WakeupFile(database).write([Wakeup.WORK])
    dispatch = SignalDispatch(database)
    listener = dispatch.listen(EVERY_WAKEUP)
    WakeupFile(database).write([Wakeup.STOP])
    assert await wait_for(listener, Wakeup.STOP) == {Wakeup.STOP}
    await dispatch.close()


async def test_a_removed_file_is_made_again(database: Path) -> None:
    dispatch, sender = SignalDispatch(database), WakeupFile(database)
    listener = dispatch.listen(EVERY_WAKEUP)
    sender.write([Wakeup.WORK])
    await wait_for(listener, Wakeup.WORK)
    sender.path.unlink()
    await wait_for(listener, Wakeup.WORK)  # the file is shorter than before: wake all
    sender.write([Wakeup.STOP])
    assert await wait_for(listener, Wakeup.STOP) == {Wakeup.STOP}
    await dispatch.close()


def test_the_file_does_not_grow_forever_and_truncating_it_wakes_all(database: Path) -> None:
    listening, sender = WakeupFile(database), WakeupFile(database)
    size = 0
    for _ in range(MAX_FILE_BYTES // 10):
        sender.write([Wakeup.WORK])
        before, size = size, sender.path.stat().st_size
        if size < before:
            assert listening.read_new() == set(Wakeup)
            return
        assert listening.read_new() == {Wakeup.WORK}
    pytest.fail("it grew and grew")


def test_unreadable_lines_wake_no_listener(database: Path) -> None:
    listening = WakeupFile(database)
    listening.path.write_bytes(b"\xff\xfe\nnoise\nsender gong\n")
    assert listening.read_new() == set()


async def test_it_watches_the_file_only_while_there_are_listeners(database: Path) -> None:
    dispatch = SignalDispatch(database)
    dispatch.listen().close()
    watching = dispatch._watching
    assert watching is not None
    await asyncio.wait_for(watching, 300)
    listener = dispatch.listen()
    WakeupFile(database).write([Wakeup.WORK])
    await wait_for(listener, Wakeup.WORK)
    await dispatch.close()


async def test_a_file_that_can_not_be_written_costs_one_warning(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    WakeupFile(database).path.mkdir()  # what a read-only folder does, also to root
    dispatch = SignalDispatch(database)
    listener = dispatch.listen()
    assert dispatch._batch is not None
    flush = dispatch._batch.flush
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            dispatch.notify(Wakeup.WORK)
            assert await listener.wait(0) == {Wakeup.WORK}
            flush()
    await dispatch.close()
    assert [record.name for record in caplog.records] == ["reelstate.dispatch"]
    assert "wake-up not sent" in caplog.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_read_only_folder_is_no_error(database: Path) -> None:
    database.parent.chmod(0o500)
    try:
        dispatch = SignalDispatch(database)
        dispatch.notify(Wakeup.WORK)
        await dispatch.close()
    finally:
        database.parent.chmod(0o700)
    assert not WakeupFile(database).path.exists()


async def test_a_database_in_memory_has_no_file() -> None:
    dispatch = dispatch_at("sqlite://")
    assert isinstance(dispatch, SignalDispatch)
    assert dispatch._file is None
    listener = dispatch.listen()
    dispatch.notify(Wakeup.WORK)
    assert await listener.wait(0) == {Wakeup.WORK}
    await dispatch.close()
