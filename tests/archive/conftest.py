"""Fixtures for tests of one store."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def sqlite_database(migrated_file: Path, tmp_path: Path) -> str:
    """A migrated, empty SQLite file for one test."""
    return f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'reelstate.db')}"
