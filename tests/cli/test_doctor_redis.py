import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.redis_server import RedisServer


@pytest.mark.parametrize("there", [True, False])
def test_doctor_tells_whether_redis_is_in_use(there: bool, redis_server: RedisServer, tmp_path: Path) -> None:
    url = redis_server.url if there else "redis://:canary@127.0.0.1:1/0"
    told = {
        "REEL_DATABASE_URL": f"sqlite:///{tmp_path / 'jobs.db'}",
        "REEL_DISPATCH": "redis",
        "REEL_REDIS_URL": url,
        "REEL_REDIS_TIMEOUT": "5",
    }
    environment = {**os.environ, **told}
    reel = [sys.executable, "-m", "reelstate"]
    subprocess.run([*reel, "migrate"], env=environment, check=True, capture_output=True)
    answer = subprocess.run([*reel, "doctor"], env=environment, check=True, capture_output=True, text=True)
    assert ("Redis (sorted): in use" if there else "Redis (sorted): away") in answer.stderr
    assert "canary" not in answer.stderr + answer.stdout
