"""search: every field selects what it says, alone and together, and pages end."""

from datetime import UTC, datetime

import pytest

from reelstate.core.errors import InvalidRequest, InvalidSearch, UnknownPipeline
from reelstate.core.schedule import Schedule
from reelstate.engine import Engine
from reelstate.services import search as search_service
from tests.conformance.scenarios import fail_for_good, finish, submitted, take, take_one
from tests.engines import FakeClock, a_worker, failed


async def ids(engine: Engine, search: str, **options: object) -> list[int]:
    return [job.id for job in (await engine.jobs(search=search, **options)).items]  # type: ignore[arg-type]


async def every(engine: Engine, search: str, limit: int = 50) -> tuple[list[int], int]:
    """All jobs that a search finds, page by page, and the number of pages."""
    found: list[int] = []
    after: str | None = None
    pages = 0
    while True:
        page = await engine.jobs(search=search, limit=limit, after=after)
        found += [job.id for job in page.items]
        pages, after = pages + 1, page.after
        if after is None:
            return found, pages


async def fail_with(engine: Engine, worker: int, error: object) -> None:
    await engine.fail([failed(await take_one(engine, worker), error=error, retryable=False)])


async def test_by_status_user_pipeline_and_priority(engine: Engine) -> None:
    worker = await a_worker(engine, pipelines=["simple"])
    done = await submitted(engine, user_id="ada")
    await finish(engine, worker)
    broken = await submitted(engine, user_id="ada", priority=7)
    await fail_for_good(engine, await take_one(engine, worker))
    fan = await submitted(engine, "fan", user_id="bob", priority="critical")
    pending = await submitted(engine, user_id="")
    assert await ids(engine, "status:failed") == [broken]
    assert await ids(engine, "status:failed,completed") == [broken, done]
    assert await ids(engine, "status:pending") == [pending, fan]
    assert await ids(engine, "user:ada") == [broken, done]
    assert await ids(engine, "user:ada status:completed") == [done]
    assert await ids(engine, 'user:""') == [pending]
    assert await ids(engine, "pipeline:fan,simple") == [pending, fan, broken, done]
    assert await ids(engine, "pipeline:fan") == [fan]
    assert await ids(engine, "pipeline:fan user:ada") == []
    assert await ids(engine, "priority:>=7") == [fan, broken]
    assert await ids(engine, "priority:5..7 user:ada") == [broken, done]
    await take(engine, await a_worker(engine, "other", pipelines=["fan"]))
    assert await ids(engine, "status:running") == [fan]


async def test_by_error(engine: Engine) -> None:
    worker = await a_worker(engine)
    errors = [{"type": "MemoryError", "message": 'Out of Memory in "x264"'}, "disk full", {"code": 7}]
    jobs = [await submitted(engine) for _ in errors]
    for error in errors:
        await fail_with(engine, worker, error)
    assert await ids(engine, 'status:failed error~"out of memory"') == [jobs[0]]
    assert await ids(engine, 'status:failed error~memoryerror error~"\\"x264\\""') == [jobs[0]]
    assert await ids(engine, "status:failed error~DISK") == [jobs[1]]
    assert await ids(engine, "status:failed error~memory error~disk") == []
    assert await ids(engine, "status:failed error~%") == []
    assert await ids(engine, "created:<7d error~full status:failed") == [jobs[1]]


async def test_by_values_in_the_spec(engine: Engine) -> None:
    specs = [
        {"source": "s3://Videos/a.mov", "options": {"width": 640, "two-pass": True}},
        {"source": "s3://other/b.mov", "options": {"width": "640", "ratio": 1.5}},
        {"source": ["s3://videos/c.mov"], "options": None},
        {"a": [1, 2]},
    ]
    jobs = [await submitted(engine, spec=spec, user_id="ada") for spec in specs]
    assert await ids(engine, "user:ada spec.source~=S3://videos/") == [jobs[0]]
    assert await ids(engine, "user:ada spec.source=s3://other/b.mov") == [jobs[1]]
    assert await ids(engine, "user:ada spec.source=s3://Other/b.mov") == []
    assert await ids(engine, "user:ada spec.source=s3://other") == []
    assert await ids(engine, "user:ada spec.options.width=640") == [jobs[1], jobs[0]]
    assert await ids(engine, "user:ada spec.options.two-pass=true spec.options.width=640") == [jobs[0]]
    assert await ids(engine, "user:ada spec.options.ratio=1.5") == [jobs[1]]
    assert await ids(engine, "user:ada spec.options~=640") == []
    assert await ids(engine, "status:pending spec.source~=other") == [jobs[1]]


