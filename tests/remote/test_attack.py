"""A malicious remote worker attacks every field that it can send.

No attack makes the server or another worker touch a forbidden file, stall, or use too much memory.
"""

import asyncio
import json
import typing
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reelstate.api.worker import BODY_OVERHEAD, router
from reelstate.config import DEFAULTS
from tests.media.test_results import HOSTILE, paths, put
from tests.remote.malicious_worker import MEBIBYTE, STAGES, MaliciousWorker, Watch, attacked_server, hello
from tests.waiting import let_others_run

Json = Any
STALL = 0.25
"""Seconds for which the server may leave other clients without an answer."""
GROWTH = 64 * MEBIBYTE
TRIES = 3
"""An attack that stalls the server does so each time; a server that was slow once was slow for another reason."""
LARGEST = DEFAULTS.remote_body_limit + BODY_OVERHEAD - 1000
Attack = Callable[[], Coroutine[Any, Any, Any]]


def known_lies(attacker: MaliciousWorker) -> list[tuple[str, tuple[Json, ...], Json]]:
    """Return the false values that once did harm: stage, path in its result, value."""
    write, *_ = attacker.poison()
    return [
        ("fetch", ("plan", "picture", "tonemap"), attacker.poison()[1]),
        ("fetch", ("plan", "picture", "tonemap"), write),
        ("fetch", ("plan", "picture", "matrix"), f"input,{write}"),
        ("fetch", ("plan", "grid", "origin"), "1e3000000"),
        ("fetch", ("plan", "grid", "rate"), "1/0"),
        ("fetch", ("plan", "grid", "frames"), 1_000_000),
        ("fetch", ("facts", "video", "duration"), "43199"),
        ("fetch", ("facts", "video", "transfer"), write),
        ("probe", ("video", "transfer"), write),
        ("plan", ("rungs", 0, "name"), "../../escaped"),
        ("encode", ("rungs", "90p", "segments"), [[0, 1, 0, 1]] * 60_000),
        ("encode", ("rungs", "90p", "init", "size"), 300 * MEBIBYTE),
        ("encode", ("failed",), {"90p": "x" * 3_000_000}),
        ("audio", ("segments",), [[0, 1, 1, 1]] * 60_000),
        ("captions", ("title",), "x" * 1_000_000),
    ]


def records(worker_id: int, permit: str) -> dict[str, Json]:
    """Return the body of every request of a worker except results, with honest values in all fields."""
    line = {"message": "a", "level": "info", "metadata": {"a": 1}}
    step = {"number": 1, "argv": ["ffmpeg"], "exit_code": 0, "seconds": 1.0, "output": "a"}
    state = {"number": 1, "tag": "a", "status": 1, "message": "a", "severity": "info", "payload": {"a": 1}}
    progress = {
        "permit": permit, "percent": 1.0, "message": "a", "step": "a", "checkpoint": {"a": 1},
        "logs": [line], "steps": [step], "states": [state],
    }  # fmt: skip
    lease = [1, 0, 0, 1]
    return {
        "register": hello(),
        "claim": {
            "worker_id": worker_id, "limit": 1, "pipelines": ["none"], "hints": [lease[:3]], "gpu_grace": 1.0,
            "wait": 0.0, "known": [lease],
        },
        "heartbeat": {"worker_id": worker_id, "items": [{"permit": permit}], "stuck": 0},
        "progress": {"worker_id": worker_id, "items": [progress], "stuck": 0},
        "complete": {"items": [{"permit": permit, "result": {"a": 1}, "skipped": False}]},
        "fail": {"items": [{"permit": permit, "error": {"a": 1}, "retryable": True, "retry_in": 1.0}]},
        "release": {"items": [{"permit": permit}]},
        "leave": {"worker_id": 0, "reason": "a"},
    }  # fmt: skip


