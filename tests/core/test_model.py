"""The records: keys are parsed back from text, workers have one shown status."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import TaskKey, Worker
from tests.core.properties import quickly


@quickly
@given(st.integers(0, 2**62), st.integers(0, 2**15), st.integers(0, 2**31))
def test_a_key_reads_back_from_its_text(job_id: int, stage: int, part: int) -> None:
    key = TaskKey(job_id, stage, part)
    assert TaskKey.parse(str(key)) == key


@pytest.mark.parametrize("text", ["", "1", "1/2", "1/2/3/4", "a/0/0", "1/-1/0", "1/ 2/3", "1//3", "1/2/3 "])
def test_an_invalid_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        TaskKey.parse(text)
    assert refused.value.field == "task"


@pytest.mark.parametrize(
    "status, enabled, running, shown",
    [
        (WorkerStatus.ACTIVE, True, 0, "idle"),
        (WorkerStatus.ACTIVE, True, 2, "busy"),
        (WorkerStatus.DRAINING, True, 2, "draining"),
        (WorkerStatus.OFFLINE, True, 2, "offline"),
        (WorkerStatus.ACTIVE, False, 2, "disabled"),
        (WorkerStatus.OFFLINE, False, 0, "disabled"),
    ],
)
def test_a_worker_has_one_status_to_show(status: WorkerStatus, enabled: bool, running: int, shown: str) -> None:
    worker = Worker(
        id=1,
        name="w",
        hostname="h",
        software="s",
        kind="local",
        slots=2,
        capabilities=frozenset(),
        pipelines=frozenset(),
        metadata=None,
        status=status,
        enabled=enabled,
        running=running,
        stuck=0,
        version=1,
        registered_at=datetime(2026, 1, 1, tzinfo=UTC),
        last_heartbeat_at=None,
    )
    assert worker.shown == shown
