"""Messages are parsed as they were sent, also between this release and the next."""

import pytest
from pydantic import ValidationError

from reelstate.core.model import Claim, ClaimedTask, LogLine, Permit, Progress, Step, TaskKey, TaskState
from reelstate.remote.wire import ClaimAnswer, ProgressItem, ReportAnswer, WireClaimRequest

KEY = TaskKey(2**62, 3, 4)
TASK = ClaimedTask(KEY, 5, 1, 3, 0, 60.0, {"a": [1]}, None, "video", "encode", {"deep": {"é": None}}, strict_lease=True)


def test_a_claim_is_parsed_as_it_was_sent() -> None:
    other = ClaimedTask(TaskKey(2**62, 3, 5), 1, 2, 3, 1, 1.5, None, {"at": 7}, "video", "encode", TASK.spec)
    text = ClaimAnswer.of(Claim([TASK, other], isolated_waiting=True), ["one", "two"]).model_dump_json()
    assert text.count("deep") == 1
    permits: list[Permit] = []

    def permit(text: str) -> Permit:
        permits.append(Permit(text))
        return permits[-1]

    found = ClaimAnswer.model_validate_json(text).claim(permit)
    assert [each.text for each in permits] == ["one", "two"]
    assert found.isolated_waiting
    assert [each.permit for each in found.tasks] == permits
    for got, sent in zip(found.tasks, (TASK, other), strict=True):
        assert all(getattr(got, name) == getattr(sent, name) for name in got.__slots__ if name != "permit")


def test_a_report_is_parsed_as_it_was_sent() -> None:
    sent = Progress(
        key=KEY,
        token=5,
        percent=12.5,
        message="half",
        step="encode",
        checkpoint={"at": [1]},
        logs=(LogLine(message="m", level="warning", metadata={"a": 1}),),
        steps=(Step(number=1, argv=("x", "y"), exit_code=-9, seconds=0.5, output="o"),),
        states=(TaskState(number=1, tag="export", status=7, severity="error", payload=[1]),),
    )
    text = ProgressItem.of(sent, "permit").model_dump_json(exclude_defaults=True)
    found = ProgressItem.model_validate_json(text).record(KEY, 5)
    assert (found.percent, found.message, found.step, found.checkpoint) == (12.5, "half", "encode", {"at": [1]})
    assert (found.logs, found.states) == (sent.logs, sent.states)
    assert [list(step.argv) for step in found.steps] == [["x", "y"]]


def test_a_worker_ignores_unknown_fields_and_a_server_refuses_them() -> None:
    answer = ReportAnswer.model_validate_json('{"verdicts": ["ok"], "drain": false, "permits": [null], "news": 1}')
    assert answer.permits == [None]
    with pytest.raises(ValidationError, match="news"):
        WireClaimRequest.model_validate_json('{"worker_id": 1, "news": 1}')
