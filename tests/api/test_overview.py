"""What the dashboard reads: the overview, the grid and the runs of a job, pipelines, and who is signed in."""

import json
from typing import Any

import pytest

from reelstate.api import columns
from reelstate.core.month import ID_BITS, ID_EPOCH
from reelstate.engine import Engine
from tests.api.api_server import NOBODY, Server
from tests.engines import a_worker, done


async def read(api: Server, role: str, path: str, **options: Any) -> Any:
    answer = await api.ask(role, "GET", f"/api/v1/{path}", **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_session_says_who_is_signed_in_and_what_may_be_sent(api: Server) -> None:
    found = await read(api, "ada", "session")
    assert (found["name"], found["user_id"], found["scopes"]) == ("ada", "ada", ["jobs:read", "jobs:write"])
    assert found["upload_limit"] == api.context.settings.input_limit
    assert (await api.ask(NOBODY, "GET", "/api/v1/session")).status_code == 401


async def test_an_overview_is_read_once_however_many_ask(api: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    measure = Engine.measure

    async def counted(engine: Engine) -> Any:
        nonlocal reads
        reads += 1
        return await measure(engine)

    monkeypatch.setattr(Engine, "measure", counted)
    first = await read(api, "admin", "overview")
    await api.submit("ada")
    for _ in range(5):
        assert await read(api, "admin", "overview") == first
    assert (await api.ask("admin", "GET", "/metrics")).status_code == 200
    assert reads == 1
    assert first["slots"] == {"total": 0, "busy": 0, "workers": {}}
    assert len({len(column) for name, column in first["minutes"].items() if name != "complete"}) == 1
    assert [each["kind"] for each in first["attention"]] == ["keeper"]
    mine = await read(api, "ada", "overview")
    assert (mine["slots"], mine["jobs"]["pending"]) == (None, {"count": 1, "capped": False})


async def test_a_grid_has_columns_of_equal_length(api: Server) -> None:
    job = await api.submit("ada", "parts", spec={"parts": 3})
    worker = await a_worker(api.engine, "encoder")
    task = (await api.engine.claim(worker, 1)).tasks[0]
    await api.engine.complete([done(task)])
    grid = await read(api, "ada", f"jobs/{job}/grid")
    (stage,) = grid["stages"]
    assert {len(column) for column in stage.values() if isinstance(column, list)} == {3}
    assert [grid["statuses"][status] for status in stage["status"]] == ["done", "ready", "ready"]
    assert (grid["workers"], stage["worker"], stage["parts"]) == (["encoder"], [0, -1, -1], None)
    assert (stage["max_attempts"], stage["version"][0] > stage["version"][1]) == (3, True)
    assert stage["finished_at"][0] >= stage["claimed_at"][0] >= stage["ready_at"][0] > 1.7e12
    some = await read(api, "ada", f"jobs/{job}/grid?stage=part&first=1&last=2")
    assert (some["stages"][0]["parts"], len(some["stages"][0]["status"])) == ([1, 2], 2)
    assert (await api.ask("ada", "GET", f"/api/v1/jobs/{job}/grid?first=1")).status_code == 422
    (spans,) = (await read(api, "ada", f"jobs/{job}/spans"))["stages"]
    assert (spans["first"], spans["last"], spans["version"]) == ([0, 1], [0, 2], stage["version"][:2])
    assert [grid["statuses"][status] for status in spans["status"]] == ["done", "ready"]
    runs = await read(api, "ada", f"jobs/{job}/attempts")
    assert (runs["stages"], runs["stage"], runs["part"], runs["token"]) == (["part"], [0], [0], [1])
    assert [runs["outcomes"][outcome] for outcome in runs["outcome"]] == ["done"]
    assert await read(api, "ada", f"jobs/{await api.submit('ada')}/attempts") | {"job": 0, "now": 0} == {
        **{name: [] for name in ("stage", "part", "token", "attempt", "worker", "start", "end", "outcome", "workers")},
        "job": 0,
        "now": 0,
        "stages": ["main"],
        "outcomes": runs["outcomes"],
        "after": None,
    }


async def test_a_large_grid_is_compressed_for_those_who_accept_it(api: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await api.submit("ada", "parts", spec={"parts": 2})
    monkeypatch.setattr(columns, "COMPRESSED_FROM", 100)
    path = f"/api/v1/jobs/{job}/grid"
    compressed = await api.ask("ada", "GET", path, headers={"Accept-Encoding": "gzip"})
    plain = await api.ask("ada", "GET", path, headers={"Accept-Encoding": "identity"})
    assert (compressed.headers["content-encoding"], "content-encoding" in plain.headers) == ("gzip", False)
    assert compressed.json()["stages"] == plain.json()["stages"]
    assert plain.headers["vary"] == "accept-encoding"


async def test_an_archived_job_has_a_grid_spans_and_runs(api: Server) -> None:
    job = await api.submit("ada")
    worker = await a_worker(api.engine, "encoder")
    await api.engine.complete([done(task) for task in (await api.engine.claim(worker, 1)).tasks])
    before = [await read(api, "ada", f"jobs/{job}/{what}") for what in ("grid", "spans", "attempts")]
    await api.engine.archive(older=0.0, failed_older=None)
    assert (await read(api, "ada", f"jobs/{job}"))["archived"]
    after = [await read(api, "ada", f"jobs/{job}/{what}") for what in ("grid", "spans", "attempts")]
    for found in (*before, *after):
        del found["now"]
    assert after == before


async def test_pipelines_show_their_stages_and_an_admin_pins_a_version(api: Server) -> None:
    fan = next(each for each in await read(api, "ada", "pipelines") if each["name"] == "fan")
    assert [(stage["name"], stage["after"], stage["each"]) for stage in fan["stages"]] == [
        ("plan", [], None),
        ("work", ["plan"], "plan.items"),
        ("pack", ["work"], None),
    ]
    path = "/api/v1/pipelines/fan/use"
    pinned = await api.ask("admin", "POST", path, json={"digest": fan["digest"][:8]})
    assert (pinned.status_code, pinned.json()["pinned"]) == (200, True)
    assert not (await api.ask("admin", "POST", path, json={})).json()["pinned"]
    assert (await api.ask("admin", "POST", "/api/v1/pipelines/none/use", json={})).status_code == 422
    job = await read(api, "ada", f"jobs/{await api.submit('ada', 'fan')}")
    assert [(stage["after"], stage["each"]) for stage in job["stages"]] == [
        ([], None),
        (["plan"], "plan.items"),
        (["work"], None),
    ]


async def test_ids_are_numbers_that_javascript_reads_exactly(api: Server) -> None:
    job, worker = await api.submit("ada"), await a_worker(api.engine, "encoder")
    assert max(job, worker) < 2**53
    seconds_in_2090 = 3_786_912_000
    assert ((seconds_in_2090 - ID_EPOCH + 1) << ID_BITS) - 1 < 2**53
    text = (await api.ask("ada", "GET", f"/api/v1/jobs/{job}")).text
    assert json.loads(text, parse_int=float)["id"] == job
