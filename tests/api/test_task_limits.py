"""Limits of tasks over HTTP, for admins."""

from tests.api.api_server import Server

PATH = "/api/v1/limits"


async def test_a_limit_is_set_shown_and_removed(api: Server) -> None:
    body = {"per": "user", "running": 2, "weights": {"ada": 2}, "reason": "fair"}
    made = await api.ask("admin", "PUT", f"{PATH}/users", json=body)
    assert made.status_code == 200
    assert {name: made.json()[name] for name in body} == body
    (listed,) = (await api.ask("admin", "GET", PATH)).json()
    assert listed == made.json()
    assert (await api.ask("admin", "GET", f"{PATH}/users")).json() == {**listed, "uses": []}
    removed = (await api.ask("admin", "DELETE", f"{PATH}/users")).json()
    assert removed["removed_at"]
    assert (await api.ask("admin", "GET", PATH)).json() == []
    assert [each["id"] for each in (await api.ask("admin", "GET", f"{PATH}?removed=true")).json()] == [removed["id"]]
    assert (await api.ask("admin", "GET", f"{PATH}/users")).status_code == 404


async def test_what_no_limit_can_be_is_refused(api: Server) -> None:
    for body in [
        {},
        {"running": 0},
        {"running": 1, "starts": 5},
        {"running": 1, "period": 5},
        {"running": 1, "per": "customer"},
        {"running": 1, "pipeline": "unknown"},
        {"running": 1, "hours": 2},
        {"per": "user", "weights": {"ada": 0}},
    ]:
        assert (await api.ask("admin", "PUT", f"{PATH}/bad", json=body)).status_code == 422, body
    assert (await api.ask("admin", "PUT", f"{PATH}/no name", json={"running": 1})).status_code == 422
