import pytest

import reelstate as rs
from reelstate.core.model import ClaimedTask, Completion, Failure
from reelstate.core.outcome import completion, outcome_of

KEY = rs.TaskKey(1, 0, 0)
TASK = ClaimedTask(KEY, 7, 1, 3, 0, 60.0, None, None, "video", "cut", {})


def test_a_result_is_a_completion() -> None:
    assert completion(TASK, {"a": 1}) == Completion(key=KEY, token=7, result={"a": 1})


def test_nothing_to_do_counts_as_finished_with_a_reason() -> None:
    assert outcome_of(TASK, rs.Skip("no sound")) == Completion(
        key=KEY, token=7, result={"skipped": "no sound"}, skipped=True
    )


def test_fail_is_not_tried_again() -> None:
    error = {"type": "Fail", "message": "not a video"}
    assert outcome_of(TASK, rs.Fail("not a video")) == Failure(key=KEY, token=7, error=error, retryable=False)


@pytest.mark.parametrize("after, retry_in", [(None, None), (30, 30), (-5, 0.0)])
def test_retry_waits_for_the_given_delay(after: float | None, retry_in: float | None) -> None:
    error = {"type": "Retry", "message": "busy"}
    assert outcome_of(TASK, rs.Retry("busy", after=after)) == Failure(key=KEY, token=7, error=error, retry_in=retry_in)


def test_any_other_error_is_retried_and_has_its_origin() -> None:
    with pytest.raises(ValueError, match="secret") as raised:
        _break()
    found = outcome_of(TASK, raised.value)
    assert isinstance(found, Failure)
    assert found.retryable
    assert found.error["type"] == "ValueError"
    assert "test_outcome.py" in found.error["trace"]
    assert "secret" not in str(found.error)
    assert found.error["message"] == "at postgresql://reel:***@host/name"


def _break() -> None:
    raise ValueError("at postgresql://reel:secret@host/name")
