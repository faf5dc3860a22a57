"""The server keeps to its OpenAPI description, for valid and for invalid requests."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from reelstate import __version__
from reelstate.api.uploads import PIECE
from tests.api.api_server import PLAIN, Server, api_server_in_thread

LEFT_OUT = ("/signin", "/signout", "/api/worker/claim", "/api/worker/wakeups")
"""The last two respond when something happens, or after a timeout."""
KEPT_TO = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
FEW, MANY = 3, 50
"""Requests of each kind to each route."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("api")
    with api_server_in_thread(f"sqlite:///{folder / 'reelstate.db'}", storage_url=str(folder / "media")) as made:
        yield made


@pytest.fixture(scope="module")
def description(server: Server) -> dict[str, Any]:
    """The description as it is served without a key."""
    found: dict[str, Any] = httpx.get(f"{server.url}/openapi.json", verify=PLAIN, trust_env=False, timeout=300).json()
    return found


@schemathesis.serializer(PIECE)
def piece(_: Any, value: Any) -> bytes:
    """Bytes of an upload are sent as they are."""
    return value if isinstance(value, bytes) else str(value).encode()


class Asker:
    """Sends valid and invalid requests to every route, and counts the statuses of the responses."""

    def __init__(self, server: Server, description: dict[str, Any], times: int) -> None:
        self._server = server
        self._schema = schemathesis.openapi.from_dict(description)
        self._settings = settings(
            max_examples=times,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        self.statuses: Counter[int] = Counter()

    def ask_everything(self, mode: GenerationMode) -> None:
        with requests.Session() as session:
            session.trust_env = False
            for result in self._schema.get_all_operations():
                assert isinstance(result, Ok), result
                if result.ok().path not in LEFT_OUT:
                    self._ask(session, result.ok(), mode)

    def _ask(self, session: requests.Session, operation: Any, mode: GenerationMode) -> None:
        role = "worker" if operation.path.startswith("/api/worker") else "admin"

        @self._settings
        @given(case=operation.as_strategy(mode))
        def ask(case: schemathesis.Case[Any]) -> None:
            answer = case.call(self._server.url, session=session, headers=self._server.headers(role))
            case.validate_response(answer, checks=KEPT_TO)
            self.statuses[answer.status_code] += 1

        with suppress(Unsatisfiable):  # a route without parameters has no invalid request
            ask()


@pytest.mark.parametrize("mode", GenerationMode)
def test_responses_match_the_description(server: Server, description: dict[str, Any], mode: GenerationMode) -> None:
    asker = Asker(server, description, FEW)
    asker.ask_everything(mode)
    assert asker.statuses.total() >= 100
    assert {200, 422} <= set(asker.statuses)


@pytest.mark.prove
def test_responses_to_thousands_of_requests_match_the_description(server: Server, description: dict[str, Any]) -> None:
    asker = Asker(server, description, MANY)
    for mode in GenerationMode:
        asker.ask_everything(mode)
    print(asker.statuses)  # noqa: T201 - what was measured
    assert asker.statuses.total() >= 3000


def test_every_route_is_described(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1")
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            assert operation["description"], place
            assert "429" in operation["responses"], place
            if "security" in operation:
                assert {"401", "403"} <= set(operation["responses"]), place
            for status, answer in operation["responses"].items():
                if status.startswith(("4", "5")) and "content" in answer and "Problem" in str(answer):
                    assert list(answer["content"]) == ["application/problem+json"], place
    ids = [each["operationId"] for operations in description["paths"].values() for each in operations.values()]
    assert len(set(ids)) == len(ids)
    assert "HTTPValidationError" not in description["components"]["schemas"]


def test_examples_of_request_bodies_are_accepted(description: dict[str, Any], server: Server) -> None:
    """The examples of jobs and operations can be sent as they are."""
    bodies = ("NewJob", "NewJobs", "OperationRequest", "ReasonedRequest", "RetryRequest", "ForceRequest", "BulkRequest")
    schemas = description["components"]["schemas"]
    examples = {name: schemas[name].get("example") for name in bodies if name != "OperationRequest"}
    assert all(examples.values())
    job = {**examples["NewJob"], "pipeline": "simple"}
    with httpx.Client(
        base_url=server.url, headers=server.headers("admin"), verify=PLAIN, trust_env=False, timeout=300
    ) as client:
        made = client.post("/api/v1/jobs", json=job)
        assert made.status_code == 201
        path = f"/api/v1/jobs/{made.json()['id']}"
        assert client.post(f"{path}/force", json=examples["ForceRequest"]).json()["verdict"] == "ok"
        assert client.post("/api/v1/jobs/bulk", json=examples["BulkRequest"]).status_code == 409


class Page(HTMLParser):
    """What a browser would fetch or run on behalf of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.anchors: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.anchors += [f"#{value}" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_docs_page_is_self_contained_and_complete(description: dict[str, Any], server: Server) -> None:
    answer = httpx.get(f"{server.url}/docs", verify=PLAIN, trust_env=False, timeout=300)
    page = Page()
    page.feed(answer.text)
    assert page.links == ["/openapi.json", *page.anchors]
    assert len(page.anchors) == len({*page.anchors}) > 5
    assert "script" not in page.tags
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    for path in description["paths"]:
        assert path in page.text


def test_the_front_page_links_to_the_other_pages_and_sends_browsers_to_the_dashboard(server: Server) -> None:
    with httpx.Client(base_url=server.url, verify=PLAIN, trust_env=False, timeout=300) as client:
        front = client.get("/")
        assert (front.status_code, front.json()["name"], front.json()["version"]) == (200, "Reelstate", __version__)
        for link in front.json()["links"].values():
            assert client.get(link).status_code in ({422} if link == "/signin" else {200, 503}), link
        browser = client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        assert (browser.status_code, browser.headers["location"]) == (307, "/ui/")
