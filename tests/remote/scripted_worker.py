"""A remote worker in the hands of a test: it says what the test tells it to, by the book or not."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import httpx

from reelstate.api.remotes import Remotes
from reelstate.remote.wire import PERMIT_HEADER, PREFIX, PROTOCOL
from reelstate.services.keys import Scope
from tests.api.served import Served

Json = Any
REGISTRATION = {"protocol": PROTOCOL, "software": "test", "hostname": "far", "slots": 1000}


@dataclass
class ScriptedWorker:
    name: str
    key: str
    client: httpx.AsyncClient
    worker_id: int = 0

    @classmethod
    async def of(cls, api: Served, name: str, **hello: Json) -> ScriptedWorker:
        """A worker that is registered under a key of its own."""
        key = (await api.context.keys.create(name, scopes=[Scope.WORKER], actor="operator:test")).text
        client = httpx.AsyncClient(
            base_url=api.url + PREFIX, headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
        )
        await api._clients.enter_async_context(client)
        far = cls(name, key, client)
        given = {**REGISTRATION, "pipelines": ["simple", "fan", "parts"], **hello}
        answer = await far.say("register", **given)
        assert answer.status_code == 200, answer.text
        far.worker_id = answer.json()["worker_id"]
        return far

    async def say(self, verb: str, **body: Json) -> httpx.Response:
        return await self.client.post(f"/{verb}", json=body)

    async def claim(self, limit: int = 1, **options: Json) -> list[Json]:
        answer = await self.say("claim", worker_id=self.worker_id, limit=limit, **options)
        assert answer.status_code == 200, answer.text
        tasks: list[Json] = answer.json()["tasks"]
        return tasks

    async def end(self, verb: str, *permits: str, **said: Json) -> httpx.Response:
        return await self.say(verb, items=[{"permit": permit, **said} for permit in permits])

    async def ask(self, method: str, path: str, permit: str, **options: Json) -> httpx.Response:
        headers = {PERMIT_HEADER: permit, **options.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **options)

    async def put(self, key: str, data: bytes, permit: str, *, told: bytes | None = None) -> httpx.Response:
        """Send a file; `told` is what its digest is made of, if not of the file."""
        return await self.ask(
            "PUT", f"/files/{key}", permit, content=data, headers=digest(data if told is None else told)
        )


def digest(data: bytes) -> dict[str, str]:
    return {"Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"}


def output_prefix(task: Json, stage: str = "main") -> str:
    """Where the run of a claimed task writes."""
    job, _, part = task["key"]
    return f"versions/{job}/{stage}/{part}/{task['token']}"


def error_name(answer: httpx.Response) -> str:
    """The name of the error that an answer tells of."""
    return str(answer.json()["type"]).rpartition(":")[2]


def remotes_of(api: Served) -> Remotes:
    found: Remotes = api.server.config.app.state.remotes  # type: ignore[union-attr]
    return found
