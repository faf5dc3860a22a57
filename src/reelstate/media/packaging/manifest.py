"""The manifest of a package: every file of a version, and how they form tracks. Stored as manifest.json.

    {"source": sha256, "rate": "30000/1001", "frames": 1800, "duration": "3003/50",
     "files": {key: {"size": 1234, "sha256": "…"}, …},
     "master": key, "dash": key or null,
     "rungs": [{"name": "720p", "init": key, "playlist": key, "key_frames": key or null,
                "chunks": [{"key": key, "segments": [[offset, size, duration in ticks, size to the end of the key
                            frame], …]}, …]}, …],
     "audio": [{"name": "0", "init": key, "playlist": key, "duration": "60" or null, "chunks": […]}, …],
     "captions": [{"name": "0", "playlist": key, "file": key}, …]}

`files` names every file of the package. `duration` is that of the source's video in seconds; an audio track has its
own, or null if it is as long as the video.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from reelstate.media.planning.grid import MAX_SEGMENTS, Frames
from reelstate.media.records import Between, Count, JsonRecord, Sha256
from reelstate.media.results import Segments

MASTER, DASH, MANIFEST = "master.m3u8", "manifest.mpd", "manifest.json"
"""The names of the files that a player or a later version starts from."""
PUBLISHED = (MASTER, DASH, MANIFEST)
"""The files that the stage `publish` writes; a remote worker may write no others there."""
MAX_FILES = 64 * MAX_SEGMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry(JsonRecord):
    """The size and hash of a file."""

    size: Count
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkEntry(JsonRecord):
    """One file of a track."""

    key: str
    segments: Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackEntry(JsonRecord):
    """A track in segments: its header, its playlist and its files."""

    name: str
    init: str
    playlist: str
    chunks: Annotated[tuple[ChunkEntry, ...], Between(0, MAX_SEGMENTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RungEntry(TrackEntry):
    """A rung, with its playlist of key frames."""

    key_frames: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioEntry(TrackEntry):
    """An audio track."""

    duration: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsEntry(JsonRecord):
    """A WebVTT track, in one file."""

    name: str
    playlist: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(JsonRecord):
    """What a version consists of."""

    source: str = ""
    """The sha256 of the source as it was fetched; empty in manifests of earlier releases."""
    rate: Fraction
    frames: Frames
    duration: Fraction
    files: Annotated[Mapping[str, FileEntry], Between(0, MAX_FILES)]
    master: str
    dash: str | None
    rungs: tuple[RungEntry, ...]
    audio: tuple[AudioEntry, ...]
    captions: tuple[CaptionsEntry, ...]

    @property
    def tracks(self) -> tuple[TrackEntry, ...]:
        """All rungs and audio tracks."""
        return (*self.rungs, *self.audio)

    def media_keys(self) -> set[str]:
        """Return the keys of the files that consist of boxes."""
        return {track.init for track in self.tracks} | {chunk.key for track in self.tracks for chunk in track.chunks}

    def text_keys(self) -> set[str]:
        """Return the keys of playlists, manifests and captions."""
        found = {self.master, self.dash, *(rung.key_frames for rung in self.rungs)}
        found |= {track.playlist for track in self.tracks}
        found |= {key for each in self.captions for key in (each.playlist, each.file)}
        return {key for key in found if key}

    def to_bytes(self) -> bytes:
        """Return the content of manifest.json."""
        return (json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n").encode()


def read_manifest(data: bytes) -> Manifest:
    """Return the manifest in manifest.json; raise `MalformedRecord` if it is none."""
    return Manifest.from_json(json.loads(data))
