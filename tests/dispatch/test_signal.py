import asyncio
import logging
import os
import sqlite3
from pathlib import Path

import pytest

from reelstate.app import dispatch_at
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.dispatch.signal import LARGEST_FILE, LOOK_EVERY, SignalDispatch, WakeupFile
from tests.dispatch.conftest import Ringer, heard


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.db"
    sqlite3.connect(path).close()
    path.touch()
    return path


async def test_a_ring_is_heard_in_its_own_process_at_once(database: Path) -> None:
    dispatch = SignalDispatch(database)
    listener = dispatch.listen()
    dispatch.notify(Wakeup.WORK)
    assert await listener.wait(0) == {Wakeup.WORK}
    await dispatch.close()


async def test_another_process_hears_which_bell_was_rung(database: Path, ringer: Ringer) -> None:
    other = await ringer(f"sqlite:///{database}")
    dispatch = SignalDispatch(database)
    listener = dispatch.listen(EVERY_WAKEUP)
    for bell in Wakeup:
        other.notify(bell)
        assert await heard(listener, bell) == {bell}
    await dispatch.close()


async def test_what_a_process_rings_itself_does_not_come_back_to_it(database: Path) -> None:
    dispatch, neighbour = SignalDispatch(database), SignalDispatch(database)
    own, theirs = dispatch.listen(), neighbour.listen()
    dispatch.notify(Wakeup.WORK)
    assert await own.wait(0) == {Wakeup.WORK}
    await heard(theirs, Wakeup.WORK)
    neighbour.notify(Wakeup.STOP)
    assert await heard(own, Wakeup.STOP) == {Wakeup.STOP}, "and not the line it wrote itself"
    await dispatch.close()
    await neighbour.close()


async def test_a_process_that_ends_after_its_rings_was_heard(database: Path, ringer: Ringer) -> None:
    dispatch = SignalDispatch(database)
    listener = dispatch.listen()
    other = await ringer(f"sqlite:///{database}")
    other.notify(Wakeup.WORK, Wakeup.STOP)
    await other.end()
    rung = await heard(listener, Wakeup.WORK)
    assert rung | await listener.wait(LOOK_EVERY * 2) == {Wakeup.WORK, Wakeup.STOP}
    await dispatch.close()


async def test_what_was_rung_before_is_not_heard(database: Path) -> None:
    WakeupFile(database).write([Wakeup.WORK])
    dispatch = SignalDispatch(database)
    listener = dispatch.listen(EVERY_WAKEUP)
    WakeupFile(database).write([Wakeup.STOP])
    assert await heard(listener, Wakeup.STOP) == {Wakeup.STOP}
    await dispatch.close()


async def test_a_removed_file_is_made_again(database: Path) -> None:
    dispatch, ringing = SignalDispatch(database), WakeupFile(database)
    listener = dispatch.listen(EVERY_WAKEUP)
    ringing.write([Wakeup.WORK])
    await heard(listener, Wakeup.WORK)
    ringing.path.unlink()
    await heard(listener, Wakeup.WORK)  # something was there that is gone: ring all
    ringing.write([Wakeup.STOP])
    assert await heard(listener, Wakeup.STOP) == {Wakeup.STOP}
    await dispatch.close()


def test_the_file_does_not_grow_for_ever_and_a_new_beginning_rings_all(database: Path) -> None:
    ears, ringing = WakeupFile(database), WakeupFile(database)
    size = 0
    for _ in range(LARGEST_FILE // 10):
        ringing.write([Wakeup.WORK])
        before, size = size, ringing.path.stat().st_size
        if size < before:
            assert ears.news() == set(Wakeup)
            return
        assert ears.news() == {Wakeup.WORK}
    pytest.fail("it grew and grew")


def test_lines_that_nobody_can_read_ring_nothing(database: Path) -> None:
    ears = WakeupFile(database)
    ears.path.write_bytes(b"\xff\xfe\nnoise\nsomebody gong\n")
    assert ears.news() == set()


async def test_it_looks_only_while_somebody_listens(database: Path) -> None:
    dispatch = SignalDispatch(database)
    dispatch.listen().close()
    looking = dispatch._looking
    assert looking is not None
    await asyncio.wait_for(looking, 300)
    listener = dispatch.listen()
    WakeupFile(database).write([Wakeup.WORK])
    await heard(listener, Wakeup.WORK)
    await dispatch.close()


async def test_a_place_that_can_not_be_written_to_costs_one_warning(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    WakeupFile(database).path.mkdir()  # what a read-only folder does, also to root
    dispatch = SignalDispatch(database)
    listener = dispatch.listen()
    assert dispatch._merged is not None
    flush = dispatch._merged.flush
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            dispatch.notify(Wakeup.WORK)
            assert await listener.wait(0) == {Wakeup.WORK}
            flush()
    await dispatch.close()
    assert [record.name for record in caplog.records] == ["reelstate.dispatch"]
    assert "can't ring" in caplog.text


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
