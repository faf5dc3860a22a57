"""Pauses over HTTP, for admins."""

from tests.api.api_server import Server

PATH = "/api/v1/pauses"


async def test_a_user_is_paused_and_resumed(api: Server) -> None:
    paused = await api.ask("admin", "POST", PATH, json={"user_id": "ada", "reason": "unpaid"})
    assert (paused.status_code, paused.json()["changed"], paused.json()["released"]) == (200, True, 0)
    again = (await api.ask("admin", "POST", PATH, json={"user_id": "ada"})).json()
    assert (again["changed"], again["id"], again["reason"]) == (False, paused.json()["id"], "unpaid")
    (listed,) = (await api.ask("admin", "GET", PATH)).json()
    assert (listed["scope"], listed["user_id"], listed["pipeline"], listed["worker"]) == ("user", "ada", None, None)
    lifted = (await api.ask("admin", "POST", f"{PATH}/resume", json={"user_id": "ada", "reason": "paid"})).json()
    assert lifted["resumed_reason"] == "paid"
    assert (await api.ask("admin", "GET", PATH)).json() == []
    assert [each["id"] for each in (await api.ask("admin", "GET", f"{PATH}?lifted=true")).json()] == [lifted["id"]]


async def test_what_is_not_one_target_is_refused(api: Server) -> None:
    for body, status in [
        ({}, 422),
        ({"everything": True, "user_id": "ada"}, 422),
        ({"stage": "main"}, 422),
        ({"pipeline": "unknown"}, 422),
        ({"user_id": "ada", "hours": 2}, 422),
    ]:
        assert (await api.ask("admin", "POST", PATH, json=body)).status_code == status, body
    assert (await api.ask("admin", "POST", f"{PATH}/resume", json={"everything": True})).status_code == 404
