"""A remote worker on a bad connection: answers are lost, connections cut, permits expire, and no task runs twice."""

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.artifacts import keys
from reelstate.core.errors import InvalidRequest, WorkerRefused
from reelstate.core.model import Completion, JobDetail, LogLine, Progress, Verdict
from reelstate.engine import Engine
from reelstate.remote.files import HttpFiles
from reelstate.remote.link import HttpLink, LinkState
from reelstate.remote.server import KeyNotAccepted, ServerClient, require_secure_url
from reelstate.services.keys import Scope
from reelstate.stores.store import Flow, Store
from tests.api.api_server import Server, api_server
from tests.engines import engine_at
from tests.faults.wrapped_store import Result, WrappedStore
from tests.remote.lossy_proxy import LossyProxy
from tests.remote.remote_workers import create_key, proxy_to, run_remote_worker, settings_for
from tests.remote.scripted_worker import remotes_of
from tests.waiting import until

PARTS = 12
cut = rs.Pipeline("cut")
gates: list[asyncio.Event] = []
started: list[int] = []
waiting: list[int] = []


@cut.stage(each="spec.parts")
async def piece(task: rs.Run) -> int:
    started.append(task.part)
    await task.progress(50, "half", checkpoint={"at": task.part})
    task.log(f"part {task.part}")
    if task.spec.get("wait"):
        waiting.append(task.part)
        await gates[0].wait()
    return task.part * 2


@cut.stage(after=piece)
async def whole(task: rs.Run) -> int:
    return sum([each async for each in task.results(piece)])


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'reelstate.db'}"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    gates[:] = [asyncio.Event()]
    started.clear()
    waiting.clear()
    async with engine_at(database_url, graphs=[cut.graph]) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    async with api_server(engine, database_url, storage_url=str(tmp_path / "media"), limit_result=4 * 1024**2) as made:
        yield made


async def require_each_once(engine: Engine, detail: JobDetail) -> None:
    """Assert that every task was claimed once and completed once."""
    assert detail.outputs == {"whole": sum(2 * part for part in range(PARTS))}
    tasks = (await engine.tasks(detail.job.id)).items
    assert {(task.token, task.attempt, task.lost) for task in tasks} == {(1, 1, 0)}
    assert sorted(started) == list(range(PARTS))
    lines = (await engine.logs(detail.job.id)).items
    assert sorted(line.message for line in lines) == sorted(f"part {part}" for part in range(PARTS))


