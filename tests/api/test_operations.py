"""Operations over HTTP: scopes, versions, single and bulk."""

import asyncio

from tests.api.api_server import Server
from tests.engines import a_worker, failed

JOBS = "/api/v1/jobs"


async def fail_all(api: Server) -> None:
    worker = await a_worker(api.engine)
    claimed = (await api.engine.claim(worker, 100)).tasks
    await api.engine.fail([failed(task, retryable=False) for task in claimed])


async def test_a_user_cancels_and_retries_own_jobs(api: Server) -> None:
    job_id = await api.submit("ada")
    await fail_all(api)
    assert (await api.ask("bob", "POST", f"{JOBS}/{job_id}/retry")).status_code == 404
    assert (await api.ask("ada", "POST", f"{JOBS}/{job_id}/retry")).json()["verdict"] == "ok"
    cancelled = await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel", json={"reason": "wrong video"})
    assert cancelled.json() == {"id": job_id, "verdict": "ok", "error": None, "hint": None}
    assert (await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel")).json()["verdict"] == "repeated"
    again = await api.ask("ada", "POST", f"{JOBS}/{job_id}/retry")
    assert (again.status_code, again.json()["type"]) == (409, "urn:reelstate:error:invalid-transition")
    last = (await api.engine.history(job_id, stage=-1, part=-1)).items[-1]
    assert (last.actor, last.reason, last.target) == ("user:ada", "wrong video", "cancelled")


async def test_a_user_makes_their_jobs_more_urgent(api: Server) -> None:
    job_id = await api.submit("ada")
    path = f"{JOBS}/{job_id}/reprioritise"
    assert (await api.ask("bob", "POST", path, json={"priority": 9})).status_code == 404
    assert (await api.ask("ada", "POST", path, json={"priority": 11})).status_code == 422
    assert (await api.ask("ada", "POST", path, json={"priority": "high", "reason": "live"})).json()["verdict"] == "ok"
    assert (await api.ask("ada", "POST", path, json={"priority": 8})).json()["verdict"] == "repeated"
    assert (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).json()["priority"] == 8
    last = (await api.engine.history(job_id, stage=-1, part=-1)).items[-1]
    assert (last.actor, last.reason) == ("user:ada", "priority 5 to 8: live")
    many = {"action": "reprioritise", "status": ["pending"], "expected": 1}
    assert (await api.ask("ada", "POST", f"{JOBS}/bulk", json=many)).json()["field"] == "priority"
    done = await api.ask("ada", "POST", f"{JOBS}/bulk", json={**many, "priority": 2})
    assert [item["verdict"] for item in done.json()["items"]] == ["ok"]
    wrong = {"action": "cancel", "status": ["pending"], "priority": 2}
    assert (await api.ask("ada", "POST", f"{JOBS}/bulk", json=wrong)).status_code == 422


async def test_an_admin_quarantines_and_forces_with_a_reason(api: Server) -> None:
    job_id = await api.submit("ada")
    assert (await api.ask("admin", "POST", f"{JOBS}/{job_id}/quarantine", json={})).status_code == 422
    body = {"reason": "kills workers"}
    assert (await api.ask("admin", "POST", f"{JOBS}/{job_id}/quarantine", json=body)).json()["verdict"] == "ok"
    forced = await api.ask("admin", "POST", f"{JOBS}/{job_id}/force", json={"status": "completed", "reason": "fixed"})
    assert forced.json()["verdict"] == "ok"
    last = (await api.engine.history(job_id, stage=-1, part=-1)).items[-1]
    assert (last.actor, last.target) == ("operator:admin", "completed")


async def test_an_operation_on_an_outdated_version_is_refused(api: Server) -> None:
    job_id = await api.submit("ada")
    seen = (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).headers["etag"]
    await fail_all(api)
    refused = await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel", headers={"If-Match": seen})
    assert (refused.status_code, refused.json()["type"]) == (412, "urn:reelstate:error:version-conflict")
    now = (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).headers["etag"]
    assert now != seen
    done = await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel", headers={"If-Match": now})
    assert done.json()["verdict"] == "ok"
    wrong = await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel", headers={"If-Match": "yesterday"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "if-match")


async def test_a_stage_or_parts_of_it_run_again(api: Server) -> None:
    job_id = await api.submit("ada", "parts", spec={"parts": [0, 1, 2, 3]})
    await fail_all(api)
    body = {"stage": "part", "parts": [[1, 2]]}
    assert (await api.ask("ada", "POST", f"{JOBS}/{job_id}/retry", json=body)).json()["verdict"] == "ok"
    tasks = (await api.engine.tasks(job_id)).items
    assert [task.version for task in tasks[1:3]] == [task.version for task in tasks[:1]] * 2
    for wrong in ({"parts": [[0, 0]]}, {"stage": "none"}, {"stage": "part", "parts": [[2, 1]]}):
        answer = await api.ask("ada", "POST", f"{JOBS}/{job_id}/retry", json=wrong)
        assert answer.status_code in (409, 422)


async def test_a_bulk_operation_changes_jobs_only_if_their_count_is_as_expected(api: Server) -> None:
    mine = [await api.submit("ada") for _ in range(3)]
    theirs = await api.submit("bob")
    body = {"action": "cancel", "status": ["pending"], "reason": "clean up"}
    assert (await api.ask("ada", "POST", f"{JOBS}/bulk", json=body)).json() == {
        "matched": 3,
        "done": False,
        "items": [],
    }
    refused = await api.ask("ada", "POST", f"{JOBS}/bulk", json={**body, "expected": 4})
    assert (refused.status_code, refused.json()["detail"]) == (409, "3 jobs match, not 4")
    assert (await api.engine.job(mine[0])).job.status == "pending"
    done = (await api.ask("ada", "POST", f"{JOBS}/bulk", json={**body, "expected": 3})).json()
    assert (done["done"], [item["verdict"] for item in done["items"]]) == (True, ["ok"] * 3)
    assert (await api.engine.job(theirs)).job.status == "pending"
    put_aside = {"action": "quarantine", "status": ["pending"]}
    assert (await api.ask("ada", "POST", f"{JOBS}/bulk", json=put_aside)).status_code == 403
    everybody = (await api.ask("admin", "POST", f"{JOBS}/bulk", json=put_aside)).json()
    assert everybody["matched"] == 1
    assert (await api.ask("ada", "POST", f"{JOBS}/bulk", json={**body, "user_id": "bob"})).status_code == 403


async def test_one_of_two_operations_on_the_same_version_succeeds(api: Server) -> None:
    job_id = await api.submit("ada")
    etag = (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).headers["etag"]
    paths = [f"{JOBS}/{job_id}/quarantine", f"{JOBS}/{job_id}/force"]
    bodies = [{"reason": "a"}, {"reason": "b", "status": "failed"}]
    answers = await asyncio.gather(
        *(
            api.ask("admin", "POST", path, json=body, headers={"If-Match": etag})
            for path, body in zip(paths, bodies, strict=True)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 412]
