import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.redis_server import RedisServer


@pytest.mark.parametrize("reachable", [True, False])
def test_doctor_reports_whether_redis_is_in_use(
    reachable: bool, redis_server: RedisServer, tmp_path: Path, refusing_port: int
) -> None:
    url = redis_server.url if reachable else f"redis://:canary@127.0.0.1:{refusing_port}/0"
    settings = {
        "REEL_DATABASE_URL": f"sqlite:///{tmp_path / 'jobs.db'}",
        "REEL_DISPATCH": "redis",
        "REEL_REDIS_URL": url,
        "REEL_REDIS_TIMEOUT": "5",
    }
    environment = {**os.environ, **settings}
    reel = [sys.executable, "-m", "reelstate"]
    subprocess.run([*reel, "migrate"], env=environment, check=True, capture_output=True)
    result = subprocess.run([*reel, "doctor"], env=environment, check=False, capture_output=True, text=True)
    assert re.search("redis +ok +in use .sorted." if reachable else "redis +error +unreachable", result.stdout), result
    assert result.returncode == (0 if reachable else 1)
    assert "canary" not in result.stderr + result.stdout
