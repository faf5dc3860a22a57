"""Retries, leases and priorities as arithmetic."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.errors import InvalidRequest
from reelstate.core.policy import PRIORITIES, Backoff, attempts_after_retry, lease_expiry, priority_number
from tests.core.properties import quickly

NOW = datetime(2026, 1, 1, tzinfo=UTC)
seconds = st.floats(0.001, 1e6)
backoffs = st.builds(lambda base, more: Backoff(base, base + more), st.floats(0, 1e4), st.floats(0, 1e6))


def test_the_default_backoff_doubles_from_ten_seconds_to_five_minutes() -> None:
    assert [Backoff().ceiling(attempt) for attempt in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]


@quickly
@given(backoffs, st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_rest_is_between_nothing_and_its_ceiling(backoff: Backoff, attempt: int, dice: float) -> None:
    assert 0 <= backoff.delay(attempt, dice) <= backoff.ceiling(attempt) <= backoff.cap


@quickly
@given(backoffs, st.integers(1, 200))
def test_the_ceiling_never_falls_and_at_most_doubles(backoff: Backoff, attempt: int) -> None:
    now, then = backoff.ceiling(attempt), backoff.ceiling(attempt + 1)
    assert now <= then <= 2 * now or backoff.base == 0


@quickly
@given(backoffs, st.integers(-5, 1))
def test_the_first_ceiling_is_the_base(backoff: Backoff, attempt: int) -> None:
    assert backoff.ceiling(attempt) == backoff.base


@quickly
@given(seconds, st.none() | seconds, st.none() | seconds, st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_lease_ends_with_the_soonest_of_its_limits(
    lease: float, stall: float | None, timeout: float | None, since_claim: float, since_progress: float
) -> None:
    claimed = NOW - timedelta(seconds=since_claim)
    progress = max(claimed, NOW - timedelta(seconds=since_progress))
    expiry = lease_expiry(NOW, claimed, progress, lease=lease, stall_after=stall, timeout=timeout)
    limits = [NOW + timedelta(seconds=lease)]
    limits += [] if stall is None else [progress + timedelta(seconds=stall)]
    limits += [] if timeout is None else [claimed + timedelta(seconds=timeout)]
    assert expiry in limits
    assert all(expiry <= limit for limit in limits)


@pytest.mark.parametrize("number", range(11))
def test_whole_numbers_from_0_to_10_are_priorities(number: int) -> None:
    assert priority_number(number) == number


def test_four_priorities_have_names() -> None:
    assert {name: priority_number(name) for name in PRIORITIES} == {"low": 2, "normal": 5, "high": 8, "critical": 10}


@quickly
@given(
    st.integers().filter(lambda number: not 0 <= number <= 10) | st.text().filter(lambda text: text not in PRIORITIES)
)
def test_nothing_else_is_a_priority(value: int | str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        priority_number(value)
    assert refused.value.field == "priority"


@pytest.mark.parametrize("value", [True, False, 5.0, None, [5]])
def test_what_only_looks_like_a_number_is_no_priority(value: object) -> None:
    with pytest.raises(InvalidRequest):
        priority_number(value)  # type: ignore[arg-type]


@quickly
@given(st.integers(0, 1000), st.integers(1, 1000))
def test_a_retry_allows_the_stages_attempts_once_more(attempt: int, attempts: int) -> None:
    assert attempts_after_retry(attempt, attempts) - attempt == attempts
