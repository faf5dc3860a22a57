"""states: the aggregate and the grid, for people and programs."""

import json

from tests.cli import scenes
from tests.cli.conftest import Reel


def test_a_grid_has_the_lowest_state_above_it(reel: Reel) -> None:
    job_id = reel.engine(scenes.speaking)
    lines = [line.strip() for line in reel("states", job_id).stdout.splitlines()]
    assert lines[0] == "part  🔴 -7 no disk  (task 0, export)"
    assert lines[1].split() == ["task", "export", "ingest"]
    assert lines[3].split() == ["0", "🔴", "-7", "no", "disk", "⚫", "finished"]
    assert lines[4].split() == ["1", "·", "🟡", "not", "started", "slow"]
    assert lines[5].split() == ["2", "·", "·"]


def test_states_for_programs(reel: Reel) -> None:
    job_id = reel.engine(scenes.speaking)
    told = reel("states", job_id, "--json").json
    (stage,) = told["stages"]
    assert told["lowest"] == stage["lowest"]
    assert (stage["name"], stage["job"], stage["tasks"]) == ("part", f"{job_id}.part", 3)
    assert [(state["task"], state["tag"], state["version"], state["status"]) for state in stage["states"]] == [
        (0, "export", 1, -7),
        (0, "ingest", 2, 2147483647),
        (1, "ingest", 1, 0),
    ]
    assert "🔴" not in json.dumps(told, ensure_ascii=False)


def test_states_are_narrowed_to_a_stage_and_a_tag(reel: Reel) -> None:
    job_id = reel.engine(scenes.speaking)
    for scope in ([job_id, "--stage", "part"], [f"{job_id}.part"]):
        told = reel("states", *scope, "--tag", "ingest", "--json").json
        assert (told["lowest"]["task"], told["lowest"]["status"]) == (1, 0)
        assert {state["tag"] for state in told["stages"][0]["states"]} == {"ingest"}
    later = reel("states", job_id, "--tag", "later", "--json").json["lowest"]
    assert (later["task"], later["tag"], later["status"]) == (0, "later", 0)


def test_states_of_any_job_of_the_state_manager(reel: Reel) -> None:
    name = reel.engine(scenes.own_states)
    assert reel("states", name, "--json").json["lowest"]["status"] == 1
    assert "nightly  🟢 1 started" in reel("states", name).stdout


def test_states_that_are_not_there(reel: Reel) -> None:
    job_id = reel.engine(scenes.waiting)
    assert "no states reported" in reel("states", job_id).stdout
    assert reel("states", job_id, "--json").json == {"lowest": None, "stages": []}
    answer = reel("states", "nowhere")
    assert (answer.code, "nowhere" in answer.stderr) == (1, True)


def test_follow_prints_every_state_until_the_job_ends(reel: Reel) -> None:
    job_id = reel.engine(scenes.spoken)
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
