"""Every route × every kind of key × somebody else's things. A route that has no line here fails the test."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from reelstate.api.app import create_app
from reelstate.api.auth import Require
from reelstate.app import store_at
from reelstate.config import Settings
from reelstate.services.engine import Engine
from reelstate.services.keys import Scope
from tests.api.served import NOBODY, ROLES, Served
from tests.engines import a_worker

READ, WRITE, WORKER, ADMIN = Scope.READ, Scope.WRITE, Scope.WORKER, Scope.ADMIN
JOB = "/api/v1/jobs/{job_id}"
NAMED = "/api/v1/workers/{name}"
MACHINE = "/api/v1/machines/{entity}"
VIDEO = "/api/v1/videos/{video_id}"
UPLOAD = "/api/v1/uploads/{upload_id}"


@dataclass(frozen=True)
class Line:
    """What a route asks of a key; None for a route that is open to all."""

    scope: Scope | None
    owned: bool = False
    """It names something that belongs to a user: for every other user there is no such thing."""
    permit: bool = False
    """It takes more than a key: what a claim gave, or a worker that is registered. See tests/remote.

    Or a video, a ticket, an upload: see test_videos.py, test_playback.py and test_uploads.py, also for those of others.
    """
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)


MATRIX = {
    "GET /": Line(None),
    "GET /openapi.json": Line(None),
    "GET /docs": Line(None),
    "GET /livez": Line(None),
    "GET /readyz": Line(None),
    "GET /health": Line(None),
    "GET /signin": Line(None, query={"code": "x"}),
    "POST /signin": Line(None, body={"key": "x"}),
    "POST /signout": Line(None),
    "GET /api/v1/jobs": Line(READ),
    "POST /api/v1/jobs": Line(WRITE, body={"pipeline": "simple"}),
    "POST /api/v1/jobs/batch": Line(WRITE, body={"jobs": [{"pipeline": "simple"}]}),
    "POST /api/v1/jobs/bulk": Line(WRITE, body={"action": "retry", "status": ["failed"]}),
    f"GET {JOB}": Line(READ, owned=True),
    f"GET {JOB}/stages": Line(READ, owned=True),
    f"GET {JOB}/tasks": Line(READ, owned=True),
    f"GET {JOB}/events": Line(READ, owned=True),
    f"GET {JOB}/logs": Line(READ, owned=True),
    f"GET {JOB}/steps": Line(READ, owned=True),
    f"POST {JOB}/retry": Line(WRITE, owned=True, body={}),
    f"POST {JOB}/cancel": Line(WRITE, owned=True, body={}),
    f"POST {JOB}/quarantine": Line(ADMIN, body={"reason": "why"}),
    f"POST {JOB}/force": Line(ADMIN, body={"status": "failed", "reason": "why"}),
    "GET /api/v1/events": Line(READ),
    "GET /api/v1/states/{job_id}": Line(READ, owned=True),
    "GET /api/v1/states/{job_id}/lowest": Line(READ, owned=True),
    "GET /api/v1/workers": Line(ADMIN),
    f"POST {NAMED}/drain": Line(ADMIN),
    f"POST {NAMED}/enable": Line(ADMIN),
    f"POST {NAMED}/disable": Line(ADMIN),
    f"POST {NAMED}/revoke": Line(ADMIN),
    "GET /api/v1/machines": Line(READ),
    f"GET {MACHINE}": Line(READ),
    f"GET {MACHINE}/mermaid": Line(READ),
    f"GET {MACHINE}/svg": Line(READ),
    **{
        f"POST /api/worker/{verb}": Line(WORKER, permit=True, body={})
        for verb in ("register", "claim", "heartbeat", "progress", "complete", "fail", "release", "leave")
    },
    **{f"GET /api/worker/{what}": Line(WORKER, permit=True) for what in ("results", "bells", "source", "files")},
    "GET /api/worker/files/{key:path}": Line(WORKER, permit=True),
    "PUT /api/worker/files/{key:path}": Line(WORKER, permit=True),
    "PUT /api/worker/archive": Line(WORKER, permit=True),
    "GET /api/v1/videos": Line(READ),
    "POST /api/v1/videos": Line(WRITE, permit=True, body={"source": "https://example.com/film.mov"}),
    "POST /api/v1/videos/upload": Line(WRITE, permit=True),
    f"GET {VIDEO}": Line(READ, permit=True),
    f"DELETE {VIDEO}": Line(WRITE, permit=True),
    **{f"POST {VIDEO}/{verb}": Line(WRITE, permit=True) for verb in ("retranscode", "unpin", "rollback")},
    f"POST {VIDEO}/pin": Line(WRITE, permit=True, body={"job": 1}),
    f"POST {VIDEO}/playback": Line(READ, permit=True),
    f"GET {VIDEO}/files/{{key:path}}": Line(READ, permit=True),
    "OPTIONS /play/{ticket}/{key:path}": Line(None),
    "GET /play/{ticket}/{key:path}": Line(None),
    "OPTIONS /api/v1/uploads": Line(None),
    "POST /api/v1/uploads": Line(WRITE, permit=True),
    **{f"{verb} {UPLOAD}": Line(WRITE, permit=True) for verb in ("GET", "PATCH", "DELETE")},
    "GET /api/v1/queue": Line(READ),
    "GET /api/v1/settings": Line(ADMIN),
}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(Engine(store_at("sqlite://")), Settings())


def every_route(routes: list[BaseRoute]) -> Iterator[BaseRoute]:
    """The routes of an application, also those of routers in it."""
    for route in routes:
        router = getattr(route, "original_router", None)
        yield from every_route(router.routes) if router else [route]


def requests_of(app: FastAPI) -> dict[str, BaseRoute]:
    """Every request that is answered, as method and path."""
    return {
        f"{method} {route.path}": route  # type: ignore[attr-defined]  # what has methods has a path
        for route in every_route(app.routes)
        for method in getattr(route, "methods", ["?"])
        if method != "HEAD"
    }


def scopes_of(dependant: Dependant) -> set[Scope]:
    """What a route requires, by its dependencies."""
    own = {dependant.call.scope} if isinstance(dependant.call, Require) else set()
    return own.union(*(scopes_of(inner) for inner in dependant.dependencies))


def test_every_route_has_a_line_here_and_every_line_a_route(app: FastAPI) -> None:
    found = requests_of(app)
    assert [name for name in found if name not in MATRIX] == [], "say here what these routes ask of a key"
    assert [name for name in MATRIX if name not in found] == []


def test_every_route_requires_what_its_line_says(app: FastAPI) -> None:
    required = {
        name: scopes_of(route.dependant) for name, route in requests_of(app).items() if isinstance(route, APIRoute)
    }
    assert required == {name: {MATRIX[name].scope} - {None} for name in required}


def test_every_route_that_is_described_says_what_it_does(app: FastAPI) -> None:
    described = app.openapi()["paths"]
    for name, line in MATRIX.items():
        method, path = name.split(" ")
        if path in {"/openapi.json", "/docs"}:
            continue
        operation = described[path.replace(":path}", "}")][method.lower()]
        assert operation["description"]
        assert ("security" in operation) >= (line.scope is not None)


async def asked(api: Served, role: str, name: str, values: dict[str, Any]) -> int:
    method, path = name.split(" ")
    line = MATRIX[name]
    path = path.replace(":path}", "}").format(**values)
    answer = await api.ask(role, method, path, json=line.body, params=line.query)
    return answer.status_code


def may(role: str, scope: Scope | None) -> bool:
    if scope is None:
        return True
    return role != NOBODY and bool({scope, ADMIN} & set(ROLES[role][1]))


async def test_who_may_not_is_refused_and_who_may_is_let_in(api: Served) -> None:
    await a_worker(api.engine, "encoder")
    values = {"job_id": await api.submit("ada"), "name": "encoder", "entity": "job", "key": "a/b"}
    values |= {"video_id": 1, "upload_id": "a" * 32, "ticket": "x"}
    for name, line in MATRIX.items():
        for role in (NOBODY, *ROLES):
            status = await asked(api, role, name, values)
            if not may(role, line.scope):
                assert status == (401 if role == NOBODY else 403), f"{role}: {name}"
            elif line.scope is not None and not line.permit:
                assert status not in (401, 403, 405, 422, 500), f"{role}: {name} gives {status}"


async def test_what_is_somebody_elses_does_not_exist(api: Served) -> None:
    job_id = await api.submit("ada")
    values = {"job_id": job_id}
    before = await api.engine.job(job_id)
    owned = [name for name, line in MATRIX.items() if line.owned]
    for name in owned:
        theirs = await asked(api, "bob", name, values)
        nobodys = await asked(api, "bob", name, {"job_id": 1})
        assert (theirs, nobodys) == (404, 404), name
    assert await api.engine.job(job_id) == before
    mine = {name: await asked(api, "ada", name, values) for name in owned}
    expected = {name: 404 if name.endswith("/lowest") else 200 for name in owned}  # it has no state yet
    assert mine == expected


async def test_what_belongs_to_nobody_is_not_seen_by_users(api: Served) -> None:
    job_id = await api.submit("admin")
    for name in [name for name, line in MATRIX.items() if line.owned]:
        assert await asked(api, "ada", name, {"job_id": job_id}) == 404, name


async def test_listings_and_counts_hold_only_ones_own(api: Served) -> None:
    for _ in range(2):
        await api.submit("ada")
    await api.submit("bob")
    for role, count in (("ada", 2), ("bob", 1), ("admin", 3)):
        assert len((await api.ask(role, "GET", "/api/v1/jobs")).json()["items"]) == count
        queue = (await api.ask(role, "GET", "/api/v1/queue")).json()
        assert queue["jobs"] == {"pending": count}
        assert queue["pipelines"][0]["ready"] == count