def large_bodies(permit: str) -> dict[str, bytes]:
    """Return bodies that cost the server most memory or time for their length."""
    item = json.dumps({"permit": permit}).encode()[:-1]
    line = b'{"message":"a"},'
    return {
        "lists": b'{"items":[' + b"[]," * (LARGEST // 3),
        "objects": b'{"items":[' + b'{"a":{}},' * (LARGEST // 9),
        "numbers": b'{"items":[' + b"1e9," * (LARGEST // 4),
        "strings": b'{"items":[' + b'"",' * (LARGEST // 3),
        "quotes": b'{"items":["' + b'\\"' * (LARGEST // 2 - 10),
        "digits": b'{"items":[' + b"9" * (LARGEST - 10),
        "deep": b"[" * LARGEST,
        "permits": b'{"worker_id":0,"items":[' + (item + b"},") * 2000 + item + b"}]}",
        "lines": b'{"worker_id":0,"items":['
        + item
        + b',"logs":['
        + line * (LARGEST // 16 - 100)
        + b'{"message":"a"}]}]}',
        "text": b'{"items":[' + item + b',"result":"' + b"x" * (LARGEST - 2000) + b'"}]}',
        "values": b'{"items":[' + item + b',"result":[' + b"[0]," * 60_000 + b"0]}]}",
    }


class Guarded:
    """Runs attacks and checks what each one costs the server."""

    def __init__(self, attacker: MaliciousWorker, watch: Watch) -> None:
        self.attacker, self.watch = attacker, watch
        self.baseline = 0

    def measure(self) -> None:
        """Take the memory that the server uses without an attack as the baseline."""
        self.attacker.server.forget_peak()
        self.baseline = self.attacker.server.memory()

    async def attack(self, name: str, attack: Attack) -> None:
        for _ in range(TRIES):
            self.watch.worst = 0.0
            await attack()
            await let_others_run()
            if self.watch.worst <= STALL:
                break
        else:
            raise AssertionError(f"{name} stalls the server, by {self.watch.worst:.2f} s")
        grown = self.attacker.server.peak_memory() - self.baseline
        assert grown <= GROWTH, f"{name} grows the server by {grown / MEBIBYTE:.0f} MiB"
        self.attacker.require_untouched()


async def send_header(attacker: MaliciousWorker) -> None:
    """Send a header as large as a video where a few hundred bytes are expected."""
    job = await attacker.submit()
    (task, *_), _ = await attacker.reach(job, "encode")
    result = await attacker.truth(task)
    data = bytes(200 * MEBIBYTE)
    await attacker.put(task, "large.mp4", data)
    rung = next(iter(result["rungs"].values()))
    rung["init"] = {"key": rung["init"]["key"].rpartition("/")[0] + "/large.mp4", "size": len(data), "sha256": "0" * 64}
    assert (await attacker.complete(task, result)).status_code == 409
    await attacker.engine.cancel(job)


async def send_record(attacker: MaliciousWorker, verb: str, change: Callable[[Json], Json]) -> None:
    """Send one record with one wrong value, under a valid permit."""
    job = await attacker.submit()
    (task, *_), _ = await attacker.reach(job, "validate")
    before = attacker.worker_id
    answer = await attacker.post(verb, change(records(attacker.worker_id, task["permit"])[verb]))
    assert answer.status_code < 500, (verb, answer.text)
    attacker.worker_id = before
    await attacker.engine.cancel(job)


async def send_large(attacker: MaliciousWorker, name: str) -> None:
    job = await attacker.submit()
    (task, *_), _ = await attacker.reach(job, "validate")
    for verb in ("complete", "progress"):
        answer = await attacker.client.post(
            f"/{verb}", content=large_bodies(task["permit"])[name], headers={"Content-Type": "application/json"}
        )
        assert answer.status_code < 500, (verb, answer.text)
    await attacker.engine.cancel(job)


async def require_listings(attacker: MaliciousWorker) -> None:
    """Require that the listings of operators still answer."""
    from tests.api.server_process import a_key  # noqa: PLC0415 - needed only here

    headers = {"Authorization": f"Bearer {await a_key(attacker.engine)}"}
    for path in ("/jobs", "/events", "/workers"):
        answer = await attacker.client.get(f"{attacker.server.url}/api/v1{path}?", headers=headers)
        assert answer.status_code == 200, (path, answer.text)


def attack_server(folder: Path, examples: int) -> None:
    with asyncio.Runner() as runner:
        context = attacked_server(folder)
        attacker = runner.run(context.__aenter__())
        try:
            with Watch(attacker.server).running() as watch:
                _run_attacks(runner, attacker, Guarded(attacker, watch), examples)
        finally:
            runner.run(context.__aexit__(None, None, None))


def _run_attacks(runner: asyncio.Runner, attacker: MaliciousWorker, guarded: Guarded, examples: int) -> None:
    assert runner.run(attacker.lie("publish", lambda truth: truth)), "the true result is accepted"
    attacker.accepted.clear()
    guarded.measure()
    poison = attacker.poison()

    def send_lie(stage: str, path: tuple[Json, ...], value: Json) -> None:
        name = f"{stage} {'.'.join(map(str, path))} = {str(value)[:60]}"
        runner.run(guarded.attack(name, lambda: attacker.lie(stage, lambda truth: put(truth, path, value))))

    def send(verb: str, number: int, value: Json) -> None:
        def change(record: Json) -> Json:
            every = list(paths(record))
            return put(record, every[number % len(every)], value)

        name = f"{verb} {number} = {str(value)[:60]}"
        runner.run(guarded.attack(name, lambda: send_record(attacker, verb, change)))

    for stage, path, value in known_lies(attacker):
        send_lie(stage, path, value)
    runner.run(guarded.attack("a large header", lambda: send_header(attacker)))
    for name in large_bodies(""):
        runner.run(guarded.attack(name, partial(send_large, attacker, name)))

    value = st.sampled_from([*HOSTILE, *poison])
    quick = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip

    @quick
    @given(st.sampled_from(STAGES), st.integers(0, 10_000), value)
    def every_result(stage: str, number: int, value: Json) -> None:
        found = list(paths(attacker.model.tasks[stage, 0]))
        send_lie(stage, found[number % len(found)], value)

    @quick
    @given(st.sampled_from(sorted(records(0, ""))), st.integers(0, 10_000), value)
    def every_record(verb: str, number: int, value: Json) -> None:
        send(verb, number, value)

    every_result()
    every_record()
    hostile = [
        job for job, lie in attacker.accepted if any(word in json.dumps(lie) for word in map(json.dumps, poison))
    ]
    runner.run(attacker.continue_honestly(hostile or [job for job, _ in attacker.accepted[:1]]))
    attacker.require_untouched()
    runner.run(require_listings(attacker))


def test_the_attack_has_every_request_of_a_worker_and_every_field_of_it() -> None:
    posts = [route for route in router.routes if isinstance(route, APIRoute) and "POST" in (route.methods or ())]
    models = {route.name: typing.get_type_hints(route.endpoint)["body"] for route in posts}
    fields = {verb: set(model.model_fields) for verb, model in models.items()}
    assert {verb: set(record) for verb, record in records(0, "").items()} == fields


def test_a_malicious_worker_touches_no_file_and_neither_stalls_nor_fills_the_server(tmp_path: Path) -> None:
    attack_server(tmp_path, examples=15)


@pytest.mark.prove
def test_a_thousand_attacks_touch_no_file_and_neither_stall_nor_fill_the_server(tmp_path: Path) -> None:
    attack_server(tmp_path, examples=1000)
