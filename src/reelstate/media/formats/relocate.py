"""A playlist or a manifest as it must be written at another place, so that it leads to the same files."""

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
"""Segments that have no base of their own."""


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
    """The manifest with a base beside every list of segments, and no base above another.

    ffmpeg takes the innermost BaseURL alone, and captions have one that names their file. A base above all of it, as
    manifests of earlier releases have, is put into the others.
    """
    folder = posixpath.dirname(old)
    if outer := _OUTER_BASE.search(text):
        folder = posixpath.join(folder, _path(outer[1]))
        text = text[: outer.start()] + text[outer.end() :]

    def rebased(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, _path(match[0])))
        uri = quote(posixpath.relpath(target, posixpath.dirname(new) or "."))
        return f"{uri}/" if match[0].endswith("/") else uri

    return _BASE.sub(rebased, _SEGMENTS.sub(r"\1<BaseURL>./</BaseURL>\n\1", text))


def _path(uri: str) -> str:
    """A URI in the text of an XML element, as a path."""
    return unquote(unescape(uri))
