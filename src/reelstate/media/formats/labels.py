"""Names of tracks in the menu of a player, from the title in the source or the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reelstate.media.formats.language import language_name

MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackLabel:
    """The properties of a track that its name is made from."""

    title: str
    language: str
    forced: bool = False
    commentary: bool = False


def track_names(tracks: Iterable[TrackLabel], fallback: str) -> list[str]:
    """Return a unique name for each track; tracks without title and language are `fallback` and a number."""
    return list(make_unique(_name(track) or f"{fallback} {number}" for number, track in enumerate(tracks, start=1)))


def _name(track: TrackLabel) -> str:
    if title := printable(track.title):
        return title
    notes = ["forced"] * track.forced + ["commentary"] * track.commentary
    language = language_name(track.language)
    return f"{language} ({', '.join(notes)})" if language and notes else language


def make_unique(names: Iterable[str]) -> Iterator[str]:
    """Yield the names, with a number appended to repeated ones."""
    used: set[str] = set()
    for name in names:
        unique, number = name, 1
        while unique in used:
            number += 1
            unique = f"{name} {number}"
        used.add(unique)
        yield unique


def printable(text: str) -> str:
    """Return one line of printable characters without quotes: titles come from untrusted files."""
    chars = ("'" if char == '"' else char if char.isprintable() else " " for char in text)
    return " ".join("".join(chars).split())[:MAX_NAME].rstrip()
