"""A web server for players: files of a few folders, whole or a span of them, with the types that players want."""

import contextlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".m3u8": "application/vnd.apple.mpegurl",
    ".mp4": "video/mp4",
    ".mpd": "application/dash+xml",
    ".vtt": "text/vtt",
}
_SPAN = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass
class Files:
    folders: Mapping[str, Path]
    """By the first part of the path that leads into them."""
    address: str = ""
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """Every requested path with its byte range."""

    def url(self, path: str) -> str:
        return f"{self.address}/{path}"

    def find(self, path: str) -> Path | None:
        first, _, rest = unquote(urlsplit(path).path).lstrip("/").partition("/")
        if first not in self.folders:
            return None
        found = (self.folders[first] / rest).resolve()
        return found if found.is_relative_to(self.folders[first].resolve()) and found.is_file() else None


@contextlib.contextmanager
def served(**folders: Path) -> Iterator[Files]:
    files = Files(folders)

    class Handler(_Handler):
        served_files = files

    with _Server(("127.0.0.1", 0), Handler) as server:
        files.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield files
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a player that closes its connection; report every other error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on as it came


class _Handler(BaseHTTPRequestHandler):
    served_files: Files
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.served_files.requests.append((self.path, wanted))
        path = self.served_files.find(self.path)
        if path is None:
            self._answer(HTTPStatus.NOT_FOUND, b"")
            return
        data, kind = path.read_bytes(), {"Content-Type": TYPES.get(path.suffix, "application/octet-stream")}
        if wanted is None:
            self._answer(HTTPStatus.OK, data, kind)
            return
        span = _SPAN.fullmatch(wanted)
        if span is None or int(span[1]) >= len(data):
            self._answer(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        first, last = int(span[1]), min(int(span[2] or len(data)), len(data) - 1)
        place = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        self._answer(HTTPStatus.PARTIAL_CONTENT, data[first : last + 1], kind | place)

    def _answer(self, status: HTTPStatus, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data)), "Cache-Control": "no-store"}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name it is called with
        """Log nothing: tests read `requests`."""
