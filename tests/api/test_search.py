"""Searching jobs over HTTP: the same grammar, and users find their own jobs only."""

from tests.api.api_server import Server

JOBS = "/api/v1/jobs"


async def test_users_find_their_own_jobs_only(api: Server) -> None:
    ada, bob = await api.submit("ada"), await api.submit("bob")

    async def found(who: str, search: str) -> list[int]:
        answer = await api.ask(who, "GET", JOBS, params={"q": search})
        return [job["id"] for job in answer.json()["items"]]

    assert await found("admin", "status:pending") == [bob, ada]
    assert await found("admin", "user:bob") == [bob]
    assert await found("ada", "status:pending") == [ada]
    assert await found("ada", "user:ada") == [ada]
    refused = await api.ask("ada", "GET", JOBS, params={"q": "user:bob"})
    assert (refused.status_code, refused.json()["field"]) == (422, "search")


async def test_a_page_links_to_the_next_one_with_the_search(api: Server) -> None:
    jobs = [await api.submit("ada") for _ in range(3)]
    first = await api.ask("ada", "GET", JOBS, params={"q": "status:pending priority:>=3", "limit": 2})
    assert [job["id"] for job in first.json()["items"]] == jobs[:0:-1]
    link = first.headers["link"].partition(">")[0].removeprefix("<")
    second = (await api.ask("ada", "GET", link)).json()
    assert ([job["id"] for job in second["items"]], second["after"]) == (jobs[:1], None)


async def test_a_mistake_has_a_position(api: Server) -> None:
    refused = await api.ask("ada", "GET", JOBS, params={"q": "user:ada statuz:failed"})
    assert (refused.status_code, refused.json()["field"], refused.json()["position"]) == (422, "search", 9)
    assert "did you mean status?" in refused.text


async def test_the_next_term_is_suggested(api: Server) -> None:
    await api.submit("ada")

    async def suggested(text: str) -> list[str]:
        answer = await api.ask("ada", "GET", f"{JOBS}/suggestions", params={"q": text})
        return [each["text"] for each in answer.json()]

    assert await suggested("user:ada sta") == ["user:ada status:"]
    assert await suggested("status:can") == ["status:cancelled"]
    assert await suggested("pipeline:sim") == ["pipeline:simple"]
    assert "created:" in await suggested("")
    long = await api.ask("ada", "GET", f"{JOBS}/suggestions", params={"q": "x" * 1001})
    assert (long.status_code, long.json()["field"]) == (422, "q")