@pytest.mark.parametrize("verb", ["register", "claim", "progress", "complete", "results"])
async def test_a_lost_answer_costs_nothing(
    verb: str, api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    proxy.lose = f"/api/worker/{verb}".encode()
    settings = settings_for(await create_key(api, "far"), proxy, tmp_path, worker_concurrency=4)
    job = await engine.submit("cut", {"parts": list(range(PARTS))})
    async with run_remote_worker([cut], settings):
        detail = await engine.wait(job.id, timeout=300)
    assert proxy.lost.is_set()
    await require_each_once(engine, detail)


async def test_results_are_delayed_but_not_lost_while_the_connection_is_cut(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    settings = settings_for(await create_key(api, "far"), proxy, tmp_path, worker_concurrency=PARTS)
    async with run_remote_worker([cut], settings) as worker:
        job = await engine.submit("cut", {"parts": list(range(PARTS)), "wait": True})
        await until(lambda: len(waiting) == PARTS)
        proxy.cut = True
        proxy.cut_connections()
        gates[0].set()
        await until(lambda: not worker.running)
        assert (await engine.job(job.id)).stages[0].done == 0
        proxy.cut = False
        detail = await engine.wait(job.id, timeout=300)
    await require_each_once(engine, detail)


async def _has_all_logs(engine: Engine, job: int) -> bool:
    return len((await engine.logs(job)).items) == PARTS


async def test_an_expired_permit_is_renewed_before_a_completion_is_sent(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    permits = remotes_of(api).permits
    permits._lifetime = -1.0
    settings = settings_for(await create_key(api, "far"), proxy, tmp_path, heartbeat=30.0, worker_concurrency=PARTS)
    async with run_remote_worker([cut], settings):
        job = await engine.submit("cut", {"parts": list(range(PARTS)), "wait": True})
        await until(lambda: len(waiting) == PARTS)
        await until(lambda: _has_all_logs(engine, job.id))  # no report in progress can renew them first
        permits._lifetime = 3600.0
        gates[0].set()
        detail = await engine.wait(job.id, timeout=300)
    await require_each_once(engine, detail)


@pytest.fixture
async def link(api: Server, proxy: LossyProxy) -> AsyncIterator[HttpLink]:
    server = ServerClient(proxy.url, await create_key(api, "far"))
    yield HttpLink(server, LinkState())
    await server.close()


async def register(link: HttpLink) -> int:
    return await link.register("far", software="", hostname="", slots=99, capabilities=(), pipelines=["cut"])


class AnswerLosingStore(WrappedStore):
    """Loses the first answer of every single-statement write."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner, lambda _, run: run())

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        await self.write(flow)
        return await self.write(again or flow)


async def test_a_task_leased_by_another_server_is_not_accepted_twice(
    engine: Engine, database_url: str, link: HttpLink, tmp_path: Path
) -> None:
    worker = await register(link)
    await engine.submit("cut", {"parts": list(range(PARTS))})
    (first,) = (await link.claim(worker)).tasks
    async with (
        engine_at(database_url, graphs=[cut.graph]) as second_engine,
        api_server(second_engine, database_url, storage_url=str(tmp_path / "media")) as second,
    ):
        other = ServerClient(second.url, link._server._key)
        (elsewhere,) = (await HttpLink(other, link._state).claim(worker)).tasks
        await other.close()
    engine.store = AnswerLosingStore(engine.store)
    (third,) = (await link.claim(worker)).tasks
    held = [first, elsewhere, third]
    assert [task.key.part for task in held] == [0, 1, 2]
    gc.collect()
    reports = [Progress(key=task.key, token=task.token) for task in held]
    assert (await link.report(worker, reports)).verdicts == [Verdict.OK] * 3


async def test_a_report_that_includes_a_completed_task_renews_the_others(engine: Engine, link: HttpLink) -> None:
    worker = await register(link)
    job = await engine.submit("cut", {"parts": [0, 1]})
    completed, other = (await link.claim(worker, 2)).tasks
    line = LogLine(level="info", message="still here")
    reports = [
        Progress(key=completed.key, token=completed.token),
        Progress(key=other.key, token=other.token, logs=(line,)),
    ]
    assert await link.complete([Completion(key=completed.key, token=completed.token)]) == [Verdict.OK]
    assert (await link.report(worker, reports)).verdicts[1] is Verdict.OK
    assert [line.message for line in (await engine.logs(job.id)).items] == ["still here"]


async def test_the_permit_of_a_task_is_freed_with_the_task(engine: Engine, link: HttpLink) -> None:
    worker = await register(link)
    await engine.submit("cut", {"parts": [0]})
    claim = await link.claim(worker, 1)
    assert len(link._permits) == 1
    del claim
    gc.collect()
    assert len(link._permits) == 0


async def test_large_checkpoints_are_split_into_several_requests(engine: Engine, link: HttpLink) -> None:
    worker = await register(link)
    await engine.submit("cut", {"parts": list(range(99))})
    tasks = (await link.claim(worker, 99)).tasks
    reports = [Progress(key=task.key, token=task.token, checkpoint="x" * 60_000) for task in tasks]
    assert (await link.report(worker, reports)).verdicts == [Verdict.OK] * 99


async def test_a_worker_with_a_wrong_key_ends_with_a_hint(api: Server, proxy: LossyProxy, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="server_key"):
        ServerClient(proxy.url, "two\nlines")
    for key in ("reel_nothing", (await create_key(api, "far"))[:-1] + "x"):
        with pytest.raises(KeyNotAccepted) as refused:
            async with run_remote_worker([cut], settings_for(key, proxy, tmp_path)):
                pass
        assert refused.value.hint
    assert await api.engine.workers() == []


async def test_a_worker_has_the_name_of_its_key(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "reelstate")
    settings = settings_for(await create_key(api, "far"), proxy, tmp_path, worker_name="near")
    async with run_remote_worker([cut], settings) as worker:
        assert worker.name == "far"
        (listed,) = await engine.workers()
        assert (listed.name, listed.kind) == ("far", "remote")
    assert "worker ready name=far" in caplog.text
    assert "near" not in caplog.text


async def test_a_worker_with_an_unknown_pipeline_is_refused(api: Server, proxy: LossyProxy, tmp_path: Path) -> None:
    unknown = rs.Pipeline("unknown")
    unknown.stage(name="only")(piece)
    with pytest.raises((InvalidRequest, WorkerRefused), match="unknown"):
        async with run_remote_worker([unknown], settings_for(await create_key(api, "far"), proxy, tmp_path)):
            pass


async def test_a_refused_request_names_its_field_once(api: Server, proxy: LossyProxy, tmp_path: Path) -> None:
    admin = await api.context.keys.create("first admin", scopes=[Scope.ADMIN], actor="operator:test")
    with pytest.raises(InvalidRequest) as refused:
        async with run_remote_worker([cut], settings_for(admin.text, proxy, tmp_path)):
            pass
    assert refused.value.message == "name: invalid name 'first admin' for a worker"


@pytest.mark.parametrize("url", ["http://10.1.2.3:8700", "http://reel.example.org", "http://[::ffff:10.0.0.1]/"])
def test_a_key_is_not_sent_unencrypted(url: str) -> None:
    with pytest.raises(InvalidRequest, match="unencrypted"):
        require_secure_url(url)
    assert require_secure_url(url, insecure=True) == url
    assert require_secure_url("https://reel.example.org")
    assert require_secure_url("http://127.0.0.1:8700")


@pytest.mark.parametrize("url", ["reel.example.org", "ftp://a", "https://", "https://user:pw@host"])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="server_url"):
        require_secure_url(url)


def test_the_repr_of_a_client_does_not_contain_its_key() -> None:
    server = ServerClient("https://reel.example.org", "reel_secret")
    assert "secret" not in repr(server) + repr(rs.Settings(server_key="reel_secret"))


async def test_long_reports_are_split_into_several_requests(
    api: Server, engine: Engine, proxy: LossyProxy, tmp_path: Path
) -> None:
    verbose = rs.Pipeline("simple")

    @verbose.stage(name="main")
    async def main(task: rs.Run) -> None:
        for number in range(40):
            task.step(["encode", str(number)], output="x" * 60_000)

    settings = settings_for(await create_key(api, "far"), proxy, tmp_path, worker_concurrency=4)
    jobs = [(await engine.submit("simple")).id for _ in range(3)]
    async with run_remote_worker([verbose], settings):
        for job in jobs:
            await engine.wait(job, timeout=300)
    assert [len((await engine.steps(job)).items) for job in jobs] == [40] * 3


async def test_a_file_that_is_too_large_fails_the_task_instead_of_being_sent_again(
    engine: Engine, database_url: str, tmp_path: Path
) -> None:
    large = rs.Pipeline("simple")
    path = tmp_path / "large"
    path.write_bytes(bytes(30_000_000))

    @large.stage(name="main")
    async def main(task: rs.Run) -> None:
        await files.put_file(keys.made(task.job_id, "main", 0, task.token, "a.mp4"), path)

    options = {"storage_url": str(tmp_path / "media"), "scratch": str(tmp_path / "server"), "remote_file_limit": 10_000}
    async with api_server(engine, database_url, **options) as api, proxy_to(api) as proxy:
        settings = settings_for(await create_key(api, "far"), proxy, tmp_path / "far")
        files = HttpFiles(settings.server_url)
        job = await engine.submit("simple")

        async def task_error() -> Any:
            return (await engine.tasks(job.id)).items[0].error

        async with run_remote_worker([large], settings):
            error = await until(task_error)
    assert "30,000,000" in error["message"]
    assert not list((tmp_path / "server").glob("reel-upload-*"))
