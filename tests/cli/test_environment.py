"""The checks of the environment in `reel doctor`: disks, ffmpeg, sandbox, storage, schema, clock, Redis."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reelstate.cli.environment import (
    FULL,
    NEARLY_FULL,
    Status,
    check_disks,
    check_free_space,
    check_redis,
    check_services,
)
from reelstate.config import Settings
from reelstate.connections.breaker import Circuit, CircuitHealth
from reelstate.dispatch.dispatch import DispatchHealth
from reelstate.engine import Engine
from tests.cli.conftest import Reel
from tests.engines import FakeClock

NAMES = ["disk", "ffmpeg", "sandbox", "storage", "schema", "clock", "flagged jobs", "redis"]


def test_doctor_checks_the_environment(reel: Reel) -> None:
    reel("migrate")
    result = reel("doctor", "--json", REEL_SCRATCH=str(reel.folder))
    assert result.code == 0
    found = {check["name"]: check for check in result.json["environment"]}
    assert list(found) == NAMES
    assert found["storage"]["status"] == found["schema"]["status"] == found["clock"]["status"] == "ok"
    assert not (reel.folder / "media").exists(), "a check creates nothing"
    shown = reel("doctor").stdout
    assert all(name in shown for name in NAMES)
    assert "healthy: every invariant holds" in shown


def test_a_storage_that_is_not_writable_is_an_error(reel: Reel) -> None:
    reel("migrate")
    (reel.folder / "file").write_text("no folder")
    result = reel("doctor", REEL_STORAGE_URL=str(reel.folder / "file" / "media"))
    assert result.code == 1
    assert "the environment has errors: storage" in result.text
    (reel.folder / "media").mkdir()
    fine = reel("doctor", "--json")
    assert [check["status"] for check in fine.json["environment"] if check["name"] == "storage"] == ["ok"]
    assert [path for path in (reel.folder / "media").rglob("*") if path.is_file()] == []


def test_a_disabled_sandbox_and_a_missing_ffmpeg_are_warnings(reel: Reel) -> None:
    reel("migrate")
    off = {check["name"]: check for check in reel("doctor", "--json", REEL_SANDBOX="off").json["environment"]}
    assert (off["sandbox"]["status"], off["sandbox"]["detail"]) == ("warning", "switched off")
    missing = reel("doctor", "--json", REEL_FFMPEG=str(reel.folder / "none")).json["environment"]
    assert {check["name"]: check["status"] for check in missing}["ffmpeg"] == "warning"


def test_disks_are_shown_without_a_database(reel: Reel) -> None:
    result = reel("doctor")
    assert result.code == 1
    assert "GiB free for" in result.text
    assert "there is no database" in result.text


@pytest.mark.parametrize(
    "free, status",
    [(0, Status.ERROR), (FULL - 1, Status.ERROR), (FULL, Status.WARNING), (NEARLY_FULL, Status.OK)],
)
def test_a_full_disk_is_an_error(free: int, status: Status) -> None:
    check = check_free_space("storage /media", free)
    assert (check.status, bool(check.hint)) == (status, status is not Status.OK)


def test_each_disk_is_checked_once_also_for_missing_folders(tmp_path: Path) -> None:
    (check,) = check_disks([("storage", tmp_path / "none" / "media"), ("scratch", tmp_path)])
    assert "storage" in check.detail
    assert "scratch" in check.detail


@pytest.mark.parametrize("hours, status", [(0, Status.OK), (1, Status.WARNING), (-1, Status.WARNING)])
async def test_a_wrong_clock_is_reported(engine: Engine, clock: FakeClock, hours: int, status: Status) -> None:
    clock.now = datetime.now(UTC) + timedelta(hours=hours)
    found = {check.name: check for check in await check_services(Settings(), engine)}
    assert found["clock"].status is status
    assert found["schema"].status is Status.OK


@pytest.mark.parametrize(
    "state, required, status",
    [
        (Circuit.CLOSED, True, Status.OK),
        (Circuit.OPEN, True, Status.ERROR),
        (Circuit.HALF_OPEN, False, Status.WARNING),
        (None, True, Status.OK),
    ],
)
def test_redis_is_an_error_only_if_dispatch_needs_it(state: Circuit | None, required: bool, status: Status) -> None:
    circuit = CircuitHealth(state, 1.0, 0, 0, "no route") if state else None
    assert check_redis(DispatchHealth("redis", "sorted", circuit), required=required).status is status
