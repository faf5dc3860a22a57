"""A Firestore emulator from npm and a proxy to it that can be cut. Both end with this process."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tests.browser.packages import PackagesUnavailable, installed

HERE = Path(__file__).parent
SERVE = """
const fs = require("fs")
const { FirestoreServer } = require("@firestore-emulator/server")
const { Write } = require("@firestore-emulator/proto/dist/google/firestore/v1/write")
const [port, journal] = process.argv.slice(1)
const server = new FirestoreServer()
const write = server.state.writeV1Document.bind(server.state)
const lines = fs.existsSync(journal) ? fs.readFileSync(journal, "utf8").split("\\n").filter(Boolean) : []
for (const [at, bytes] of lines.map(JSON.parse))
  write(new Date(at), Write.deserializeBinary(Buffer.from(bytes, "base64")))
server.state.writeV1Document = (date, given) => {
  const bytes = Buffer.from(given.serializeBinary()).toString("base64")
  const result = write(date, given)
  fs.appendFileSync(journal, JSON.stringify([date.getTime(), bytes]) + "\\n")
  return result
}
server.start(Number(port)).then(() => console.log("ready"))
process.stdin.on("end", () => process.exit()).resume()
"""
"""It keeps everything in memory. So each write is noted with its time, and made again at the next start: documents, and
the times of their commits, are then as they were."""


class Emulator:
    """It ends when the pipe to it closes, however this process ends; killed, it can be started again."""

    def __init__(self, journal: Path) -> None:
        if shutil.which("node") is None:
            raise PackagesUnavailable("there is no node: install Node.js with npm")
        self._folder = installed(HERE / "emulator")
        self._journal = journal
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._server: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        command = ["node", "-e", SERVE, str(self._port), str(self._journal)]
        self._server = subprocess.Popen(
            command, cwd=self._folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._server.stdout is not None
        if self._server.stdout.readline().strip() != "ready":
            raise PackagesUnavailable("the emulator of Firestore does not start: is Node.js 18 or later installed?")

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.communicate()
            self._server = None


@contextlib.contextmanager
def emulator() -> Iterator[Emulator]:
    with tempfile.TemporaryDirectory(prefix="reelstate-firestore-") as folder:
        made = Emulator(Path(folder) / "journal")
        try:
            made.start()
            yield made
        finally:
            made.kill()


class Proxy:
    """A proxy to a server: when cut, it drops every connection and accepts none until it is restored."""

    def __init__(self, server: str) -> None:
        self._host, _, self._port = server.partition(":")
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._own_port = 0
        self._lost = b""
        self.answers_lost = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._own_port}"

    async def restore(self) -> None:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", self._own_port)
        self._own_port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        if self._server is not None:
            self._server.close()
        for end in tuple(self._ends):
            end.transport.abort()

    def lose_answer_to(self, text: bytes) -> None:
        """Forward the next request with this text, and break the connection instead of returning its response."""
        self._lost = text

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(self._host, int(self._port))
        self._ends |= {writer, there_writer}
        lost = asyncio.Event()
        await asyncio.gather(self._ask(reader, there_writer, lost), self._answer(there_reader, writer, lost))
        self._ends -= {writer, there_writer}

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self._lost and self._lost in data:
                    self._lost = b""
                    lost.set()
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if lost.is_set():
                    self.answers_lost += 1
                    writer.transport.abort()
                    return
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def proxy_to(server: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(server)
    await proxy.restore()
    yield proxy
    await proxy.cut()
