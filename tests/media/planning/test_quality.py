"""A job by its qualities, for every way a chunk can go."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Json, Task
from reelstate.media.planning.quality import Ladder, Quality, QualityStatus, list_qualities, read_ladder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LADDER = Ladder((("720p", True), ("360p", False)), (("1080p", "higher than the source"),), (5, 5, 2))


def a_task(part: int, status: TaskStatus, **fields: Any) -> Task:
    empty: dict[str, Any] = dict.fromkeys(Task.__dataclass_fields__)
    given = {"job_id": 1, "stage": 4, "stage_name": "encode", "token": 1, "attempt": 1, "max_attempts": 3, "percent": 0}
    return Task(**{**empty, **given, "part": part, "status": status, **fields})


def done(part: int, *made: str, failed: Json = None, at: int = 0) -> Task:
    result: Json = {"chunk": part, "rungs": {name: {"segments": []} for name in made}, "failed": failed or {}}
    times = {"started_at": NOW + timedelta(seconds=part), "finished_at": NOW + timedelta(seconds=at)}
    return a_task(part, TaskStatus.DONE, result=result, **times)


def ready(part: int, **fields: Any) -> Task:
    return a_task(part, TaskStatus.READY, attempt=0, **fields)


def by_name(*tasks: Task) -> dict[str, Quality]:
    return {found.quality: found for found in list_qualities(LADDER, tasks)}


def test_before_the_first_task_every_quality_is_pending_and_a_skipped_one_has_a_reason() -> None:
    assert list_qualities(LADDER, []) == [
        Quality(quality="720p", required=True, status=QualityStatus.PENDING, segments_total=12),
        Quality(quality="360p", required=False, status=QualityStatus.PENDING, segments_total=12),
        Quality(quality="1080p", required=False, status=QualityStatus.SKIPPED, error_message="higher than the source"),
    ]
    assert by_name(ready(0), ready(1), ready(2))["720p"].status is QualityStatus.PENDING


def test_segments_count_when_their_chunk_is_done_and_the_percentage_moves_before() -> None:
    running = a_task(1, TaskStatus.RUNNING, percent=40.0, started_at=NOW)
    found = by_name(done(0, "720p", "360p"), running, ready(2))["720p"]
    assert (found.status, found.segments_completed, found.segments_total) == (QualityStatus.IN_PROGRESS, 5, 12)
    assert found.progress_percent == pytest.approx(100 * (5 + 2) / 12)
    assert (found.started_at, found.completed_at) == (NOW, None)


def test_a_quality_is_completed_with_its_last_chunk() -> None:
    both = ("720p", "360p")
    found = by_name(done(0, *both, at=50), done(1, *both, at=90), done(2, *both, at=70))["360p"]
    assert (found.status, found.segments_completed, found.progress_percent) == (QualityStatus.COMPLETED, 12, 100.0)
    assert (found.started_at, found.completed_at) == (NOW, NOW + timedelta(seconds=90))


def test_a_rung_that_failed_in_one_chunk_is_failed_and_the_others_are_not() -> None:
    found = by_name(done(0, "720p", "360p"), done(1, "720p", failed={"360p": "no memory"}), done(2, "720p", "360p"))
    assert found["720p"].status is QualityStatus.COMPLETED
    assert (found["360p"].status, found["360p"].error_message) == (QualityStatus.FAILED, "chunk 1: no memory")
    assert found["360p"].segments_completed == 7
    assert found["360p"].completed_at is None


def test_a_rung_that_a_chunk_does_not_mention_was_not_made() -> None:
    found = by_name(done(0, "720p"), ready(1), ready(2))["360p"]
    assert (found.status, found.error_message) == (QualityStatus.FAILED, "chunk 0: it was not made")


@pytest.mark.parametrize(
    "error, words",
    [({"type": "Fail", "message": "bad input"}, "bad input"), ("it broke", "it broke"), (None, "it failed")],
)
def test_a_chunk_that_failed_for_good_fails_every_quality(error: Json, words: str) -> None:
    task = a_task(1, TaskStatus.ERROR, error=error, started_at=NOW, finished_at=NOW)
    found = by_name(done(0, "720p", "360p"), task, ready(2))
    assert {name: found[name].error_message for name in ("720p", "360p")} == dict.fromkeys(
        ("720p", "360p"), f"chunk 1: {words}"
    )
    assert found["720p"].status is QualityStatus.FAILED


def test_a_chunk_that_failed_at_one_rung_blames_no_other() -> None:
    error = {"type": "RungFailed", "message": "360p: no memory"}
    task = a_task(0, TaskStatus.ERROR, error=error, started_at=NOW, finished_at=NOW)
    found = by_name(task, ready(1), ready(2))
    assert (found["360p"].status, found["360p"].error_message) == (QualityStatus.FAILED, "chunk 0: no memory")
    assert (found["720p"].status, found["720p"].error_message) == (QualityStatus.PENDING, "chunk 0: 360p failed")
    other = by_name(replace(task, error={"type": "RungFailed", "message": "9000p: no memory"}), ready(1), ready(2))
    assert {found.status for found in other.values()} == {QualityStatus.FAILED, QualityStatus.SKIPPED}


def test_a_quality_of_an_earlier_version_is_complete_and_names_that_version() -> None:
    ladder = replace(LADDER, reused=("1080p", "90p"), reused_from=7)
    found = {each.quality: each for each in list_qualities(ladder, [done(0, "720p")])}
    for name in ladder.reused:
        assert found[name] == Quality(
            quality=name, required=False, status=QualityStatus.COMPLETED, segments_total=12, segments_completed=12,
            progress_percent=100.0, reused_from=7,
        )  # fmt: skip
    assert found["720p"].reused_from is None


def test_a_chunk_that_will_be_tried_again_has_not_failed() -> None:
    task = a_task(1, TaskStatus.ERROR, error="it broke", run_after=NOW, started_at=NOW)
    assert by_name(done(0, "720p"), task, ready(2))["720p"].status is QualityStatus.IN_PROGRESS


def test_a_cancelled_chunk_ends_its_qualities() -> None:
    task = a_task(2, TaskStatus.CANCELLED, finished_at=NOW)
    found = by_name(done(0, "720p"), done(1, "720p"), task)["720p"]
    assert (found.status, found.error_message) == (QualityStatus.FAILED, "chunk 2: cancelled")


def test_a_percentage_is_100_only_at_the_end() -> None:
    running = [a_task(part, TaskStatus.RUNNING, percent=100.0, started_at=NOW) for part in range(3)]
    assert by_name(*running)["720p"].progress_percent == 99.9


def test_the_ladder_is_read_from_the_results_of_the_stages() -> None:
    plan = {"rungs": [{"name": "720p", "required": True}, {"name": "360p", "required": False}]}
    chunks = [
        {"number": 0, "segments": [60] * 5},
        {"number": 1, "segments": [60] * 5},
        {"number": 2, "segments": [60, 9]},
    ]
    results = {"plan": {**plan, "skipped": [["1080p", "higher than the source"]]}, "fetch": {"chunks": chunks}}
    assert read_ladder(results) == LADDER
    assert read_ladder({"plan": plan}) == Ladder((("720p", True), ("360p", False)))
    assert read_ladder({}) is None
    assert read_ladder({"plan": "something else"}) is None
