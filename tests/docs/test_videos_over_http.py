"""The commands of the guide run unchanged against a server of the test."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_serve import running
from tests.docs.pages import blocks

GUIDE = "docs/guides/videos-over-http.md"
VIDEO = "247993391382528"


@pytest.mark.skipif(shutil.which("curl") is None, reason="THE GUIDE IS NOT TESTED, there is no curl")
def test_the_guide_can_be_followed_with_curl(tmp_path: Path) -> None:
    (tmp_path / "movie.mp4").write_bytes(b"movie" * 100_000)
    start, *commands = blocks(GUIDE, "bash")
    (key,) = re.findall(r"^export (KEY=.*)$", start, re.MULTILINE)
    with running(tmp_path, "serve", "--port", "0") as server:
        base = server.until(r"serving (http://127\.0\.0\.1:\d+)")[1]
        server.until("sign in once")
        opening = f"export REEL={base} {key}\n"
        script = "set -euo pipefail\n" + opening + "\necho\n".join(commands)
        made = _run_script(opening + commands[0], tmp_path)[0]
        answers = _run_script(script.replace(VIDEO, str(made["id"])), tmp_path)
    assert [answer.get("verdict") for answer in answers if "job" in answer] == ["ok"] * 3
    assert answers[-1]["url"].endswith(f"/videos/{made['id']}/master.m3u8")
    assert [answer for answer in answers if "hint" in answer] == []
    (source,) = (tmp_path / "media" / "sources").iterdir()
    assert source.read_bytes() == b"movie" * 100_000


def _run_script(script: str, folder: Path) -> list[dict[str, Any]]:
    """Run a script and return the JSON lines that it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace("}{", "}\n{").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]
