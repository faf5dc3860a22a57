"""Groups and dependencies over HTTP: each user has their own groups, and may wait for own jobs only."""

from typing import Any

from tests.api.api_server import Server
from tests.engines import a_worker, done, failed

JOBS, GROUPS = "/api/v1/jobs", "/api/v1/groups"


async def submit(api: Server, role: str = "ada", **body: Any) -> int:
    answer = await api.ask(role, "POST", JOBS, json={"pipeline": "simple", **body})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


async def test_a_group_is_shown_cancelled_and_retried(api: Server) -> None:
    body = {"jobs": [{"pipeline": "simple", "group": "nightly"}] * 3}
    made = (await api.ask("ada", "POST", f"{JOBS}/batch", json=body)).json()["items"]
    assert (await api.ask("ada", "GET", f"{JOBS}/{made[0]['id']}")).json()["group"] == "nightly"
    worker = await a_worker(api.engine)
    tasks = (await api.engine.claim(worker, 2)).tasks
    await api.engine.complete([done(tasks[0])])
    await api.engine.fail([failed(tasks[1], retryable=False)])
    group = (await api.ask("reader", "GET", f"{GROUPS}/nightly")).json()
    assert (group["status"], group["jobs"], group["counts"]) == (
        "failed",
        3,
        {"completed": 1, "failed": 1, "pending": 1},
    )
    assert group["progress"] == 66.67
    assert (await api.ask("ada", "GET", GROUPS)).json()["items"] == [group]
    reason = {"reason": "wrong day"}
    changed = await api.ask("ada", "POST", f"{GROUPS}/nightly/cancel", json=reason)
    assert changed.json() == {"name": "nightly", "changed": 1, "refused": 0}
    last = (await api.engine.history(made[2]["id"], stage=-1, part=-1)).items[-1]
    assert (last.target, last.actor, last.reason) == ("cancelled", "user:ada", "wrong day")
    assert (await api.ask("ada", "POST", f"{GROUPS}/nightly/retry")).json()["changed"] == 1
    count = {"action": "cancel", "status": ["pending"], "group": "nightly"}
    assert (await api.ask("ada", "POST", f"{JOBS}/bulk", json=count)).json()["matched"] == 1
    found = (await api.ask("ada", "GET", JOBS, params={"q": "group:nightly status:completed"})).json()["items"]
    assert [job["id"] for job in found] == [tasks[0].key.job_id]


async def test_a_user_sees_and_changes_only_own_groups(api: Server) -> None:
    job_id = await submit(api, group="nightly")
    for method, path in [("GET", ""), ("POST", "/cancel"), ("POST", "/retry")]:
        assert (await api.ask("bob", method, f"{GROUPS}/nightly{path}")).status_code == 404, path
        theirs = await api.ask("bob", method, f"{GROUPS}/nightly{path}", params={"user_id": "ada"})
        assert theirs.status_code == 403, path
    assert (await api.ask("bob", "GET", GROUPS)).json()["items"] == []
    assert (await api.ask("bob", "GET", JOBS, params={"q": "group:nightly"})).json()["items"] == []
    await submit(api, "bob", group="nightly")
    assert (await api.ask("ada", "GET", f"{GROUPS}/nightly")).json()["jobs"] == 1
    assert (await api.ask("admin", "GET", f"{GROUPS}/nightly")).status_code == 422
    assert (await api.ask("admin", "GET", f"{GROUPS}/nightly", params={"user_id": "bob"})).json()["user_id"] == "bob"
    assert [each["user_id"] for each in (await api.ask("admin", "GET", GROUPS)).json()["items"]] == ["bob", "ada"]
    await api.ask("admin", "POST", f"{GROUPS}/nightly/cancel", params={"user_id": "ada"})
    assert (await api.engine.job(job_id)).job.actor == "operator:admin"


async def test_a_job_waits_for_others(api: Server) -> None:
    first = await submit(api, group="nightly")
    last = await submit(api, after=[first, "group:nightly"], after_failure="cancel")
    reasons = (await api.ask("ada", "GET", f"{JOBS}/{last}/why")).json()["reasons"]
    assert [(each["kind"], each["sentence"]) for each in reasons] == [
        ("after", "waits for group nightly: 0 of 1 completed"),
        ("after", f"waits for job {first} (pending)"),
    ]
    tasks = (await api.engine.claim(await a_worker(api.engine), 5)).tasks
    assert [task.key.job_id for task in tasks] == [first]
    await api.engine.complete([done(task) for task in tasks])
    await api.engine.orchestrate()
    assert (await api.engine.tasks(last)).items != []


async def test_what_a_user_may_not_wait_for_is_unknown(api: Server) -> None:
    first = await submit(api, group="nightly")
    wrong: list[dict[str, Any]] = [
        {"after": [first]},
        {"after": ["group:nightly"]},
        {"after": ["nightly"]},
        {"after": [True]},
        {"after": [-1]},
        {"after_failure": "explode"},
        {"group": "a b"},
        {"group": "g", "group_callback": "http://127.0.0.1/"},
    ]
    for body in wrong:
        answer = await api.ask("bob", "POST", JOBS, json={"pipeline": "simple", **body})
        assert answer.status_code == 422, body
        assert answer.json()["field"].split(".")[0].split("[")[0] in body, answer.text
