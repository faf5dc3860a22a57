"""Why a job does not run, over HTTP."""

from tests.api.api_server import Server
from tests.engines import a_worker

JOBS = "/api/v1/jobs"


async def test_the_reasons_have_kinds_sentences_and_data(api: Server) -> None:
    job_id = await api.submit("ada")
    await api.engine.pause(user_id="ada", reason="unpaid", actor="operator:ann")
    await a_worker(api.engine, "w1")
    found = (await api.ask("ada", "GET", f"{JOBS}/{job_id}/why")).json()
    assert (found["job"], found["status"], found["runs"]) == (job_id, "pending", False)
    (reason,) = found["reasons"]
    assert (reason["kind"], reason["subject"], reason["stage"], reason["part"]) == ("paused", "main/0", "main", 0)
    assert reason["sentence"] == 'jobs of user ada are paused by operator:ann: "unpaid"'
    assert (reason["data"]["actor"], reason["data"]["reason"]) == ("operator:ann", "unpaid")


async def test_workers_are_named_to_admins_only(api: Server) -> None:
    job_id = await api.submit("ada")
    await a_worker(api.engine, "w1")
    await api.engine.drain("w1")
    shown = {who: (await api.ask(who, "GET", f"{JOBS}/{job_id}/why")).text for who in ("ada", "admin")}
    assert ("w1" in shown["ada"], "w1" in shown["admin"]) == (False, True)


async def test_one_task_is_named_by_stage_and_part(api: Server) -> None:
    job_id = await api.submit("ada")
    one = await api.ask("ada", "GET", f"{JOBS}/{job_id}/why?stage=main&part=0")
    assert (one.json()["stage"], one.json()["part"], len(one.json()["reasons"])) == ("main", 0, 1)
    for query, status in [("part=0", 422), ("stage=encode", 422), ("stage=main&part=9", 404)]:
        assert (await api.ask("ada", "GET", f"{JOBS}/{job_id}/why?{query}")).status_code == status, query
    assert (await api.ask("bob", "GET", f"{JOBS}/{job_id}/why")).status_code == 404
