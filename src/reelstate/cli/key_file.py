"""Create a file for a secret, readable by its owner only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from reelstate.core.errors import InvalidRequest


@contextmanager
def new_key_file(path: Path) -> Iterator[TextIO]:
    """Create a file with mode 0600, and remove it if the block raises."""
    try:
        file = open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except FileExistsError:
        raise InvalidRequest(
            "key_file", f"{path} exists already", hint="remove it, or choose another path with --key-file"
        ) from None
    except OSError as error:
        raise InvalidRequest(
            "key_file", f"{path} can't be written: {error.strerror}", hint="choose another path with --key-file"
        ) from None
    try:
        with file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise
