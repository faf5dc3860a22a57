"""WebVTT: cues for sheets of thumbnails, and sanitized captions of untrusted sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reelstate.core.errors import ReelstateError

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_CUE: Final = 4096
"""Characters of one cue; longer cues are left out."""

_TIME = r"(?:(\d{2,4}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_TIMING = re.compile(rf"{_TIME}[ \t]+-->[ \t]+{_TIME}(?:[ \t]+(.*))?", re.ASCII)
_SETTING = re.compile(r"(?:vertical:(?:rl|lr)|(?:line|position|size|align):[a-z0-9,.%-]+)", re.ASCII)
_CONTROLS = dict.fromkeys(number for number in range(32) if chr(number) not in "\n\t")
_OTHER = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t\n]|$)")
_NUMBERS = r"(?:[ ]+-?\d+(?:\.\d+)?)"
_DRAWING = re.compile(rf"^m{_NUMBERS}{{2}}(?:[ ]+[mnlbspc]{_NUMBERS}*)+[ ]*$", re.ASCII | re.MULTILINE)
"""A drawing of ASS, which ffmpeg passes on as text: a line of drawing commands with coordinates."""
_TAG = re.compile(r"</?(?:[biu]|c|ruby|rt|v|lang)(?:\.[\w.-]+)?(?:[ \t][^<>&]*)?>|<[\d:.]+>|<|>", re.ASCII)


class MalformedCaptions(ReelstateError):
    """A captions file is not WebVTT."""


@dataclass(frozen=True, slots=True)
class Captions:
    """Sanitized captions."""

    text: str
    cues: int
    left_out: int
    """The number of cues that were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """Thumbnails in rows and columns, one every `interval` seconds."""

    uris: Sequence[str]
    count: int
    interval: Fraction
    columns: int
    rows: int
    width: int
    height: int
    """Of one thumbnail."""


def sprite_track(sheets: Sheets, duration: Fraction) -> str:
    """Return a WebVTT file with one cue per thumbnail, which refers to its area on its sheet."""
    cues = [_sprite(sheets, number, duration) for number in range(sheets.count)]
    return "\n\n".join(["WEBVTT", *(cue for cue in cues if cue)]) + "\n"


def _sprite(sheets: Sheets, number: int, duration: Fraction) -> str:
    sheet, position = divmod(number, sheets.columns * sheets.rows)
    row, column = divmod(position, sheets.columns)
    start, end = number * sheets.interval, min((number + 1) * sheets.interval, duration)
    if number == sheets.count - 1:
        end = max(end, duration)
    if format_timestamp(start) == format_timestamp(end) or end < start:
        return ""
    box = f"{column * sheets.width},{row * sheets.height},{sheets.width},{sheets.height}"
    return f"{format_timestamp(start)} --> {format_timestamp(end)}\n{sheets.uris[sheet]}#xywh={box}"


def format_timestamp(seconds: Fraction) -> str:
    millis = round(seconds * 1000)
    minutes, rest = divmod(millis, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}"


def clean_captions(data: bytes) -> Captions:
    """Return captions with valid cues and known tags only, without styles, regions and notes."""
    if len(data) > MAX_BYTES:
        raise MalformedCaptions(f"captions have {len(data):,} bytes", hint=f"at most {MAX_BYTES:,}")
    blocks = _blocks(data)
    if not re.match(r"WEBVTT(?:[ \t\n]|$)", blocks[0]):
        raise MalformedCaptions("the file does not begin with WEBVTT", hint="it is another format, or damaged")
    cues = [_clean_cue(block) for block in _find_cues(blocks[1:])]
    kept = [cue for cue in cues if cue]
    return Captions("\n\n".join(["WEBVTT", *kept]) + "\n", len(kept), len(cues) - len(kept))


def _blocks(data: bytes) -> list[str]:
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return re.split(r"\n{2,}", text.translate(_CONTROLS).strip("\n"))


def _find_cues(blocks: Iterable[str]) -> list[str]:
    """Return the cues. Text after an empty line belongs to the previous cue, except notes and styles."""
    cues: list[str] = []
    for block in blocks:
        if "-->" in block and not block.startswith("NOTE"):
            cues.append(block)
        elif cues and not _OTHER.match(block):
            cues[-1] += f"\n{block}"
    return cues


def _clean_cue(block: str) -> str:
    """Return a sanitized cue, "" if it is invalid."""
    lines = block.split("\n")
    timing_line = next(number for number, line in enumerate(lines) if "-->" in line)
    timing = _TIMING.fullmatch(lines[timing_line].strip())
    text = _DRAWING.sub("", "\n".join(lines[timing_line + 1 :])).strip("\n")
    if timing_line > 1 or not timing or not text or len(text) > MAX_CUE:
        return ""
    start, end = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:8])
    if end <= start:
        return ""
    settings = [each for each in (timing[9] or "").split() if _SETTING.fullmatch(each)]
    head = " ".join([f"{format_timestamp(start)} --> {format_timestamp(end)}", *settings])
    return f"{head}\n{_TAG.sub(_escape, text)}"


def _seconds(parts: Sequence[str | None]) -> Fraction:
    hours, minutes, seconds, millis = (int(part or 0) for part in parts)
    return Fraction(hours * 3600 + minutes * 60 + seconds) + Fraction(millis, 1000)


def _escape(tag: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;"}.get(tag[0], tag[0])


def find_faults(data: bytes) -> Iterator[str]:
    """Yield what is wrong with captions before they are published."""
    try:
        found = clean_captions(data)
    except MalformedCaptions as error:
        yield str(error)
        return
    if found.left_out:
        yield f"{found.left_out} of {found.cues + found.left_out} cues are not valid WebVTT"
