"""A remote worker whose requests the test writes, valid or not."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import httpx

from reelstate.api.remotes import Remotes
from reelstate.remote.wire import PERMIT_HEADER, PREFIX, PROTOCOL
from reelstate.services.keys import Scope
from tests.api.api_server import Server

Json = Any
REGISTRATION = {"protocol": PROTOCOL, "software": "test", "hostname": "far", "slots": 1000}


@dataclass
class ScriptedWorker:
    name: str
    key: str
    client: httpx.AsyncClient
    worker_id: int = 0

    @classmethod
    async def of(cls, api: Server, name: str, **changes: Json) -> ScriptedWorker:
        """Return a worker that is registered under a new key."""
        key = (await api.context.keys.create(name, scopes=[Scope.WORKER], actor="operator:test")).text
        client = httpx.AsyncClient(
            base_url=api.url + PREFIX, headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
        )
        await api._clients.enter_async_context(client)
        worker = cls(name, key, client)
        given = {**REGISTRATION, "pipelines": ["simple", "fan", "parts"], **changes}
        answer = await worker.send("register", **given)
        assert answer.status_code == 200, answer.text
        worker.worker_id = answer.json()["worker_id"]
        return worker

    async def send(self, verb: str, **body: Json) -> httpx.Response:
        return await self.client.post(f"/{verb}", json=body)

    async def claim(self, limit: int = 1, **options: Json) -> list[Json]:
        answer = await self.send("claim", worker_id=self.worker_id, limit=limit, **options)
        assert answer.status_code == 200, answer.text
        tasks: list[Json] = answer.json()["tasks"]
        return tasks

    async def send_items(self, verb: str, *permits: str, **fields: Json) -> httpx.Response:
        return await self.send(verb, items=[{"permit": permit, **fields} for permit in permits])

    async def request(self, method: str, path: str, permit: str, **options: Json) -> httpx.Response:
        headers = {PERMIT_HEADER: permit, **options.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **options)

    async def put(self, key: str, data: bytes, permit: str, *, digest_of: bytes | None = None) -> httpx.Response:
        """Send a file; `digest_of` are the bytes of its digest, if not those of the file."""
        return await self.request(
            "PUT",
            f"/files/{key}",
            permit,
            content=data,
            headers=digest_header(data if digest_of is None else digest_of),
        )


def digest_header(data: bytes) -> dict[str, str]:
    return {"Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"}


def output_prefix(task: Json, stage: str = "main") -> str:
    """Return the prefix under which the run of a claimed task writes."""
    job, _, part = task["key"]
    return f"versions/{job}/{stage}/{part}/{task['token']}"


def error_name(answer: httpx.Response) -> str:
    """Return the name of the error in a response."""
    return str(answer.json()["type"]).rpartition(":")[2]


def remotes_of(api: Server) -> Remotes:
    found: Remotes = api.server.config.app.state.remotes  # type: ignore[union-attr]
    return found
