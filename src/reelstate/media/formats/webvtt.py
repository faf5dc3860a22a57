"""WebVTT: which part of a sheet of small pictures belongs to which time, and captions of strangers made harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reelstate.core.errors import ReelstateError

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_CUE: Final = 4096
"""Characters of one cue; what is longer is left out."""

_TIME = r"(?:(\d{2,4}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_TIMING = re.compile(rf"{_TIME}[ \t]+-->[ \t]+{_TIME}(?:[ \t]+(.*))?", re.ASCII)
_SETTING = re.compile(r"(?:vertical:(?:rl|lr)|(?:line|position|size|align):[a-z0-9,.%-]+)", re.ASCII)
_CONTROLS = dict.fromkeys(number for number in range(32) if chr(number) not in "\n\t")
_OTHER = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t\n]|$)")
_NUMBERS = r"(?:[ ]+-?\d+(?:\.\d+)?)"
_DRAWING = re.compile(rf"^m{_NUMBERS}{{2}}(?:[ ]+[mnlbspc]{_NUMBERS}*)+[ ]*$", re.ASCII | re.MULTILINE)
"""A shape of ASS, which ffmpeg hands on as if it were text: a line of moves and strokes with their coordinates."""
_MARK = re.compile(r"</?(?:[biu]|c|ruby|rt|v|lang)(?:\.[\w.-]+)?(?:[ \t][^<>&]*)?>|<[\d:.]+>|<|>", re.ASCII)


class MalformedCaptions(ReelstateError):
    """A file of captions is not WebVTT."""


@dataclass(frozen=True, slots=True)
class Captions:
    text: str
    cues: int
    left_out: int
    """Cues that could not be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """Small pictures in rows and columns, one every `interval` seconds."""

    uris: Sequence[str]
    count: int
    interval: Fraction
    columns: int
    rows: int
    width: int
    height: int
    """Of one picture."""


def sprite_track(sheets: Sheets, duration: Fraction) -> str:
    """A cue for every picture, which names its place on its sheet."""
    cues = [_sprite(sheets, number, duration) for number in range(sheets.count)]
    return "\n\n".join(["WEBVTT", *(cue for cue in cues if cue)]) + "\n"


def _sprite(sheets: Sheets, number: int, duration: Fraction) -> str:
    sheet, place = divmod(number, sheets.columns * sheets.rows)
    row, column = divmod(place, sheets.columns)
    start, end = number * sheets.interval, min((number + 1) * sheets.interval, duration)
    if number == sheets.count - 1:
        end = max(end, duration)
    if timestamp(start) == timestamp(end) or end < start:
        return ""
    box = f"{column * sheets.width},{row * sheets.height},{sheets.width},{sheets.height}"
    return f"{timestamp(start)} --> {timestamp(end)}\n{sheets.uris[sheet]}#xywh={box}"


def timestamp(seconds: Fraction) -> str:
    millis = round(seconds * 1000)
    minutes, rest = divmod(millis, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}"


def clean(data: bytes) -> Captions:
    """Captions with only what a player needs: cues in time, known marks, no styles, regions or notes."""
    if len(data) > MAX_BYTES:
        raise MalformedCaptions(f"{len(data):,} bytes of captions", hint=f"the limit is {MAX_BYTES:,}")
    blocks = _blocks(data)
    if not re.match(r"WEBVTT(?:[ \t\n]|$)", blocks[0]):
        raise MalformedCaptions("the file does not begin with WEBVTT", hint="it is another format, or damaged")
    cues = [_cue(block) for block in _whole_cues(blocks[1:])]
    kept = [cue for cue in cues if cue]
    return Captions("\n\n".join(["WEBVTT", *kept]) + "\n", len(kept), len(cues) - len(kept))


def _blocks(data: bytes) -> list[str]:
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return re.split(r"\n{2,}", text.translate(_CONTROLS).strip("\n"))


def _whole_cues(blocks: Iterable[str]) -> list[str]:
    """The blocks that are cues. Text after an empty line belongs to the cue before it; notes and styles do not."""
    cues: list[str] = []
    for block in blocks:
        if "-->" in block and not block.startswith("NOTE"):
            cues.append(block)
        elif cues and not _OTHER.match(block):
            cues[-1] += f"\n{block}"
    return cues


def _cue(block: str) -> str:
    """A cue as it may stand, or nothing."""
    lines = block.split("\n")
    timing_line = next(number for number, line in enumerate(lines) if "-->" in line)
    timing = _TIMING.fullmatch(lines[timing_line].strip())
    words = _DRAWING.sub("", "\n".join(lines[timing_line + 1 :])).strip("\n")
    if timing_line > 1 or not timing or not words or len(words) > MAX_CUE:
        return ""
    start, end = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:8])
    if end <= start:
        return ""
    settings = [each for each in (timing[9] or "").split() if _SETTING.fullmatch(each)]
    head = " ".join([f"{timestamp(start)} --> {timestamp(end)}", *settings])
    return f"{head}\n{_MARK.sub(_harmless, words)}"


def _seconds(parts: Sequence[str | None]) -> Fraction:
    hours, minutes, seconds, millis = (int(part or 0) for part in parts)
    return Fraction(hours * 3600 + minutes * 60 + seconds) + Fraction(millis, 1000)


def _harmless(mark: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;"}.get(mark[0], mark[0])


def faults(data: bytes) -> Iterator[str]:
    """What is wrong with captions that are about to be published."""
    try:
        found = clean(data)
    except MalformedCaptions as error:
        yield str(error)
        return
    if found.left_out:
        yield f"{found.left_out} of {found.cues + found.left_out} cues are not as WebVTT wants them"
