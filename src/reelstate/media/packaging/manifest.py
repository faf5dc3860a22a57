"""What a package is made of. In the storage it stands as manifest.json.

    {"rate": "30000/1001", "frames": 1800, "duration": "3003/50",
     "files": {key: {"size": 1234, "sha256": "…"}, …},
     "master": key, "dash": key or null,
     "rungs": [{"name": "720p", "init": key, "playlist": key, "key_frames": key or null,
                "chunks": [{"key": key, "segments": [[offset, size, duration in ticks, size to the end of the key
                            frame], …]}, …]}, …],
     "audio": [{"name": "0", "init": key, "playlist": key, "duration": "60" or null, "chunks": […]}, …],
     "captions": [{"name": "0", "playlist": key, "file": key}, …]}

`files` names every file that counts. `duration` is that of the source's video in seconds; that of a sound track is
its own in the source, or null when it is to be as long as the video.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class FileEntry(TypedDict):
    size: int
    sha256: str


class ChunkEntry(TypedDict):
    key: str
    segments: list[list[int]]


class RungEntry(TypedDict):
    name: str
    init: str
    playlist: str
    key_frames: str | None
    chunks: list[ChunkEntry]


class AudioEntry(TypedDict):
    name: str
    init: str
    playlist: str
    duration: str | None
    chunks: list[ChunkEntry]


class CaptionsEntry(TypedDict):
    name: str
    playlist: str
    file: str


class Manifest(TypedDict):
    source: NotRequired[str]
    """The sha256 of the film as it was fetched."""
    rate: str
    frames: int
    duration: str
    files: dict[str, FileEntry]
    master: str
    dash: str | None
    rungs: list[RungEntry]
    audio: list[AudioEntry]
    captions: list[CaptionsEntry]


def boxed(manifest: Manifest) -> set[str]:
    """The keys of what is made of boxes."""
    tracks = [*manifest["rungs"], *manifest["audio"]]
    return {track["init"] for track in tracks} | {chunk["key"] for track in tracks for chunk in track["chunks"]}


def written(manifest: Manifest) -> set[str]:
    """The keys of what is text."""
    keys = {manifest["master"], manifest["dash"]}
    keys |= {track["playlist"] for track in [*manifest["rungs"], *manifest["audio"], *manifest["captions"]]}
    keys |= {rung["key_frames"] for rung in manifest["rungs"]}
    keys |= {captions["file"] for captions in manifest["captions"]}
    return {key for key in keys if key}
