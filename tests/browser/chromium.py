"""A headless Chromium, controlled over a pipe with the DevTools protocol. It ends when the pipe closes."""

import base64
import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = Any
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--autoplay-policy=no-user-gesture-required", "--window-size=960,600", "--remote-debugging-pipe"),
)
ON_THE_PIPE = 'exec "$@" 3<&0 4>&0 </dev/null'
"""Chromium reads commands from descriptor 3 and answers on 4."""
TIMEOUT = 300.0
PLAYS = """['video/mp4; codecs="avc1.64001f"', 'audio/mp4; codecs="mp4a.40.2"'].every(MediaSource.isTypeSupported)"""


class BrowserUnavailable(Exception):
    """No browser that plays H.264 can be started on this machine."""


class PageFailed(Exception):
    """A page has thrown an error, or does not answer."""


@dataclass
class Pipe:
    """The other end of the protocol."""

    wire: socket.socket
    unread: bytes = b""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    def call(self, method: str, *, session: str | None = None, timeout: float = TIMEOUT, **parameters: Json) -> Json:
        """What a command answers; events that come before it are of no interest."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self.wire.sendall(json.dumps(command).encode() + b"\0")
        until = time.monotonic() + timeout
        while (message := self._message(until, method)).get("id") != number:
            pass
        if "error" in message:
            raise PageFailed(f"{method}: {message['error']['message']}")
        return message["result"]

    def _message(self, until: float, method: str) -> Json:
        while b"\0" not in self.unread:
            self.wire.settimeout(max(0.001, until - time.monotonic()))
            try:
                data = self.wire.recv(1 << 20)
            except TimeoutError:
                raise PageFailed(f"{method} has no answer") from None
            if not data:
                raise PageFailed(f"the browser ended before {method} was answered")
            self.unread += data
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)


@dataclass(frozen=True)
class Page:
    pipe: Pipe
    session: str

    def call(self, method: str, **parameters: Json) -> Json:
        return self.pipe.call(method, session=self.session, **parameters)

    def run(self, script: str, timeout: float = TIMEOUT) -> Json:
        """Evaluate an expression, await it and return its value."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, timeout=timeout
        )
        if "exceptionDetails" in answer:
            raise PageFailed(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> Path:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
        return path


@dataclass(frozen=True)
class Browser:
    pipe: Pipe
    name: str

    @contextlib.contextmanager
    def page(self, url: str = "about:blank") -> Iterator[Page]:
        """Open a new page and load it."""
        target = self.pipe.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self.pipe, session)
        try:
            page.call("Page.navigate", url=url)
            page.run("new Promise(done => document.readyState == 'complete' ? done() : addEventListener('load', done))")
            yield page
        finally:
            self.pipe.call("Target.closeTarget", targetId=target)


def on_path() -> list[str]:
    return [path for path in map(shutil.which, NAMES) if path]


@contextlib.contextmanager
def browser(program: str, libraries: Path | None = None) -> Iterator[Browser]:
    """A browser that plays H.264 and AAC, or `BrowserUnavailable`."""
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        with theirs, log.open("w") as written:
            process = subprocess.Popen(
                ["sh", "-c", ON_THE_PIPE, "sh", program, *OPTIONS, f"--user-data-dir={folder}/profile"],
                stdin=theirs.fileno(), stdout=written, stderr=written, env=_environment(folder, libraries),
            )  # fmt: skip
        try:
            yield _checked(Pipe(ours), program, log)
        finally:
            with contextlib.suppress(PageFailed, OSError):
                Pipe(ours).call("Browser.close")
            _ended(process)


def _environment(folder: str, libraries: Path | None) -> Mapping[str, str]:
    found = {"LD_LIBRARY_PATH": str(libraries)} if libraries else {}
    return {**os.environ, "HOME": folder, **found}


def _checked(pipe: Pipe, program: str, log: Path) -> Browser:
    try:
        name = pipe.call("Browser.getVersion")["product"]
        started = Browser(pipe, name)
        with started.page() as page:
            if not page.run(PLAYS):
                raise BrowserUnavailable(f"{program} ({name}) does not play H.264")
    except (PageFailed, OSError) as error:
        raise BrowserUnavailable(f"{program}: {error}: {log.read_text()[-500:]}") from None
    return started


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(300)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
