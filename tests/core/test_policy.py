"""Retries and priorities as arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.errors import InvalidRequest
from reelstate.core.policy import PRIORITIES, Backoff, priority_number
from tests.core.properties import quickly

backoffs = st.builds(lambda base, more: Backoff(base, base + more), st.floats(0, 1e4), st.floats(0, 1e6))


def test_the_default_backoff_doubles_from_ten_seconds_to_five_minutes() -> None:
    assert [Backoff().ceiling(attempt) for attempt in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]


@quickly
@given(backoffs, st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_between_zero_and_its_ceiling(backoff: Backoff, attempt: int, dice: float) -> None:
    assert 0 <= backoff.delay(attempt, dice) <= backoff.ceiling(attempt) <= backoff.cap


@quickly
@given(backoffs, st.integers(1, 200))
def test_the_ceiling_never_falls_and_never_more_than_doubles(backoff: Backoff, attempt: int) -> None:
    now, then = backoff.ceiling(attempt), backoff.ceiling(attempt + 1)
    assert now <= then <= 2 * now or backoff.base == 0


@quickly
@given(backoffs, st.integers(-5, 1))
def test_the_first_ceiling_is_the_base(backoff: Backoff, attempt: int) -> None:
    assert backoff.ceiling(attempt) == backoff.base


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
