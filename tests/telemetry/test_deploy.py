"""The dashboard and the rules name only metrics that exist, and a real Prometheus scrapes and evaluates them."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from reelstate.telemetry.metrics import Metrics, counting
from tests.api.api_server import api_server
from tests.engines import engine_at
from tests.remote.remote_fleet import free_port
from tests.telemetry.scraping import sample_names
from tests.waiting import until

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
NAME = re.compile(r"\breelstate_[a-z0-9_]+")
FILES = sorted([*DEPLOY.glob("grafana/*.json"), *DEPLOY.glob("prometheus/*.yml")])
PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
TIMEOUT = 120.0


def exposed_names() -> set[str]:
    """Return the names of all families and samples that a process exposes."""
    text = Metrics().render().decode()
    families = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    return families | {sample for samples in sample_names().values() for sample in samples}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_metric_that_a_file_names_exists(path: Path) -> None:
    assert set(NAME.findall(path.read_text())) - exposed_names() == set()


def test_the_dashboard_shows_every_metric() -> None:
    shown = set(NAME.findall((DEPLOY / "grafana" / "reelstate.json").read_text()))
    assert [name for name, samples in sample_names().items() if not shown & set(samples)] == []


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    board: dict[str, Any] = json.loads((DEPLOY / "grafana" / "reelstate.json").read_text())
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in board["panels"]):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.skipif(PROMTOOL is None, reason="THE RULES ARE NOT CHECKED, there is no promtool")
@pytest.mark.parametrize("command", [("check", "rules", "rules.yml"), ("test", "rules", "rules.test.yml")])
def test_promtool_accepts_the_rules(command: tuple[str, ...]) -> None:
    ran = subprocess.run([str(PROMTOOL), *command], cwd=RULES.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.skipif(PROMETHEUS is None, reason="NO REAL PROMETHEUS SCRAPES, there is none")
async def test_a_real_prometheus_scrapes_a_server_and_evaluates_the_rules(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    port = free_port()
    async with engine_at(url) as engine:
        with counting(Metrics()) as counted:
            async with api_server(engine, url, counted, metrics_access="key") as server:
                await server.submit(pipeline="simple")
                (tmp_path / "key").write_text(server.keys["metrics"].text)
                config = {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s", "scrape_timeout": "1s"},
                    "rule_files": [str(RULES)],
                    "scrape_configs": [
                        {
                            "job_name": "reelstate-server",
                            "authorization": {"credentials_file": str(tmp_path / "key")},
                            "static_configs": [{"targets": [server.url.removeprefix("http://")]}],
                        }
                    ],
                }
                (tmp_path / "prometheus.yml").write_text(json.dumps(config))
                process = await asyncio.create_subprocess_exec(
                    str(PROMETHEUS),
                    f"--config.file={tmp_path / 'prometheus.yml'}",
                    f"--storage.tsdb.path={tmp_path / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                    stderr=asyncio.subprocess.DEVNULL,
                )
                try:
                    await asyncio.wait_for(scraped(f"http://127.0.0.1:{port}"), TIMEOUT)
                finally:
                    process.terminate()
                    await process.wait()


async def scraped(prometheus: str) -> None:
    """Return when the metrics of the server can be queried and the rules have been evaluated without an error."""
    async with httpx.AsyncClient(base_url=prometheus, trust_env=False, timeout=60) as client:
        created = 'reelstate_jobs_created_total{pipeline="simple"}'

        async def is_scraped() -> bool:
            return await query(client, created) == ["1"] and bool(await evaluated(client))

        await until(is_scraped, seconds=TIMEOUT)
        rules = await evaluated(client)
        assert {rule["health"] for rule in rules} == {"ok"}, rules
        assert await query(client, "max(reelstate_queue_size)") == ["1"]
        assert await query(client, 'up{job="reelstate-server"}') == ["1"]


async def query(client: httpx.AsyncClient, expression: str) -> list[str]:
    try:
        response = await client.get("/api/v1/query", params={"query": expression})
    except httpx.TransportError:
        return []
    answer = response.json() if response.is_success else {}  # it is not ready at once
    return [series["value"][1] for series in answer.get("data", {}).get("result", [])]


async def evaluated(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    groups = (await client.get("/api/v1/rules")).json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return rules if all(rule["health"] != "unknown" for rule in rules) else []
