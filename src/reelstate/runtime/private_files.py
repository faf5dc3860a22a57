"""Create files and folders that only this user can read, from the moment they exist."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def make_folder(folder: Path) -> None:
    """Create a folder that only this user can read. An existing one keeps its mode; parents get the default mode."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def create_file(path: Path) -> None:
    """Create an empty file that only this user can read. An existing one keeps its content and mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


def write_text(path: Path, text: str) -> None:
    """Replace a file with a new one that only this user can read and that contains one line."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
