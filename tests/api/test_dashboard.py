"""The dashboard is served below any path prefix, cached by its names, and with a policy that admits nothing foreign."""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from reelstate.api.dashboard import POLICY, Bundle
from reelstate.config import checked_prefix, from_environment
from reelstate.core.errors import InvalidSetting
from reelstate.engine import Engine
from tests.api.api_server import PLAIN, Server, api_server
from tests.engines import engine_at

PAGE = '<!doctype html><head><base href="/ui/"><script type=module src="./assets/main-1a2b.js"></script></head>'
SCRIPT = "console.log('a long script');" * 100
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("static")
    (built / "assets").mkdir()
    (built / "index.html").write_text(PAGE)
    (built / "icon.svg").write_text("<svg/>")
    (built / "assets" / "main-1a2b.js").write_text(SCRIPT)
    (built.parent / "secret.txt").write_text("secret")
    return built


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with engine_at("sqlite://") as engine:
        yield engine


async def asked(
    engine: Engine, bundle: Path, path: str, *, sent: dict[str, str] | None = None, **changes: str
) -> httpx.Response:
    async with api_server(engine, "sqlite://", **changes) as api, browser(api) as client:
        api.server.config.app.state.bundle = Bundle(bundle)  # type: ignore[union-attr]  # it is the application
        return await client.get(path, headers=sent or {})


def browser(api: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=api.url, verify=PLAIN, trust_env=False, timeout=60)


@pytest.mark.parametrize(
    "path",
    ["/ui/", "/ui/index.html", "/ui/jobs/123", "/ui/workers/a.b.example", "/ui/videos/a%2Fb.mp4", "/ui/x/y/z.js/"],
)
async def test_every_page_is_the_application(engine: Engine, folder: Path, path: str) -> None:
    answer = await asked(engine, folder, path)
    assert (answer.status_code, answer.text) == (200, PAGE)
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY


async def test_files_with_a_digest_in_their_name_are_kept_for_ever(engine: Engine, folder: Path) -> None:
    script = await asked(engine, folder, "/ui/assets/main-1a2b.js", sent={"Accept-Encoding": "gzip"})
    assert (script.text, script.headers["content-encoding"]) == (SCRIPT, "gzip")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    plain = await asked(engine, folder, "/ui/assets/main-1a2b.js", sent={"Accept-Encoding": "identity"})
    assert (plain.text, "content-encoding" in plain.headers) == (SCRIPT, False)
    icon = await asked(engine, folder, "/ui/icon.svg")
    assert (icon.headers["cache-control"], icon.headers["content-type"]) == ("no-cache", "image/svg+xml")
    known = await asked(engine, folder, "/ui/icon.svg", sent={"If-None-Match": icon.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["/ui/assets/main-0000.js", "/ui/assets/", "/ui/favicon.ico", "/ui/main.js", "/ui/assets/%2e%2e/%2e%2e/secret.txt"],
)
async def test_a_file_that_is_not_in_the_bundle_is_not_found(engine: Engine, folder: Path, path: str) -> None:
    answer = await asked(engine, folder, path)
    assert answer.status_code == 404


async def test_a_path_cannot_leave_the_bundle(engine: Engine, folder: Path) -> None:
    for path in ("/ui/%2e%2e/secret.txt", "/ui/..%2fsecret.txt", "/ui//etc/passwd", f"/ui/{folder}/index.html"):
        answer = await asked(engine, folder, path)
        assert answer.status_code in {200, 404}
        assert answer.text == PAGE or answer.status_code == 404, path


@pytest.mark.parametrize("path", ["/ui/jobs/1", "/reel/ui/jobs/1", "/reel/ui/assets/main-1a2b.js"])
async def test_a_path_prefix_may_be_stripped_by_the_proxy_or_not(engine: Engine, folder: Path, path: str) -> None:
    answer = await asked(engine, folder, path, path_prefix="/reel/")
    assert answer.status_code == 200
    if path.endswith("1"):
        assert '<base href="/reel/ui/">' in answer.text
        assert "//ui" not in answer.text


async def test_redirects_stay_below_the_prefix(engine: Engine, folder: Path) -> None:
    for path in ("/", "/ui", "/reel/", "/reel/ui"):
        answer = await asked(engine, folder, path, sent=HTML, path_prefix="/reel")
        assert (answer.status_code, answer.headers["location"]) == (307, "/reel/ui/"), path


async def test_only_a_trusted_proxy_names_the_prefix(engine: Engine, folder: Path) -> None:
    sent = {"X-Forwarded-Prefix": "/team/reel/"}
    trusted = await asked(engine, folder, "/ui/", sent=sent, trusted_proxies="127.0.0.1")
    assert '<base href="/team/reel/ui/">' in trusted.text
    forwarded = await asked(
        engine, folder, "/ui/", sent={**sent, "X-Forwarded-For": "203.0.113.7"}, trusted_proxies="127.0.0.1"
    )
    assert '<base href="/team/reel/ui/">' in forwarded.text
    for proxies in ("", "192.0.2.1"):
        untrusted = await asked(engine, folder, "/ui/", sent=sent, trusted_proxies=proxies)
        assert untrusted.text == PAGE


@pytest.mark.parametrize(
    "prefix",
    ['/"><script>', "//evil.example", "/a//b", "/a/../b", "/a b", "javascript:", "/a\\b", "/%2f", "/é", "/" * 201],
)
async def test_a_prefix_injects_nothing(engine: Engine, folder: Path, prefix: str) -> None:
    sent = {"X-Forwarded-Prefix": prefix.encode("ascii", "replace").decode()}
    answer = await asked(engine, folder, "/ui/", sent=sent, trusted_proxies="127.0.0.1")
    assert answer.text == PAGE
    assert not checked_prefix(prefix)


def test_a_wrong_prefix_is_refused_at_the_start() -> None:
    with pytest.raises(InvalidSetting, match="REEL_PATH_PREFIX"):
        from_environment({"REEL_PATH_PREFIX": "reel"})
    assert from_environment({"REEL_PATH_PREFIX": "/reel"}).path_prefix == "/reel"


async def test_without_a_bundle_a_page_names_the_command_that_builds_it(engine: Engine, tmp_path: Path) -> None:
    answer = await asked(engine, tmp_path, "/ui/jobs")
    assert answer.status_code == 503
    assert "npm --prefix web" in answer.text


def test_a_bundle_that_was_built_anew_is_read_again(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path)
    assert bundle.page("") is None
    (tmp_path / "index.html").write_text(PAGE)
    assert bundle.page("") == PAGE
    page = bundle.file("index.html")
    assert page is not None
    assert gzip.decompress(page.compressed or gzip.compress(page.content)) == PAGE.encode()
    (tmp_path / "index.html").unlink()
    assert bundle.page("") is None
