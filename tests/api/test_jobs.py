from tests.api.served import Served


async def test_what_is_submitted_is_listed_for_its_user_alone(api: Served) -> None:
    job_id = await api.submit("ada", spec={"film": "a.mov"})
    mine = (await api.ask("ada", "GET", "/api/v1/jobs")).json()
    assert [job["id"] for job in mine["items"]] == [job_id]
    assert mine["items"][0]["spec"] == {"film": "a.mov"}
    assert (await api.ask("bob", "GET", "/api/v1/jobs")).json()["items"] == []
    assert [job["id"] for job in (await api.ask("admin", "GET", "/api/v1/jobs")).json()["items"]] == [job_id]


async def test_the_same_request_under_one_key_makes_one_job(api: Served) -> None:
    headers = {"Idempotency-Key": "a-1"}
    body = {"pipeline": "simple", "spec": {"film": 1}}
    first = await api.ask("ada", "POST", "/api/v1/jobs", json=body, headers=headers)
    again = await api.ask("ada", "POST", "/api/v1/jobs", json=body, headers=headers)
    other = await api.ask("ada", "POST", "/api/v1/jobs", json={**body, "priority": 9}, headers=headers)
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 422)
    assert first.json()["id"] == again.json()["id"]
    assert again.json()["verdict"] == "repeated"
    assert other.json()["field"] == "idempotency_key"
