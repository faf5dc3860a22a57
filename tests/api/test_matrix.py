"""Every route × every kind of key × the data of other users. A route that is missing here fails the test."""

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
from reelstate.engine import Engine
from reelstate.library.videos import Videos
from reelstate.services.keys import Scope
from tests.api.api_server import NOBODY, ROLES, Server
from tests.engines import a_worker

READ, WRITE, WORKER, ADMIN = Scope.READ, Scope.WRITE, Scope.WORKER, Scope.ADMIN
JOB = "/api/v1/jobs/{job_id}"
NAMED = "/api/v1/workers/{name}"
MACHINE = "/api/v1/machines/{entity}"
VIDEO = "/api/v1/videos/{video_id}"
WEBHOOK = "/api/v1/webhooks/{webhook_id}"
SCHEDULE = "/api/v1/schedules/{name}"
GROUP = "/api/v1/groups/{name}"
UPLOAD = "/api/v1/uploads/{upload_id}"


@dataclass(frozen=True)
class Line:
    """The scope that a route requires; None for a route without a key."""

    scope: Scope | None
    owned: bool = False
    """It names something that belongs to a user; other users get 404."""
    permit: bool = False
    """It takes more than a key: a leased task, or a registered worker. See tests/remote.

    Or a video, a ticket, an upload, a webhook, a schedule, a group: see test_videos.py, test_playback.py,
    test_uploads.py, test_webhooks.py, test_schedules.py and test_groups.py, also for those of others.
    """
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)


