#!/usr/bin/env python3
"""Records the picture in the README: `python docs/record.py`.

Runs `reel up` and `reel submit transcode movie.mp4 --wait` in a terminal of its own, on a video that it makes, and
writes the page that the command showed while it encoded as docs/images/submit.svg. The picture shows what this
machine did.
"""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import Final

from rich.console import Console
from rich.text import Text

from reelstate.media.ffmpeg.build import find_ffmpeg

PICTURE: Final = Path(__file__).parent / "images" / "submit.svg"
COMMAND: Final = "reel submit transcode movie.mp4 --wait"
CLIP: Final = "-f lavfi -i testsrc2=size=640x360:rate=15 -f lavfi -i sine -t 90 -c:v libx264 -preset ultrafast -c:a aac"
COLUMNS, ROWS = 100, 40
BEST: Final = 60
"""The progress, in percent, that the picture should show."""
_ERASED: Final = re.compile(r"(?:\r?\x1b\[2K|\x1b\[1A)+")
"""What is written before the page is drawn again."""
_CURSOR: Final = re.compile(r"\x1b\[\?25[lh]")
_SHARE: Final = re.compile(r"\s(\d+) %")
_FONTS: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts of a web server, which a picture must not request."""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="reelstate-record-") as folder:
        build = asyncio.run(find_ffmpeg())
        subprocess.run([build.path, "-loglevel", "error", *CLIP.split(), "movie.mp4"], cwd=folder, check=True)  # noqa: S603 - its own arguments
        with running_server(folder, environment(folder)):
            printed = typed(COMMAND, folder, environment(folder))
    PICTURE.write_text(drawn(page(printed)))


def environment(folder: str) -> dict[str, str]:
    """Return an environment in which the commands touch nothing outside the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REEL_")}
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": programs, "REEL_STATE_DIR": f"{folder}/state", "TERM": "xterm-256color"}


@contextmanager
def running_server(folder: str, variables: Mapping[str, str]) -> Iterator[None]:
    command = ["reel", "up", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - same
        try:
            for line in server.stderr or ():
                if "worker ready" in line:
                    break
            yield
        finally:
            server.terminate()


def typed(command: str, folder: str, variables: Mapping[str, str]) -> str:
    """Run a command in a terminal, and return all that it wrote there."""
    reader, writer = pty.openpty()
    ioctl(writer, TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(command.split(), cwd=folder, env=variables, stdin=writer, stdout=writer, stderr=writer):  # noqa: S603 - same
        os.close(writer)
        printed = b""
        with suppress(OSError):  # the terminal is closed
            while block := os.read(reader, 65_536):
                printed += block
    os.close(reader)
    return printed.decode()


def page(printed: str) -> str:
    """Return the first lines and the page whose progress comes closest to the best."""
    pages = [text for text in _ERASED.split(_CURSOR.sub("", printed)) if _SHARE.search(text)]
    return min(pages, key=lambda text: abs(int(_SHARE.findall(text)[0]) - BEST)).replace("\r\n", "\n").rstrip()


def drawn(text: str) -> str:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(text))
        return _FONTS.sub("", console.export_svg(title=COMMAND, unique_id="reel"))


if __name__ == "__main__":
    main()
