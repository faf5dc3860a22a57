"""The Compose file is valid and names only what exists, secrets are in files, its proxy passes streams and ranges."""

import asyncio
import contextlib
import os
import random
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import reelstate as rs
from reelstate.config import from_environment, variables
from tests.api.event_stream import event_stream
from tests.api.upload_clients import begin, send, sha256
from tests.api.video_server import VIDEOS, library_at
from tests.deploy.files import DEPLOY, check_command, command_of, read_yaml, seconds, text_files
from tests.remote.remote_fleet import free_port
from tests.waiting import until

FOLDER = DEPLOY / "compose"
COMPOSE: dict[str, Any] = read_yaml(FOLDER / "compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "REEL_STORAGE_URL" in service.get("environment", {})}
ENTRYPOINT = (DEPLOY / "container" / "entrypoint.sh").read_text()
READ_FROM_FILES = set(re.findall(r"[A-Z_]{5,}", ENTRYPOINT.partition("for name in")[2].partition("; do")[0]))
"""Variables that the entrypoint of the image reads from files, by the name with `_FILE`."""
BIN = Path(sys.executable).parent
MIB = 1024 * 1024
VIDEO = random.Random(1).randbytes(2 * MIB + 17)
"""The bytes of an upload."""
CADDY = shutil.which("caddy", path=str(BIN)) or shutil.which("caddy")


def test_the_file_follows_the_specification_of_compose() -> None:
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(FOLDER / "compose.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_that_the_file_refers_to_exists() -> None:
    for service in SERVICES.values():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        assert set(service.get("networks", [])) <= set(COMPOSE["networks"])
        for volume in service.get("volumes", []):
            source, _, target = volume.partition(":")
            assert not target or (FOLDER / source).exists() if source.startswith(".") else True
            assert not target or source.startswith(".") or source in COMPOSE["volumes"]
        for other, needed in service.get("depends_on", {}).items():
            if needed["condition"] == "service_healthy":
                assert "test" in SERVICES[other]["healthcheck"]
            else:
                assert (needed["condition"], SERVICES[other]["restart"]) == ("service_completed_successfully", "no")


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_has_a_fixed_version(name: str) -> None:
    image = SERVICES[name]["image"]
    assert re.fullmatch(r"docker\.io/[\w./-]+:v?\d+\.\d+[\w.-]*", image) or image.startswith("${REELSTATE_IMAGE")


@pytest.mark.parametrize("name", OURS)
def test_our_processes_have_settings_that_exist_and_are_valid(name: str) -> None:
    chosen = {key: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", str(value)) for key, value in OURS[name]["environment"].items()}
    files = {key.removesuffix("_FILE") for key in chosen if key.removesuffix("_FILE") in READ_FROM_FILES}
    settings = {key: value for key, value in chosen.items() if key.startswith("REEL_") and key[:-5] not in files}
    assert set(settings) - set(variables()) == set()
    from_environment({**settings, "REEL_REDIS_URL": "redis://redis"})
    assert {"REEL_DATABASE_URL", "AWS_SECRET_ACCESS_KEY"} <= files
    check_command(command_of(OURS[name]["command"]))


@pytest.mark.parametrize("name", OURS)
def test_our_processes_have_no_more_rights_than_they_need(name: str) -> None:
    service = OURS[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in service


def test_only_the_proxy_is_open_to_other_machines() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(ports) == {"proxy", "grafana"}
    assert all(port.startswith("127.0.0.1:") for port in ports["grafana"])
    shared = set(SERVICES["proxy"]["networks"]) & set(SERVICES["server"]["networks"])
    trusted = SERVICES["proxy"]["networks"]["edge"]["ipv4_address"]
    assert (shared, SERVICES["server"]["environment"]["REEL_TRUSTED_PROXIES"]) == ({"edge"}, trusted)


def test_no_secret_stands_in_a_file() -> None:
    for path in text_files():
        for line in path.read_text().splitlines():
            assert not re.search(r"://[^/\s:]+:(?!\$|\{)[^@/\s$]+@", line), f"{path}: {line}"
    given = {key: str(value) for service in SERVICES.values() for key, value in service.get("environment", {}).items()}
    secret = {
        key: value for key, value in given.items() if re.search("PASSWORD|SECRET|ACCESS_KEY|PEPPER|_URL_FILE", key)
    }
    assert len(secret) >= 5
    assert {key for key, value in secret.items() if not value.startswith("/run/secrets/")} == set()


def test_a_stopped_worker_has_its_grace() -> None:
    worker = SERVICES["worker"]
    grace = float(worker["environment"]["REEL_WORKER_GRACE"])
    assert seconds(worker["stop_grace_period"]) >= grace + 60
    assert seconds(SERVICES["server"]["stop_grace_period"]) >= rs.Settings().serve_grace + 60
    assert worker["deploy"]["replicas"] == 2


def test_the_first_start_makes_private_secrets_and_the_next_keeps_them(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "up.sh", tmp_path)
    contents = []
    for _ in range(2):
        subprocess.run(["/bin/sh", tmp_path / "up.sh", "--secrets-only"], check=True)
        contents.append({path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()})
    assert contents[0] == contents[1]
    assert {f"secrets/{name}" for name in contents[0]} == {each["file"] for each in COMPOSE["secrets"].values()}
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert contents[0]["postgres_password"].strip() in contents[0]["database_url"]
    assert len(set(contents[0].values())) == len(contents[0])


def test_prometheus_scrapes_services_that_exist_under_the_names_of_the_rules() -> None:
    config = read_yaml(FOLDER / "prometheus.yml")
    found = {
        scrape["job_name"]: (address["names"], address["port"])
        for scrape in config["scrape_configs"]
        for address in scrape["dns_sd_configs"]
    }
    assert found == {"reelstate-server": (["server"], 8700), "reelstate-workers": (["worker"], 9700)}
    rules = (DEPLOY / "prometheus" / "rules.yml").read_text()
    assert set(re.findall(r'job="([^"]+)"', rules)) <= set(found)


@pytest.fixture
def proxy_port(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Run the proxy with the committed Caddyfile; yields its port and the one of the server behind it."""
    if CADDY is None:
        pytest.skip("THE PROXY IS NOT TESTED, there is no caddy")
    port, upstream = free_port(), free_port()
    environment = {
        **os.environ,
        "REELSTATE_HOST": f"http://127.0.0.1:{port}",
        "REELSTATE_UPSTREAM": f"127.0.0.1:{upstream}",
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    text = "{\n admin off\n persist_config off\n}\n" + (FOLDER / "Caddyfile").read_text()
    with subprocess.Popen(
        [CADDY, "run", "--adapter", "caddyfile", "--config", "-"],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True,
    ) as caddy:  # fmt: skip
        assert caddy.stdin is not None
        caddy.stdin.write(text)
        caddy.stdin.close()
        try:
            yield port, upstream
        finally:
            caddy.terminate()


async def test_uploads_ranges_and_live_streams_pass_the_proxy(proxy_port: tuple[int, int], tmp_path: Path) -> None:
    port, upstream = proxy_port
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    folder = tmp_path / "media"
    async with library_at(url, folder, serve_port=upstream, trusted_proxies="127.0.0.1") as direct:
        api = replace(direct.api, url=f"http://127.0.0.1:{port}", _made={})
        library = replace(direct, api=api)

        async def answers() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return (await api.ask("nobody", "GET", "/livez")).status_code == 200
            return False

        await until(answers, seconds=30)
        assert (await api.ask("metrics", "GET", "/metrics")).status_code == 404
        assert (await direct.api.ask("metrics", "GET", "/metrics")).status_code == 200
        location = await begin(library, VIDEO)
        for offset in range(0, len(VIDEO), MIB):
            answer = await send(library, location, VIDEO[offset : offset + MIB], offset)
            assert answer.status_code == 204
        assert library.sources() == [sha256(VIDEO)]
        video_id, job_id = await library.make()
        key = f"versions/{job_id}/init.mp4"
        await library.storage.put_bytes(key, VIDEO)
        part = await api.ask("ada", "GET", f"{VIDEOS}/{video_id}/files/{key}", headers={"Range": "bytes=5-9"})
        assert (part.status_code, part.content) == (206, VIDEO[5:10])
        async with asyncio.timeout(30), event_stream(api, "ada") as stream:
            _, submitted = await library.make()
            assert str(submitted) in str((await stream.until("event"))[-1].data)
