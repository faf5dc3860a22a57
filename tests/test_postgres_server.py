import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import psycopg
import pytest

from tests.postgres import PostgresServer, StopMode, system_bins
from tests.waiting import until_true

KILLED_WHILE_IT_RUNS = """
import os, signal
from tests.postgres import PostgresServer
server = PostgresServer().start()
print(server.pid, server._folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None


def run(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_new_database_is_empty_and_separate(postgres_server: PostgresServer) -> None:
    first, second = postgres_server.new_database(), postgres_server.new_database()
    run(first, "CREATE TABLE videos (title text)")
    assert ask(first, "SELECT to_regclass('videos')::text") == "videos"
    assert ask(second, "SELECT to_regclass('videos')::text") is None


def test_a_new_database_can_be_a_copy_of_another(postgres_server: PostgresServer) -> None:
    template = postgres_server.new_database()
    run(template, "CREATE TABLE videos AS SELECT 'Metropolis' AS title")
    copy = postgres_server.new_database(template)
    assert ask(copy, "SELECT title FROM videos") == "Metropolis"


def test_the_server_has_the_reported_version(postgres_server: PostgresServer) -> None:
    assert ask(postgres_server.url, "SHOW server_version") == postgres_server.version


@pytest.mark.parametrize("mode", get_args(StopMode))
def test_a_commit_survives_a_restart_under_the_same_url(mode: StopMode) -> None:
    with PostgresServer() as server:
        url = server.new_database()
        run(url, "CREATE TABLE videos AS SELECT 'Metropolis' AS title")
        server.restart(mode)
        assert ask(url, "SELECT title FROM videos") == "Metropolis"


def test_a_commit_survives_a_kill_of_the_server() -> None:
    with PostgresServer() as server, psycopg.connect(server.new_database(), autocommit=True) as connection:
        connection.execute("CREATE TABLE videos AS SELECT 'Metropolis' AS title")
        os.kill(server.pid, signal.SIGKILL)
        until_true(lambda: not server.running)
        server.start()
        url = f"postgresql://postgres@127.0.0.1:{server.port}/{connection.info.dbname}"
        assert ask(url, "SELECT title FROM videos") == "Metropolis"


def test_given_settings_replace_those_for_tests() -> None:
    with PostgresServer(settings={"fsync": "on", "shared_buffers": "16MB"}) as server:
        assert ask(server.url, "SHOW fsync") == "on"
        assert ask(server.url, "SHOW full_page_writes") == "on"
        assert ask(server.url, "SHOW shared_buffers") == "16MB"


def test_the_server_stops_when_its_parent_is_killed() -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_IT_RUNS], stdout=subprocess.PIPE, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    process, folder = killed.stdout.split()
    until_true(lambda: not alive(int(process)))
    until_true(lambda: not Path(folder).exists())


def test_a_closed_server_leaves_nothing_behind() -> None:
    with PostgresServer() as server:
        process, folder = server.pid, server._folder
    assert not alive(process)
    assert not folder.exists()


@pytest.mark.parametrize("folder", system_bins(), ids=lambda folder: folder.parent.name)
def test_a_server_of_the_system_can_be_used_instead(folder: Path) -> None:
    with PostgresServer(bin=folder) as server:
        assert str(ask(server.new_database(), "SHOW server_version")).startswith(f"{folder.parent.name}.")
