"""A malicious remote worker tries every field that it may send.

Nothing of it makes the server or another worker touch a file that it may not, stall, or grow.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reelstate.api.worker import BODY_OVERHEAD
from reelstate.config import DEFAULTS
from tests.media.test_results import HOSTILE, places, put
from tests.remote.malicious_worker import MEBIBYTE, STAGES, MaliciousWorker, Watch, attacked_server, hello

Json = Any
STALL = 0.25
"""Seconds for which nobody else is answered."""
GROWTH = 64 * MEBIBYTE
TRIES = 3
"""An attack that stalls the server does so each time; a server that was slow once was slow for another reason."""
LARGEST = DEFAULTS.remote_body_limit + BODY_OVERHEAD - 1000
Attack = Callable[[], Coroutine[Any, Any, Any]]


def known_lies(malice: MaliciousWorker) -> list[tuple[str, tuple[Json, ...], Json]]:
    """What was found to do harm."""
    (
        write,
        *_,
    ) = malice.poison()
    return [
        ("fetch", ("plan", "picture", "tonemap"), malice.poison()[1]),
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


def records(malice: MaliciousWorker, permit: str) -> dict[str, Json]:
    """What a worker may say beside results, as an honest one says it."""
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
            "worker_id": malice.worker_id, "limit": 1, "pipelines": ["none"], "hints": [lease[:3]], "gpu_grace": 1.0,
            "wait": 0.0, "known": [lease],
        },
        "heartbeat": {"worker_id": malice.worker_id, "items": [{"permit": permit}]},
        "progress": {"worker_id": malice.worker_id, "items": [progress]},
        "complete": {"items": [{"permit": permit, "result": {"a": 1}, "skipped": False}]},
        "fail": {"items": [{"permit": permit, "error": {"a": 1}, "retryable": True, "retry_in": 1.0}]},
        "release": {"items": [{"permit": permit}]},
        "leave": {"worker_id": 0, "reason": "a"},
    }  # fmt: skip


def large_bodies(permit: str) -> dict[str, bytes]:
    """What takes the most memory, or the most time to look at, for its length."""
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
    """Attacks, each watched for what it costs the server."""

    def __init__(self, malice: MaliciousWorker, watch: Watch) -> None:
        self.malice, self.watch = malice, watch
        self.baseline = 0

    def measure(self) -> None:
        """Take what the server needs without an attack as what it may need."""
        self.malice.server.forget_peak()
        self.baseline = self.malice.server.memory()

    async def attack(self, name: str, attack: Attack) -> None:
        for _ in range(TRIES):
            self.watch.worst = 0.0
            await attack()
            await asyncio.sleep(0)
            if self.watch.worst <= STALL:
                break
        else:
            raise AssertionError(f"{name} stalls the server, by {self.watch.worst:.2f} s")
        grown = self.malice.server.peak_memory() - self.baseline
        assert grown <= GROWTH, f"{name} grows the server by {grown / MEBIBYTE:.0f} MiB"
        self.malice.require_untouched()


async def send_header(malice: MaliciousWorker) -> None:
    """A header as large as a film, where some hundred bytes belong."""
    job = await malice.submit()
    (task, *_), _ = await malice.reach(job, "encode")
    result = await malice.truth(task)
    data = bytes(200 * MEBIBYTE)
    await malice.put(task, "large.mp4", data)
    rung = next(iter(result["rungs"].values()))
    rung["init"] = {"key": rung["init"]["key"].rpartition("/")[0] + "/large.mp4", "size": len(data), "sha256": "0" * 64}
    assert (await malice.complete(task, result)).status_code == 409
    await malice.engine.cancel(job)


async def send_record(malice: MaliciousWorker, verb: str, change: Callable[[Json], Json]) -> None:
    """One record with one wrong value, under a permit that is good."""
    job = await malice.submit()
    (task, *_), _ = await malice.reach(job, "validate")
    before = malice.worker_id
    answer = await malice.say(verb, change(records(malice, task["permit"])[verb]))
    assert answer.status_code < 500, (verb, answer.text)
    malice.worker_id = before
    await malice.engine.cancel(job)


async def send_large(malice: MaliciousWorker, name: str) -> None:
    job = await malice.submit()
    (task, *_), _ = await malice.reach(job, "validate")
    for verb in ("complete", "progress"):
        answer = await malice.client.post(
            f"/{verb}", content=large_bodies(task["permit"])[name], headers={"Content-Type": "application/json"}
        )
        assert answer.status_code < 500, (verb, answer.text)
    await malice.engine.cancel(job)


async def require_listings(malice: MaliciousWorker) -> None:
    """What operators look at answers still."""
    from tests.api.server_process import a_key  # noqa: PLC0415 - of this test alone

    headers = {"Authorization": f"Bearer {await a_key(malice.engine)}"}
    for path in ("/jobs", "/events", "/workers"):
        answer = await malice.client.get(f"{malice.server.url}/api/v1{path}?", headers=headers)
        assert answer.status_code == 200, (path, answer.text)


def attacked(folder: Path, examples: int) -> None:
    with asyncio.Runner() as runner:
        context = attacked_server(folder)
        malice = runner.run(context.__aenter__())
        try:
            with Watch(malice.server).running() as watch:
                _attacked(runner, malice, Guarded(malice, watch), examples)
        finally:
            runner.run(context.__aexit__(None, None, None))


def _attacked(runner: asyncio.Runner, malice: MaliciousWorker, guarded: Guarded, examples: int) -> None:
    assert runner.run(malice.lie("publish", lambda truth: truth)), "the truth is taken"
    malice.accepted.clear()
    guarded.measure()
    poison = malice.poison()

    def lied(stage: str, place: tuple[Json, ...], value: Json) -> None:
        name = f"{stage} {'.'.join(map(str, place))} = {str(value)[:60]}"
        runner.run(guarded.attack(name, lambda: malice.lie(stage, lambda truth: put(truth, place, value))))

    def told(verb: str, number: int, value: Json) -> None:
        def change(record: Json) -> Json:
            every = list(places(record))
            return put(record, every[number % len(every)], value)

        name = f"{verb} {number} = {str(value)[:60]}"
        runner.run(guarded.attack(name, lambda: send_record(malice, verb, change)))

    for stage, place, value in known_lies(malice):
        lied(stage, place, value)
    runner.run(guarded.attack("a large header", lambda: send_header(malice)))
    for name in large_bodies(""):
        runner.run(guarded.attack(name, partial(send_large, malice, name)))

    value = st.sampled_from([*HOSTILE, *poison])
    quick = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip

    @quick
    @given(st.sampled_from(STAGES), st.integers(0, 10_000), value)
    def every_result(stage: str, number: int, value: Json) -> None:
        ways = list(places(malice.model.tasks[stage, 0]))
        lied(stage, ways[number % len(ways)], value)

    @quick
    @given(st.sampled_from(sorted(records(malice, ""))), st.integers(0, 10_000), value)
    def every_record(verb: str, number: int, value: Json) -> None:
        told(verb, number, value)

    every_result()
    every_record()
    hostile = [job for job, lie in malice.accepted if any(word in json.dumps(lie) for word in map(json.dumps, poison))]
    runner.run(malice.have_worked(hostile or [job for job, _ in malice.accepted[:1]]))
    malice.require_untouched()
    runner.run(require_listings(malice))


def test_a_malicious_worker_touches_stalls_and_fills_nothing(tmp_path: Path) -> None:
    attacked(tmp_path, examples=15)


@pytest.mark.prove
def test_a_malicious_worker_touches_stalls_and_fills_nothing_however_often_it_tries(tmp_path: Path) -> None:
    attacked(tmp_path, examples=1000)
