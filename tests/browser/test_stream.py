"""A browser follows what happens with its session alone: live, and from its last id when it has to connect again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reelstate.api.streams import Streams
from tests.api.api_server import Server, api_server
from tests.browser.chromium import Browser, Page
from tests.engines import a_worker, done, engine_at
from tests.waiting import until

FOLLOW = """
    function follow(path) {
        const followed = {heard: [], opened: 0, replayed: 0, source: new EventSource(path)};
        followed.source.addEventListener('open', () => followed.opened++);
        followed.source.addEventListener('replay_complete', () => followed.replayed++);
        followed.source.addEventListener('event', (event) => followed.heard.push(JSON.parse(event.data)));
        return followed;
    }
    async function until(condition) {
        const end = Date.now() + 15000;
        while (!condition()) {
            if (Date.now() > end) throw new Error('it does not happen: ' + condition);
            await new Promise((done) => setTimeout(done, 10));
        }
        return true;
    }
"""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Server]:
    url = f"sqlite:///{tmp_path / 'reelstate.db'}"
    async with engine_at(url) as engine, api_server(engine, url, stream_retry=0.1) as made:
        yield made


async def test_a_browser_follows_with_its_session_and_connects_again_by_itself(api: Server, chromium: Browser) -> None:
    code = await api.context.keys.create_code(api.keys["ada"].key)
    async with opened(chromium, f"{api.url}/signin?code={code}"), opened(chromium, f"{api.url}/livez") as page:
        await follows(api, page)


@asynccontextmanager
async def opened(chromium: Browser, url: str) -> AsyncIterator[Page]:
    """Open a page in a thread while this event loop serves it."""
    page = chromium.page(url)
    try:
        yield await asyncio.to_thread(page.__enter__)
    finally:
        await asyncio.to_thread(page.__exit__, None, None, None)


async def follows(api: Server, page: Page) -> None:
    async def run(script: str) -> object:
        return await asyncio.to_thread(page.run, script)

    await run(FOLLOW)
    await run("window.all = follow('/api/v1/events?only=job'); until(() => all.replayed == 1)")
    made = [await api.submit("ada")]
    await api.submit("bob")
    await run("until(() => all.heard.length == 1)")
    await cut_all(api)
    made.append(await api.submit("ada"))
    await run("until(() => all.opened == 2 && all.heard.length == 2)")
    await run(f"window.one = follow('/api/v1/jobs/{made[0]}/events'); until(() => one.replayed == 1)")
    worker = await a_worker(api.engine)
    tasks = (await api.engine.claim(worker, 3)).tasks
    await api.engine.complete([done(task) for task in tasks])
    await run("until(() => one.source.readyState == EventSource.CLOSED)")
    statuses = await run("one.heard.filter((event) => event.entity == 'job').map((event) => event.to)")
    assert statuses == ["pending", "processing", "completed"]
    await run("until(() => all.heard.length == 6)")
    heard = await run("all.heard.map((event) => [event.job, event.to])")
    assert isinstance(heard, list)
    assert [change for change in heard if change[0] == made[1]] == [
        [made[1], status] for status in ("pending", "processing", "completed")
    ]
    assert {job for job, _ in heard} == set(made)


async def cut_all(api: Server) -> None:
    """As a proxy would that has had enough of a long answer."""
    streams: Streams = api.server.config.app.state.streams  # type: ignore[union-attr]
    for stream in streams:
        stream.end()
    await until(lambda: not len(streams))
