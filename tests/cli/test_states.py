"""`reel states`: the lowest state and the grid, as text and JSON."""

import json

from tests.cli import sample_jobs
from tests.cli.conftest import Reel


def test_the_lowest_state_is_shown_above_the_grid(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.reporting_states)
    lines = [line.strip() for line in reel("states", job_id).stdout.splitlines()]
    assert lines[0] == "part  🔴 -7 no disk  (task 0, export)"
    assert lines[1].split() == ["task", "export", "ingest"]
    assert lines[3].split() == ["0", "🔴", "-7", "no", "disk", "⚫", "finished"]
    assert lines[4].split() == ["1", "·", "🟡", "not", "started", "slow"]
    assert lines[5].split() == ["2", "·", "·"]


def test_states_are_printed_as_json(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.reporting_states)
    document = reel("states", job_id, "--json").json
    (stage,) = document["stages"]
    assert document["lowest"] == stage["lowest"]
    assert (stage["name"], stage["job"], stage["tasks"]) == ("part", f"{job_id}.part", 3)
    assert [(state["task"], state["tag"], state["version"], state["status"]) for state in stage["states"]] == [
        (0, "export", 1, -7),
        (0, "ingest", 2, 2147483647),
        (1, "ingest", 1, 0),
    ]
    assert "🔴" not in json.dumps(document, ensure_ascii=False)


def test_states_are_filtered_by_stage_and_tag(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.reporting_states)
    for scope in ([job_id, "--stage", "part"], [f"{job_id}.part"]):
        document = reel("states", *scope, "--tag", "ingest", "--json").json
        assert (document["lowest"]["task"], document["lowest"]["status"]) == (1, 0)
        assert {state["tag"] for state in document["stages"][0]["states"]} == {"ingest"}
    later = reel("states", job_id, "--tag", "later", "--json").json["lowest"]
    assert (later["task"], later["tag"], later["status"]) == (0, "later", 0)


def test_states_of_a_job_of_the_state_manager(reel: Reel) -> None:
    name = reel.engine(sample_jobs.manager_states)
    assert reel("states", name, "--json").json["lowest"]["status"] == 1
    assert "nightly  🟢 1 started" in reel("states", name).stdout


def test_a_job_without_states(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.waiting)
    assert "no states reported" in reel("states", job_id).stdout
    assert reel("states", job_id, "--json").json == {"lowest": None, "stages": []}
    result = reel("states", "nowhere")
    assert (result.code, "nowhere" in result.stderr) == (1, True)


def test_follow_prints_every_state_until_the_job_is_inactive(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.completed_with_states)
    lines = [json.loads(line) for line in reel("states", job_id, "--follow", "--json").stdout.splitlines()]
    assert [(line["task"], line["tag"], line["version"]) for line in lines] == [
        (0, "ingest", 1),
        (0, "ingest", 2),
        (0, "export", 1),
        (1, "ingest", 1),
    ]
    text = reel("states", job_id, "--follow", "--tag", "ingest").stdout.splitlines()
    assert [line.split(f"{job_id}.part/")[1] for line in text] == [
        "0 ingest 🟢 40 almost [bold]half",
        "0 ingest ⚫ finished",
        "1 ingest 🟡 not started slow",
    ]
