"""Rewrite a playlist or manifest for another path, so that it refers to the same files."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote, unquote
from xml.sax.saxutils import unescape

from reelstate.media.formats.hls import relative_uri, resolve_uri

_URI = re.compile(r'(?<=URI=")[^"]*(?=")')
_OUTER_BASE = re.compile(r"^ *<BaseURL>([^<]*)</BaseURL>\n(?= *<Period\b)", re.MULTILINE)
_BASE = re.compile(r"(?<=<BaseURL>)[^<]*(?=</BaseURL>)")
_SEGMENTS = re.compile(r"(?<!</BaseURL>\n)^( *)(?=<Segment(?:List|Template)\b)", re.MULTILINE)
"""Segment lists without a BaseURL."""


def relocate(text: str, old: str, new: str) -> str:
    """Return the text of the file `old` with its URIs relative to the file `new`."""
    return _relocate_dash(text, old, new) if old.endswith(".mpd") else _relocate_hls(text, old, new)


def _relocate_hls(text: str, old: str, new: str) -> str:
    def relocate_line(line: str) -> str:
        if line.startswith("#"):
            return _URI.sub(lambda match: relative_uri(new, resolve_uri(old, match[0])), line)
        return relative_uri(new, resolve_uri(old, line)) if line else line

    return "\n".join(map(relocate_line, text.split("\n")))


def _relocate_dash(text: str, old: str, new: str) -> str:
    """Return the manifest with one BaseURL beside every list of segments.

    ffmpeg uses the innermost BaseURL only, and captions have one for their file. So an outer BaseURL is merged into the
    inner ones.
    """
    folder = posixpath.dirname(old)
    if outer := _OUTER_BASE.search(text):
        folder = posixpath.join(folder, _path(outer[1]))
        text = text[: outer.start()] + text[outer.end() :]

    def rebase(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, _path(match[0])))
        uri = quote(posixpath.relpath(target, posixpath.dirname(new) or "."))
        return f"{uri}/" if match[0].endswith("/") else uri

    return _BASE.sub(rebase, _SEGMENTS.sub(r"\1<BaseURL>./</BaseURL>\n\1", text))


def _path(uri: str) -> str:
    """Return the path of a URI in the text of an XML element."""
    return unquote(unescape(uri))
