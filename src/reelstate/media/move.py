"""A playlist or a manifest as it must be written at another place, so that it leads to the same files."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote

from reelstate.media.hls import relative_uri, resolve_uri

_URI = re.compile(r'(?<=URI=")[^"]*(?=")')
_PERIOD = re.compile(r"^(\s*)<Period\b", re.MULTILINE)


def moved(text: str, old: str, new: str) -> str:
    """The text of the file `old` as the file `new` would say it."""
    return _moved_dash(text, old, new) if old.endswith(".mpd") else _moved_hls(text, old, new)


def _moved_hls(text: str, old: str, new: str) -> str:
    def line(words: str) -> str:
        if words.startswith("#"):
            return _URI.sub(lambda match: relative_uri(new, resolve_uri(old, match[0])), words)
        return relative_uri(new, resolve_uri(old, words)) if words else words

    return "\n".join(map(line, text.split("\n")))


def _moved_dash(text: str, old: str, new: str) -> str:
    """A manifest can say once where all of its addresses begin."""
    start = posixpath.relpath(posixpath.dirname(old), posixpath.dirname(new) or ".")
    base = f"<BaseURL>{quote(start)}/</BaseURL>"
    return _PERIOD.sub(lambda match: f"{match[1]}{base}\n{match[0]}", text, count=1)
