"""Each storage in turn: a folder, and a bucket on a real S3 server."""

from pathlib import Path

import pytest

from reelstate.artifacts.storage import Storage, open_storage


@pytest.fixture(params=["folder", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        return open_storage(str(tmp_path / "media"))
    return open_storage(f"{request.getfixturevalue('bucket_url')}/some/prefix")
