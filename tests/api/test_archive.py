"""The archive over HTTP: admins archive and list months, everybody reads archived jobs of their own."""

from datetime import UTC, datetime, timedelta

from tests.api.api_server import Server
from tests.archive.finished_jobs import complete_jobs

ARCHIVE, JOBS, EVENTS = "/api/v1/archive", "/api/v1/jobs", "/api/v1/events"
FUTURE = {"before": (datetime.now(UTC) + timedelta(days=1)).isoformat()}


async def test_an_admin_archives_and_everybody_reads_their_own(api: Server) -> None:
    (job_id,) = await complete_jobs(api.engine, 1, user="ada")
    assert (await api.ask("ada", "POST", ARCHIVE, json=FUTURE)).status_code == 403
    assert (await api.ask("ada", "GET", ARCHIVE)).status_code == 403
    counted = await api.ask("admin", "POST", ARCHIVE, json={**FUTURE, "dry_run": True})
    assert sum(counted.json()["jobs"].values()) == 1
    moved = await api.ask("admin", "POST", ARCHIVE, json=FUTURE)
    assert moved.json()["rows"]["jobs"] == 1
    assert [month["jobs"] for month in (await api.ask("admin", "GET", ARCHIVE)).json()] == [1]

    assert (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).json()["archived"] is True
    assert (await api.ask("bob", "GET", f"{JOBS}/{job_id}")).status_code == 404
    for part in ("stages", "tasks", "events", "logs", "steps"):
        found = await api.ask("ada", "GET", f"{JOBS}/{job_id}/{part}")
        assert found.status_code == 200
        assert found.json()["items"] if part != "stages" else found.json()
        assert (await api.ask("bob", "GET", f"{JOBS}/{job_id}/{part}")).status_code == 404
    listed = (await api.ask("ada", "GET", f"{JOBS}?archived=true")).json()["items"]
    assert [job["id"] for job in listed] == [job_id]
    assert (await api.ask("bob", "GET", f"{JOBS}?archived=true")).json()["items"] == []
    refused = await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel", json={"reason": "x"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:reelstate:error:job-archived")


async def test_an_expired_cursor_gets_410_with_the_oldest_one(api: Server) -> None:
    await complete_jobs(api.engine, 1, user="ada")
    after = (await api.ask("admin", "GET", f"{EVENTS}?limit=1")).json()["after"]
    await api.ask("admin", "POST", ARCHIVE, json=FUTURE)
    kept = await api.submit("ada")
    expired = await api.ask("admin", "GET", f"{EVENTS}?after={after}")
    assert expired.status_code == 410
    oldest = expired.json()["oldest"]
    page = (await api.ask("admin", "GET", f"{EVENTS}?after={oldest}")).json()
    assert kept in {item["id"] for item in page["items"] if item["kind"] == "event"}
    assert (await api.ask("admin", "GET", f"{EVENTS}?after=0")).status_code == 200
