"""The receiver of the guide accepts what is signed, refuses what is not, and recognises a repetition."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from standardwebhooks.webhooks import Webhook

from reelstate.app import open_engine, sender_for
from reelstate.config import Settings
from reelstate.core.alert import AlertType
from reelstate.core.webhook import JOB_EVENTS, secret_text
from reelstate.library.events import VIDEO_EVENTS
from reelstate.sender import SCHEDULE
from tests.api.api_server import PLAIN
from tests.docs.pages import ROOT, blocks, free_port
from tests.engines import SIMPLE

PAGE = "docs/guides/webhooks.md"
SECRET = secret_text(b"a secret of the test, 32 bytes..")


@contextmanager
def receiver(folder: Path, secret: str, port: str) -> Iterator["subprocess.Popen[str]"]:
    (program,) = blocks(PAGE, "python")
    process = subprocess.Popen(
        [sys.executable, "-c", program, port],
        cwd=folder,
        env={**os.environ, "WEBHOOK_SECRET": secret},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def post(port: str, headers: dict[str, str], body: str) -> int:
    """Send a request as soon as the receiver listens; return the status of its response."""
    async with httpx.AsyncClient(verify=PLAIN, trust_env=False, timeout=60) as client:
        for _ in range(600):
            try:
                answer = await client.post(f"http://127.0.0.1:{port}/", headers=headers, content=body)
            except httpx.ConnectError:
                await asyncio.sleep(0.1)  # it is still starting
                continue
            return answer.status_code
    raise AssertionError("the receiver does not listen")


def headers_of(message: str, sent: datetime, body: str, secret: str = SECRET) -> dict[str, str]:
    return {
        "webhook-id": message,
        "webhook-timestamp": str(int(sent.timestamp())),
        "webhook-signature": Webhook(secret).sign(msg_id=message, timestamp=sent, data=body),
    }


async def test_it_accepts_what_the_public_library_signs_and_nothing_else(tmp_path: Path) -> None:
    port, now = free_port(), datetime.fromtimestamp(int(time.time()), UTC)
    first, second = (json.dumps({"type": kind, "data": {}}) for kind in ("first", "second"))
    with receiver(tmp_path, SECRET, port) as process:
        assert await post(port, headers_of("a", now, first), first) == 204
        assert await post(port, headers_of("a", now, first), first) == 204
        other = secret_text(b"another secret of the test......")
        assert await post(port, headers_of("b", now, second, other), second) == 401
        assert await post(port, headers_of("c", now, first), second) == 401
        both = headers_of("d", now, second, other)
        both["webhook-signature"] += " " + headers_of("d", now, second)["webhook-signature"]
        assert await post(port, both, second) == 204
        assert process.stdout is not None
        assert [process.stdout.readline().strip() for _ in range(2)] == ["first", "second"]


async def test_it_accepts_what_a_sender_sends(tmp_path: Path, database_url: str) -> None:
    port = free_port()
    settings = Settings(database_url=database_url, webhook_allow="127.0.0.1")
    async with open_engine(database_url, pipelines=[SIMPLE], settings=settings, migrate=False) as engine:
        made = await engine.webhooks.add(f"http://127.0.0.1:{port}/hook", events=["job.cancelled"])
        with receiver(tmp_path, made.secret, port) as process:
            assert await post(port, headers_of("x", datetime.now(UTC), "{}"), "{}") == 401
            await engine.cancel((await engine.submit("simple")).id)
            assert await sender_for(engine, settings).deliver() == 1
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "job.cancelled"


def test_the_guide_names_every_event_and_the_schedule() -> None:
    page = (ROOT / PAGE).read_text()
    assert [each.name for each in (*JOB_EVENTS, *VIDEO_EVENTS) if f"| `{each.name}` |" not in page] == []
    hours = [f"{seconds / 3600:g}" for seconds in SCHEDULE[4:]]
    assert f"5 s, 5 min, 30 min, {', '.join(hours[:-1])} and {hours[-1]} h" in page


@pytest.mark.parametrize("kind", list(AlertType))
def test_the_guide_names_every_alert(kind: AlertType) -> None:
    assert f"`{kind}`" in (ROOT / "docs/guides/alerts.md").read_text()
