"""Workers, machines, states, the queue and settings over HTTP."""

import xml.etree.ElementTree as ET

from reelstate.core.machine import MACHINES, WorkerStatus
from reelstate.core.model import Progress, TaskState
from reelstate.services.keys import Keys
from tests.api.api_server import NOBODY, Server
from tests.engines import a_worker


async def test_workers_are_listed_drained_enabled_and_disabled(api: Server) -> None:
    await a_worker(api.engine, "encoder")

    async def status() -> str:
        (worker,) = (await api.ask("admin", "GET", "/api/v1/workers")).json()
        return str(worker["status"])

    async def change(verb: str) -> object:
        answer = await api.ask("admin", "POST", f"/api/v1/workers/encoder/{verb}", json={"reason": "new driver"})
        return answer.json()

    assert await status() == "idle"
    assert len((await api.ask("admin", "POST", "/api/v1/workers/encoder/drain")).json()["changed"]) == 1
    assert await status() == "draining"
    await change("enable")
    assert await status() == "idle"
    assert await change("disable") == {"name": "encoder", "released": 0}
    assert await status() == "disabled"
    assert (await api.ask("admin", "POST", "/api/v1/workers/decoder/drain")).status_code == 404


async def test_a_name_without_instances_can_still_be_enabled(api: Server) -> None:
    worker = await a_worker(api.engine, "encoder")
    await api.ask("admin", "POST", "/api/v1/workers/encoder/disable")
    await api.engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    await api.engine.prune_workers(older=-1.0)
    assert await api.engine.workers() == []
    assert (await api.ask("admin", "POST", "/api/v1/workers/encoder/enable")).status_code == 200
    await a_worker(api.engine, "encoder")


async def test_revoking_a_worker_name_revokes_only_its_worker_keys(api: Server) -> None:
    await a_worker(api.engine, "worker")
    keys = Keys(api.engine.store)
    namesake = await keys.create("worker", scopes=["jobs:read"], user_id="ada", actor="operator:test")
    await api.ask("admin", "POST", "/api/v1/workers/worker/disable")
    assert await keys.in_force(api.keys["worker"].key.id, fresh=True)
    revoked = (await api.ask("admin", "POST", "/api/v1/workers/worker/revoke")).json()
    assert revoked == {"name": "worker", "released": 0, "revoked": 1}
    assert not await keys.in_force(api.keys["worker"].key.id, fresh=True)
    assert await keys.in_force(namesake.key.id, fresh=True)


async def test_machines_are_served_as_data_and_as_pictures(api: Server) -> None:
    found = (await api.ask("reader", "GET", "/api/v1/machines")).json()
    assert [machine["entity"] for machine in found] == list(MACHINES)
    job = (await api.ask("reader", "GET", "/api/v1/machines/job")).json()
    assert {"from": "failed", "to": "pending", "actors": ["operator", "user"]} in job["transitions"]
    picture = await api.ask("reader", "GET", "/api/v1/machines/job/svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert ET.fromstring(picture.text).tag.endswith("svg")  # noqa: S314 - our own
    assert (await api.ask("reader", "GET", "/api/v1/machines/job/mermaid")).text.startswith("stateDiagram")


async def test_the_lowest_state_is_served_with_the_grid(api: Server) -> None:
    job_id = await api.submit("ada", "parts", spec={"parts": [0, 1]})
    worker = await a_worker(api.engine)
    for task in (await api.engine.claim(worker, 2)).tasks:
        state = TaskState(number=1, tag="export", status=10 + task.key.part, message="half")
        await api.engine.report(worker, [Progress(key=task.key, token=task.token, states=(state,))])
    found = (await api.ask("ada", "GET", f"/api/v1/states/{job_id}")).json()
    assert [state["status"] for state in found["stages"][0]["states"]] == [10, 11]
    assert (await api.ask("ada", "GET", f"/api/v1/states/{job_id}/lowest")).json() == found["lowest"]
    assert found["lowest"]["status"] == 10
    by_name = f"/api/v1/states/{job_id}.part"
    assert (await api.ask("admin", "GET", by_name)).json()["stages"][0]["tasks"] == 2
    assert (await api.ask("ada", "GET", by_name)).status_code == 404


async def test_settings_are_served_without_secrets(api: Server) -> None:
    settings = {each["name"]: each for each in (await api.ask("admin", "GET", "/api/v1/settings")).json()}
    assert settings["serve_port"]["source"] == "given"
    assert "password" not in str(settings["database_url"]["value"])


async def test_health_shows_details_of_the_deployment_to_admins_only(api: Server) -> None:
    await a_worker(api.engine, "encoder")
    await api.submit("ada")
    deployment = (await api.ask("admin", "GET", "/health")).json()["deployment"]
    assert (deployment["pending_jobs"], deployment["processing_jobs"], deployment["ready_tasks"]) == (1, 0, 1)
    assert deployment["workers"] == {"idle": 1, "busy": 0, "draining": 0, "offline": 0, "disabled": 0}
    assert 0 < deployment["storage"]["free"] <= deployment["storage"]["total"]
    for role in (NOBODY, "ada"):
        assert (await api.ask(role, "GET", "/health")).json() == {
            "status": "ok",
            "checks": {"database": "ok", "storage": "ok"},
            "deployment": None,
        }
