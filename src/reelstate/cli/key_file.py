"""A file for a secret that is shown once: made for its owner alone, and never over another file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from reelstate.core.errors import InvalidRequest


@contextmanager
def new_key_file(path: Path) -> Iterator[TextIO]:
    """A new file with mode 0600. It is removed again if the block raises, so that no empty key file stays."""
    try:
        file = open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except FileExistsError:
        raise InvalidRequest(
            "key_file", f"{path} exists already", hint="remove it, or name another with --key-file"
        ) from None
    except OSError as error:
        raise InvalidRequest(
            "key_file", f"{path} cannot be written: {error.strerror}", hint="name another place with --key-file"
        ) from None
    try:
        with file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise
