from tests.api.served import NOBODY, Served


async def test_it_lives_and_is_ready_without_a_key(api: Served) -> None:
    assert (await api.ask(NOBODY, "GET", "/livez")).json() == {"status": "ok"}
    ready = await api.ask(NOBODY, "GET", "/readyz")
    assert (ready.status_code, ready.json()["checks"]) == (200, {"database": "ok", "storage": "ok"})