async def test_by_the_times_of_creation_and_finish(engine: Engine, clock: FakeClock) -> None:
    clock.now = datetime.now(UTC).replace(hour=12, minute=0)  # the id of a job is made from the time
    worker = await a_worker(engine)
    first = await submitted(engine)
    clock.advance(7200)
    await finish(engine, worker)
    second = await submitted(engine)
    clock.advance(3600)
    assert await ids(engine, "created:<2h") == [second]
    assert await ids(engine, "created:>2h") == [first]
    assert await ids(engine, "created:3h..2h") == [first]
    assert await ids(engine, "finished:<2h") == [first]
    assert await ids(engine, "finished:>2h") == []
    assert await ids(engine, "finished:>30min status:completed") == [first]
    today, noon = clock.now.date(), clock.now.replace(hour=13).isoformat().replace("+00:00", "Z")
    assert await ids(engine, f"created:{today}") == [second, first]
    assert await ids(engine, f"created:>{today}") == []
    assert await ids(engine, f"created:<{today}") == []
    assert await ids(engine, f"created:>={noon}") == [second]
    assert await ids(engine, f"created:<{noon}") == [first]


async def test_by_key_and_owner(engine: Engine) -> None:
    mine = await submitted(engine, user_id="ada", idempotency_key="order 17")
    await submitted(engine, user_id="bob", idempotency_key="order 17")
    nobody = await submitted(engine, idempotency_key="order 17")
    assert await ids(engine, 'key:"order 17" user:ada') == [mine]
    assert await ids(engine, 'key:"order 17"') == [nobody]
    assert await ids(engine, 'key:"order 17"', user_id="ada") == [mine]
    assert await ids(engine, 'key:"order 17" user:ada status:failed') == []
    assert await ids(engine, "key:unknown") == []


async def test_by_schedule(engine: Engine, clock: FakeClock) -> None:
    schedule: Schedule = await engine.schedules.create("nightly", "simple", "every 1h", user_id="ada")
    assert schedule.name == "nightly"
    await submitted(engine, user_id="ada")
    runs = [(await engine.schedules.trigger("nightly")).job_id for _ in range(3)]
    assert await ids(engine, "schedule:nightly") == runs[::-1]
    assert await ids(engine, "schedule:nightly status:failed") == []
    assert await ids(engine, "schedule:nightly user:ada") == runs[::-1]
    assert await ids(engine, "schedule:unknown") == []
    assert (await every(engine, "schedule:nightly", limit=2))[0] == runs[::-1]


async def test_a_page_looks_at_a_window_and_the_next_one_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_service, "WINDOW", 4)
    jobs = [await submitted(engine, spec={"n": number % 5}, user_id="ada") for number in range(15)]
    wanted = [jobs[number] for number in (12, 7, 2)]
    for first in ("user:ada", "status:pending", "created:>=2026-01-01", "pipeline:simple user:ada"):
        assert await every(engine, f"{first} spec.n=2") == (wanted, 4), first
    assert (await every(engine, "user:ada", limit=2))[0] == jobs[::-1]
    page = await engine.jobs(search="user:ada spec.n=7")
    assert (page.items, page.after) == ([], str(jobs[11]))


async def test_what_would_read_every_job_is_refused(engine: Engine) -> None:
    for search in (
        "error~x",
        "spec.a=1",
        "spec.a=1 pipeline:simple",
        "error~x status:completed",
        "error~x created:>7d",
    ):
        with pytest.raises(InvalidSearch, match="would read every job") as refused:
            await engine.jobs(search=search)
        assert "created:<7d" in refused.value.hint
    for search in ("error~x status:failed", "spec.a=1 created:<7d", "spec.a=1 user:ada"):
        assert await ids(engine, search) == []


async def test_mistakes_are_refused(engine: Engine) -> None:
    with pytest.raises(UnknownPipeline, match="simpel"):
        await engine.jobs(search="pipeline:simpel")
    with pytest.raises(InvalidSearch, match="archive"):
        await engine.jobs(search="user:ada", archived=True)
    with pytest.raises(InvalidRequest, match="another user"):
        await engine.jobs(search="user:ada", user_id="bob")
    with pytest.raises(InvalidRequest, match="twice"):
        await engine.jobs(search="pipeline:simple", pipeline="fan")
    with pytest.raises(InvalidRequest):
        await engine.jobs(search="user:a\0b")
    assert (await engine.jobs(search=" ", limit=1)).items == []
