"""A Firestore of one's own for tests, from npm, and a line to it that can be cut. Both end with this process."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tests.browser.packages import PackagesUnavailable, installed

HERE = Path(__file__).parent
SERVE = """
const { FirestoreServer } = require("@firestore-emulator/server")
new FirestoreServer().start(Number(process.argv[1])).then(() => console.log("ready"))
process.stdin.on("end", () => process.exit()).resume()
"""


@contextlib.contextmanager
def emulator() -> Iterator[str]:
    """Where the emulator is. It ends when the pipe to it closes, however this process ends."""
    if shutil.which("node") is None:
        raise PackagesUnavailable("there is no node: install Node.js with npm")
    folder = installed(HERE / "emulator")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["node", "-e", SERVE, str(port)]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        if server.stdout.readline().strip() != "ready":
            raise PackagesUnavailable("the emulator of Firestore does not start: is Node.js 18 or later installed?")
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stdin.close()


class Line:
    """A line to a server: cut, it drops everybody who is on it and takes nobody until it is mended."""

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

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", self._own_port)
        self._own_port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        if self._server is not None:
            self._server.close()
        for end in tuple(self._ends):
            end.transport.abort()

    def lose_answer_to(self, words: bytes) -> None:
        """The next request with these words reaches the server, and its answer nobody: the line breaks instead."""
        self._lost = words

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
async def line_to(server: str) -> AsyncIterator[Line]:
    line = Line(server)
    await line.mend()
    yield line
    await line.cut()
