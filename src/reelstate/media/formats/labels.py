"""Names of tracks as viewers read them in the menu of a player: of the title in the source, or of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reelstate.media.formats.language import language_name

MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What is known of a track that a viewer may choose."""

    title: str
    language: str
    forced: bool = False
    commentary: bool = False


def track_names(tracks: Iterable[Labelled], otherwise: str) -> list[str]:
    """A name for each track, no two alike; tracks of which nothing is known are numbered behind `otherwise`."""
    return list(distinct(_name(track) or f"{otherwise} {number}" for number, track in enumerate(tracks, start=1)))


def _name(track: Labelled) -> str:
    if title := printable(track.title):
        return title
    notes = ["forced"] * track.forced + ["commentary"] * track.commentary
    language = language_name(track.language)
    return f"{language} ({', '.join(notes)})" if language and notes else language


def distinct(names: Iterable[str]) -> Iterator[str]:
    """The same names, with numbers behind those that were there before."""
    taken: set[str] = set()
    for name in names:
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name} {number}"
        taken.add(free)
        yield free


def printable(text: str) -> str:
    """One line of printable characters without quotation marks: titles come from files of strangers."""
    signs = ("'" if sign == '"' else sign if sign.isprintable() else " " for sign in text)
    return " ".join("".join(signs).split())[:MAX_NAME].rstrip()
