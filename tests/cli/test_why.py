"""`reel why`, and what `reel job` says a job waits for."""

from reelstate.core.model import Submitted
from reelstate.engine import Engine
from tests.cli.conftest import Reel


async def one_job(engine: Engine) -> Submitted:
    return await engine.submit("fan")


def test_a_job_that_waits_is_explained(reel: Reel) -> None:
    job_id = reel.engine(one_job).id
    said = reel("why", job_id).text
    assert said.startswith(f"job {job_id} pending no_worker plan/0: no live worker serves pipeline fan")
    assert "stage work: waits for stage plan (0 of 1 done)" in said
    reel("pause", "--pipeline", "fan", "--reason", "new driver")
    assert "paused plan/0: pipeline fan is paused by operator" in reel("why", job_id, "plan/0").text
    found = reel("why", job_id, "--json").json
    assert (found["job"], found["runs"], [each["kind"] for each in found["reasons"]]) == (
        job_id,
        False,
        ["paused", "no_worker", "stage"],
    )
    assert found["reasons"][0]["data"]["reason"] == "new driver"


def test_a_job_shows_what_it_waits_for(reel: Reel) -> None:
    job_id = reel.engine(one_job).id
    reel("pause", "--all", "--reason", "power cut")
    assert "waits for: plan/0: everything is paused by operator" in reel("job", job_id).text
    assert [each["kind"] for each in reel("job", job_id, "--json").json["waits_for"]] == [
        "paused",
        "no_worker",
        "stage",
    ]
    reel("cancel", job_id)
    assert "waits for" not in reel("job", job_id).text
    assert "waits_for" not in {name for name, value in reel("job", job_id, "--json").json.items() if value}


def test_mistakes_say_what_to_do(reel: Reel) -> None:
    job_id = reel.engine(one_job).id
    for arguments, hint in [
        ((7,), "`reel jobs` lists jobs"),
        ((job_id, "plan/x"), "such as encode/17"),
        ((job_id, "encode"), "stages: plan, work, pack"),
        ((job_id, "plan/4"), "counted from 0"),
    ]:
        result = reel("why", *arguments)
        assert result.code != 0
        assert hint in result.stderr, arguments
