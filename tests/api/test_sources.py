"""Sources that may be named over HTTP; tests/media/sources/test_web.py tests what workers check again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reelstate.api.auth import Principal
from reelstate.api.sources import require_source
from reelstate.config import DEFAULTS
from reelstate.core.errors import InvalidRequest, ReelstateError, ScopeMissing
from reelstate.services.keys import Scope
from tests.api.video_server import VIDEOS, VideoLibrary

ADA = Principal("id", "ada", "ada", frozenset({Scope.READ, Scope.WRITE}), "id")
ADMIN = Principal("id", "admin", "", frozenset({Scope.ADMIN}), "id")
INNER = [
    *("127.0.0.1", "127.1", "127.000.000.001", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "0"),
    *("0.0.0.0", "255.255.255.255", "localhost", "LOCALHOST.", "app.localhost", "10.0.0.1", "10.1", "172.16.3.4"),  # noqa: S104
    *("192.168.1.1", "100.64.0.1", "169.254.169.254", "169.254.1", "224.0.0.1", "168.63.129.16", "[::1]", "[::]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]", "[fe80::1%25eth0]", "[fd00::1]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "metadata.google.internal", "printer.local"),
]


@pytest.fixture
def dialect() -> str:
    """These tests need no database."""
    return "sqlite"


def verdict(principal: Principal, source: str, **settings: Any) -> type[ReelstateError] | None:
    try:
        require_source(principal, replace(DEFAULTS, **settings), source)
    except ReelstateError as error:
        return type(error)
    return None


@pytest.mark.parametrize("host", INNER)
def test_an_address_of_the_local_network_is_refused_in_every_notation(host: str) -> None:
    for url in (f"http://{host}/video.mp4", f"HTTPS://user:word@{host}:8443/video.mp4"):
        assert (verdict(ADA, url), verdict(ADMIN, url)) == (InvalidRequest, InvalidRequest), url


@pytest.mark.parametrize(
    "host", ["example.com", "93.184.216.34", "[2606:2800:220:1:248:1893:25c8:1946]", "internal.example"]
)
def test_an_address_of_the_internet_is_accepted(host: str) -> None:
    assert verdict(ADA, f"https://{host}/video.mp4") is None


def test_a_host_allowed_by_the_operator_is_accepted() -> None:
    named = {"input_hosts": "10.0.0.7, nas.local:8080"}
    assert verdict(ADA, "http://10.0.0.7/video.mp4", **named) is None
    assert verdict(ADA, "http://nas.local:8080/video.mp4", **named) is None
    assert verdict(ADA, "http://nas.local/video.mp4", **named) is InvalidRequest


@pytest.mark.parametrize(
    "source", ["/videos/a.mp4", "file:///videos/a.mp4", "stored://" + "a" * 64, "s3://bucket/a.mp4"]
)
def test_users_may_not_name_paths_buckets_or_stored_sources(source: str) -> None:
    assert verdict(ADA, source, input_roots="/videos") is ScopeMissing


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/videos/../etc/passwd", "/videosx/a.mp4", "file:///videos/%2e%2e/etc/a"]
)
def test_an_admin_may_only_name_paths_below_the_roots(path: str) -> None:
    assert verdict(ADMIN, path, input_roots="/videos:/more") is InvalidRequest
    assert verdict(ADMIN, "/videos/a.mp4", input_roots="/videos:/more") is None
    assert verdict(ADMIN, "/videos/a.mp4") is InvalidRequest  # without roots no path is allowed


def test_users_may_name_the_allowed_buckets() -> None:
    opened = {"input_buckets": "s3://open, gs://shared/videos/"}
    assert verdict(ADA, "s3://open/a/b.mp4", **opened) is None
    assert verdict(ADA, "gs://shared/videos/b.mp4", **opened) is None
    for source in ("s3://opened/a.mp4", "gs://shared/other/a.mp4", "s3://private/a.mp4"):
        assert verdict(ADA, source, **opened) is ScopeMissing, source
    assert verdict(ADMIN, "s3://private/a.mp4", **opened) is None


async def test_every_route_that_takes_a_source_checks_it(library: VideoLibrary, tmp_path: Path) -> None:
    jobs, reuse = "/api/v1/jobs", {"source": "https://example.com/a.mp4", "reuse_from": 7, "qualities": ["720p"]}
    for source, status in (("http://127.1/a.mp4", 422), (str(tmp_path / "a.mp4"), 403)):
        job = {"pipeline": "transcode", "spec": {"source": source}}
        asked = [(VIDEOS, {"source": source}), (jobs, job), (f"{jobs}/batch", {"jobs": [job]})]
        for path, body in asked:
            assert (await library.api.ask("ada", "POST", path, json=body)).status_code == status, path
    answer = await library.api.ask("ada", "POST", jobs, json={"pipeline": "transcode", "spec": reuse})
    assert answer.status_code == 403  # made by another user
    assert (await library.api.engine.jobs()).items == []