MATRIX = {
    "GET /": Line(None),
    "GET /ui": Line(None),
    "GET /ui/{path:path}": Line(None),
    "GET /openapi.json": Line(None),
    "GET /docs": Line(None),
    "GET /livez": Line(None),
    "GET /readyz": Line(None),
    "GET /health": Line(None),
    "GET /metrics": Line(None),
    "GET /signin": Line(None, query={"code": "x"}),
    "POST /signin": Line(None, body={"key": "x"}),
    "POST /signout": Line(None),
    "GET /api/v1/jobs": Line(READ),
    "POST /api/v1/jobs": Line(WRITE, body={"pipeline": "simple"}),
    "POST /api/v1/jobs/batch": Line(WRITE, body={"jobs": [{"pipeline": "simple"}]}),
    "POST /api/v1/jobs/bulk": Line(WRITE, body={"action": "retry", "status": ["failed"]}),
    "GET /api/v1/jobs/suggestions": Line(READ),
    f"GET {JOB}": Line(READ, owned=True),
    f"GET {JOB}/why": Line(READ, owned=True),
    f"GET {JOB}/stages": Line(READ, owned=True),
    f"GET {JOB}/tasks": Line(READ, owned=True),
    f"GET {JOB}/events": Line(READ, owned=True),
    f"GET {JOB}/logs": Line(READ, owned=True),
    f"GET {JOB}/steps": Line(READ, owned=True),
    f"GET {JOB}/qualities": Line(READ, owned=True),
    f"GET {JOB}/grid": Line(READ, owned=True),
    f"GET {JOB}/spans": Line(READ, owned=True),
    f"GET {JOB}/attempts": Line(READ, owned=True),
    f"POST {JOB}/reprioritise": Line(WRITE, owned=True, body={"priority": 9}),
    f"POST {JOB}/retry": Line(WRITE, owned=True, body={}),
    f"POST {JOB}/cancel": Line(WRITE, owned=True, body={}),
    f"POST {JOB}/quarantine": Line(ADMIN, body={"reason": "why"}),
    f"POST {JOB}/force": Line(ADMIN, body={"status": "failed", "reason": "why"}),
    "GET /api/v1/events": Line(READ),
    "GET /api/v1/states/{job_id}": Line(READ, owned=True),
    "GET /api/v1/states/{job_id}/lowest": Line(READ, owned=True),
    "GET /api/v1/workers": Line(ADMIN),
    "GET /api/v1/workers/names": Line(ADMIN),
    f"POST {NAMED}/drain": Line(ADMIN),
    f"POST {NAMED}/enable": Line(ADMIN),
    f"POST {NAMED}/disable": Line(ADMIN),
    f"POST {NAMED}/revoke": Line(ADMIN),
    "GET /api/v1/keys": Line(ADMIN),
    "POST /api/v1/keys": Line(ADMIN, body={"name": "x", "scopes": ["admin"]}),
    "POST /api/v1/keys/{key_id}/rotate": Line(ADMIN, body={}),
    "POST /api/v1/keys/{key_id}/revoke": Line(ADMIN),
    "GET /api/v1/archive": Line(ADMIN),
    "POST /api/v1/archive": Line(ADMIN, body={"dry_run": True}),
    "GET /api/v1/archive/{month}": Line(ADMIN, permit=True),
    "GET /api/v1/limits": Line(ADMIN),
    "GET /api/v1/limits/{name}": Line(ADMIN),
    "PUT /api/v1/limits/{name}": Line(ADMIN, body={"running": 1}),
    "DELETE /api/v1/limits/{name}": Line(ADMIN),
    "GET /api/v1/pauses": Line(ADMIN),
    "POST /api/v1/pauses": Line(ADMIN, body={"user_id": "nobody"}),
    "POST /api/v1/pauses/resume": Line(ADMIN, body={"user_id": "somebody"}),
    "GET /api/v1/webhooks": Line(READ, permit=True),
    "POST /api/v1/webhooks": Line(WRITE, body={"url": "https://example.com/hook"}),
    f"GET {WEBHOOK}": Line(READ, permit=True),
    f"PATCH {WEBHOOK}": Line(WRITE, permit=True, body={}),
    f"DELETE {WEBHOOK}": Line(WRITE, permit=True),
    f"POST {WEBHOOK}/rotate": Line(WRITE, permit=True),
    f"GET {WEBHOOK}/deliveries": Line(READ, permit=True),
    f"POST {WEBHOOK}/deliveries/{{delivery_id}}/redeliver": Line(WRITE, permit=True),
    "GET /api/v1/schedules": Line(READ, permit=True),
    "POST /api/v1/schedules": Line(WRITE, permit=True, body={"name": "x", "pipeline": "simple", "timing": "@daily"}),
    "POST /api/v1/schedules/preview": Line(READ, body={"timing": "@daily"}),
    f"GET {SCHEDULE}": Line(READ, permit=True),
    f"PATCH {SCHEDULE}": Line(WRITE, permit=True, body={}),
    f"DELETE {SCHEDULE}": Line(WRITE, permit=True),
    **{f"POST {SCHEDULE}/{verb}": Line(WRITE, permit=True) for verb in ("pause", "resume", "trigger")},
    f"POST {SCHEDULE}/backfill": Line(
        WRITE, permit=True, body={"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}
    ),
    "GET /api/v1/groups": Line(READ, permit=True),
    f"GET {GROUP}": Line(READ, permit=True),
    **{f"POST {GROUP}/{verb}": Line(WRITE, permit=True) for verb in ("cancel", "retry")},
    "GET /api/v1/machines": Line(READ),
    f"GET {MACHINE}": Line(READ),
    f"GET {MACHINE}/mermaid": Line(READ),
    f"GET {MACHINE}/svg": Line(READ),
    **{
        f"POST /api/worker/{verb}": Line(WORKER, permit=True, body={})
        for verb in ("register", "claim", "heartbeat", "progress", "complete", "fail", "release", "leave")
    },
    **{f"GET /api/worker/{what}": Line(WORKER, permit=True) for what in ("results", "wakeups", "source", "files")},
    "GET /api/worker/files/{key:path}": Line(WORKER, permit=True),
    "PUT /api/worker/files/{key:path}": Line(WORKER, permit=True),
    "PUT /api/worker/archive": Line(WORKER, permit=True),
    "GET /api/v1/videos": Line(READ),
    "POST /api/v1/videos": Line(WRITE, permit=True, body={"source": "https://example.com/video.mov"}),
    "POST /api/v1/videos/upload": Line(WRITE, permit=True),
    f"GET {VIDEO}": Line(READ, permit=True),
    f"DELETE {VIDEO}": Line(WRITE, permit=True),
    **{f"POST {VIDEO}/{verb}": Line(WRITE, permit=True) for verb in ("retranscode", "unpin", "rollback", "restore")},
    f"POST {VIDEO}/pin": Line(WRITE, permit=True, body={"job": 1}),
    f"POST {VIDEO}/playback": Line(READ, permit=True),
    f"GET {VIDEO}/files/{{key:path}}": Line(READ, permit=True),
    "OPTIONS /play/{ticket}/{key:path}": Line(None),
    "GET /play/{ticket}/{key:path}": Line(None),
    "OPTIONS /api/v1/uploads": Line(None),
    "POST /api/v1/uploads": Line(WRITE, permit=True),
    **{f"{verb} {UPLOAD}": Line(WRITE, permit=True) for verb in ("GET", "PATCH", "DELETE")},
    "GET /api/v1/queue": Line(READ),
    "GET /api/v1/overview": Line(READ),
    "GET /api/v1/session": Line(READ),
    "GET /api/v1/pipelines": Line(READ),
    "POST /api/v1/pipelines/{name}/use": Line(ADMIN, permit=True, body={}),
    "GET /api/v1/settings": Line(ADMIN),
}

LISTINGS = {
    "GET /api/v1/jobs": "job",
    "GET /api/v1/events": "job",
    "GET /api/v1/videos": "video",
    "GET /api/v1/queue": "count",
    "GET /api/v1/overview": "overview",
}
"""What a listing shows of its user only: jobs, videos, or the number of jobs."""
COMMON = {
    "GET /",
    "GET /livez",
    "GET /readyz",
    "GET /health",
    "GET /metrics",
    "GET /signin",
    "GET /api/v1/session",
    "GET /api/v1/jobs/suggestions",
    "GET /api/v1/pipelines",
    "GET /api/v1/machines",
    f"GET {MACHINE}",
    f"GET {MACHINE}/mermaid",
    f"GET {MACHINE}/svg",
}
"""Data that belongs to no user: the same for every reader."""


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(Engine(store_at("sqlite://")), Settings())


def every_route(routes: list[BaseRoute]) -> Iterator[BaseRoute]:
    """Return the routes of an application and of its routers."""
    for route in routes:
        router = getattr(route, "original_router", None)
        yield from every_route(router.routes) if router else [route]


def requests_of(app: FastAPI) -> dict[str, BaseRoute]:
    """Return every request that has a route, as method and path."""
    return {
        f"{method} {route.path}": route  # type: ignore[attr-defined]  # what has methods has a path
        for route in every_route(app.routes)
        for method in getattr(route, "methods", ["?"])
        if method != "HEAD"
    }


def scopes_of(dependant: Dependant) -> set[Scope]:
    """Return the scopes that a route requires, by its dependencies."""
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


def test_every_described_route_has_a_summary(app: FastAPI) -> None:
    described = app.openapi()["paths"]
    for name, line in MATRIX.items():
        method, path = name.split(" ")
        if path in {"/openapi.json", "/docs", "/ui", "/ui/{path:path}"}:
            continue
        operation = described[path.replace(":path}", "}")][method.lower()]
        assert operation["description"]
        assert ("security" in operation) >= (line.scope is not None)


def test_every_reading_route_declares_whose_data_it_shows(app: FastAPI) -> None:
    named = {name.replace(":path}", "}"): line for name, line in MATRIX.items()}
    narrowed = {name for name, line in named.items() if line.owned or line.permit}
    read = {f"GET {path}" for path, operations in app.openapi()["paths"].items() if "get" in operations}
    for_users = {name for name in read if named[name].scope in (None, READ, WRITE)}
    classified = narrowed | set(LISTINGS) | COMMON | {"GET /play/{ticket}/{key}"}
    assert sorted(for_users - classified) == [], "add these to LISTINGS, to COMMON, or mark their lines as owned"
    assert sorted((set(LISTINGS) | COMMON) - for_users) == []
    assert sorted(set(LISTINGS) & (narrowed | COMMON)) == []


async def asked(api: Server, role: str, name: str, values: dict[str, Any]) -> int:
    method, path = name.split(" ")
    line = MATRIX[name]
    path = path.replace(":path}", "}").format(**values)
    answer = await api.ask(role, method, path, json=line.body, params=line.query)
    return answer.status_code


def may(role: str, scope: Scope | None) -> bool:
    if scope is None:
        return True
    return role != NOBODY and bool({scope, ADMIN} & set(ROLES[role][1]))


async def test_a_role_without_the_scope_is_refused_and_one_with_it_is_accepted(api: Server) -> None:
    await a_worker(api.engine, "encoder")
    values = {"job_id": await api.submit("ada"), "name": "encoder", "entity": "job", "key": "a/b", "path": ""}
    values |= {"video_id": 1, "upload_id": "a" * 32, "ticket": "x", "key_id": "0" * 12}
    values |= {"webhook_id": "wh_0", "delivery_id": 1, "month": "2020-01"}
    for name, line in MATRIX.items():
        for role in (NOBODY, *ROLES):
            status = await asked(api, role, name, values)
            if not may(role, line.scope):
                assert status == (401 if role == NOBODY else 403), f"{role}: {name}"
            elif line.scope is not None and not line.permit:
                assert status not in (401, 403, 405, 422, 500), f"{role}: {name} gives {status}"


async def test_data_of_another_user_is_not_found(api: Server) -> None:
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


async def test_users_do_not_see_jobs_without_a_user(api: Server) -> None:
    job_id = await api.submit("admin")
    for name in [name for name, line in MATRIX.items() if line.owned]:
        assert await asked(api, "ada", name, {"job_id": job_id}) == 404, name


async def test_listings_and_counts_hold_only_the_data_of_the_user(api: Server) -> None:
    users = {"ada": "ada", "bob": "bob", "admin": ""}
    mine: dict[str, dict[str, set[int]]] = {}
    for count, (role, user_id) in enumerate(users.items(), start=1):
        made = [await Videos(api.engine).submit("a.mp4", pipeline="simple", user_id=user_id) for _ in range(count)]
        jobs = {each.job_id for each in made} | {await api.submit(role)}
        mine[role] = {"job": jobs, "video": {each.resource_id or 0 for each in made}}
    for kind in ("job", "video"):
        mine["admin"][kind] = set.union(*(each[kind] for each in mine.values()))
    for name, kind in LISTINGS.items():
        method, path = name.split(" ")
        for role in users:
            answer = (await api.ask(role, method, path)).json()
            if kind == "overview":
                assert answer["jobs"]["pending"] == {"count": len(mine[role]["job"]), "capped": False}, role
                ready = {each["pipeline"]: each["ready"]["count"] for each in answer["pipelines"]}
                assert ready["simple"] == len(mine[role]["job"]), role
            elif kind == "count":
                assert answer["jobs"] == {"pending": len(mine[role]["job"])}, f"{role}: {name}"
                assert answer["pipelines"][0]["ready"] == len(mine[role]["job"]), f"{role}: {name}"
            else:
                shown = {int(str(item["id"]).partition("/")[0]) for item in answer["items"]}
                assert shown == mine[role][kind], f"{role}: {name}"
            for other in users.values():
                foreign = await api.ask(role, method, path, params={"user_id": other or "nobody"})
                if role not in {"admin", other} and kind in {"job", "video"}:
                    assert foreign.status_code == 403, f"{role}: {name} of {other!r}"
