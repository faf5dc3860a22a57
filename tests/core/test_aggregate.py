"""Many statuses as one, many tasks as one number."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.aggregate import URGENCY, Counters, StageProgress, lowest, percent, remaining_time, stage_status
from reelstate.core.machine import TaskStatus
from tests.core.properties import quickly

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_statuses_are_ordered_and_error_comes_first() -> None:
    assert set(URGENCY) == set(TaskStatus)
    assert len(URGENCY) == len(TaskStatus)
    assert URGENCY[0] is TaskStatus.ERROR


@quickly
@given(st.lists(st.sampled_from(TaskStatus), min_size=1))
def test_the_lowest_is_one_of_them_and_none_is_lower(statuses: list[TaskStatus]) -> None:
    found = lowest(statuses)
    assert found in statuses
    assert all(URGENCY.index(found) <= URGENCY.index(status) for status in statuses)


def test_nothing_at_all_is_new() -> None:
    assert lowest([]) is TaskStatus.NEW


@pytest.mark.parametrize(
    "counters, required, running, expected",
    [
        (None, True, 0, "new"),
        (Counters(total=0), True, 0, "skipped"),
        (Counters(total=3), True, 0, "ready"),
        (Counters(total=3), True, 2, "running"),
        (Counters(total=3, done=2), True, 0, "ready"),
        (Counters(total=3, done=3), True, 0, "done"),
        (Counters(total=3, skipped=3), True, 0, "skipped"),
        (Counters(total=3, done=1, skipped=2), True, 0, "done"),
        (Counters(total=3, failed=1), True, 2, "error"),
        (Counters(total=3, done=2, failed=1), True, 0, "error"),
        (Counters(total=3, done=2, failed=1), False, 0, "done"),
        (Counters(total=3, failed=3), False, 0, "done"),
        (Counters(total=3, failed=1), False, 1, "running"),
        (Counters(total=3, failed=1), False, 0, "ready"),
    ],
)
def test_a_stage_has_one_status_for_all_its_tasks(
    counters: Counters | None, required: bool, running: int, expected: str
) -> None:
    assert stage_status(counters, required=required, running=running) == expected


@st.composite
def stages(draw: st.DrawFn) -> StageProgress:
    total = draw(st.none() | st.integers(0, 50))
    finished = draw(st.integers(0, total or 0))
    running = draw(st.integers(0, (total or 0) - finished))
    percents = [draw(st.floats(0, 100)) for _ in range(min(running, 3))]
    return StageProgress(
        weight=draw(st.floats(0.1, 100)), total=total, finished=finished, running_percent=sum(percents)
    )


@quickly
@given(st.lists(stages()))
def test_progress_is_a_percentage(given_stages: list[StageProgress]) -> None:
    assert 0 <= percent(given_stages) <= 100


@quickly
@given(st.lists(st.floats(0.1, 100), min_size=1), st.integers(0, 9))
def test_a_job_is_through_when_every_stage_is(weights: list[float], total: int) -> None:
    through = [StageProgress(weight=weight, total=total, finished=total, running_percent=0) for weight in weights]
    assert percent(through) == pytest.approx(100)


def test_stages_count_by_weight_and_unopened_ones_as_nothing() -> None:
    half = StageProgress(weight=3, total=4, finished=1, running_percent=100.0)
    unopened = StageProgress(weight=1, total=None, finished=0, running_percent=0)
    assert percent([half, unopened]) == pytest.approx(50 * 3 / 4)
    assert percent([]) == 0


@pytest.mark.parametrize("done, expected", [(50, 60), (25, 180), (100, 0), (75, 20)])
def test_the_remaining_time_follows_from_the_pace_so_far(done: float, expected: float) -> None:
    assert remaining_time(done, NOW - timedelta(seconds=60), NOW) == timedelta(seconds=expected)


def test_without_a_pace_there_is_no_estimate() -> None:
    assert remaining_time(0, NOW - timedelta(seconds=60), NOW) is None
    assert remaining_time(50, NOW, NOW) is None
