"""Builds the playlists and manifests of a version over the files that its tasks have stored. Pure, and small.

Playlists name byte ranges of those files, so no media is copied. An optional rung that lacks a chunk is left out, and
the package is degraded.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import TypeVar

from reelstate.artifacts.stored import stored
from reelstate.core.errors import ReelstateError
from reelstate.media.formats import dash, hls, webvtt
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats.header import Track
from reelstate.media.formats.labels import TrackLabel, track_names
from reelstate.media.packaging.manifest import (
    DASH,
    MANIFEST,
    MASTER,
    AudioEntry,
    CaptionsEntry,
    ChunkEntry,
    FileEntry,
    Manifest,
    RungEntry,
)
from reelstate.media.planning.grid import Grid
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.tracks import PlannedAudio, PlannedCaptions
from reelstate.media.results import Encoded, MadeAudio, MadeCaptions, MadeFile, MadeSprites, MadeTrack, Pictures

P = TypeVar("P", PlannedAudio, PlannedCaptions)
KeyOf = Callable[[str], str]
"""Returns the key of a file of the package."""


class IncompleteRung(ReelstateError):
    """A required rung lacks a chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamContents:
    """The results of the stages that a package is built of."""

    plan: Plan
    chunks: Sequence[Encoded]
    audio: Sequence[MadeAudio] = ()
    captions: Sequence[MadeCaptions] = ()
    pictures: Pictures | None = None
    reused: Manifest | None = None
    """The manifest of an earlier version, whose rungs replace those that were not requested."""
    source: str = ""
    """The sha256 of what was fetched."""
    headers: Mapping[str, bytes] = field(default_factory=dict)
    """The files that `header_keys` names."""

    @property
    def sprites(self) -> MadeSprites | None:
        """The sheets of preview pictures, if there are any."""
        return self.pictures.sprites if self.pictures else None

    def header_keys(self) -> list[str]:
        """Return the keys of the headers of all tracks."""
        firsts = self.chunks[0].rungs.values() if self.chunks else ()
        return [_header(each).key for each in (*firsts, *self.audio)] + [rung.init for rung in self.reused_rungs()]

    def reused_rungs(self) -> list[RungEntry]:
        """Return the rungs of the earlier version that this one does not make itself."""
        own = {rung.name for rung in self.plan.rungs}
        return [rung for rung in self.reused.rungs if rung.name not in own] if self.reused else []


@dataclass(frozen=True, slots=True)
class Package:
    """The files of a package that have to be written, and what a viewer misses."""

    manifest: Manifest
    files: Mapping[str, bytes]
    """By key; manifest.json is one of them."""
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Track:
    """A rung or an audio track with all that playlists say about it."""

    name: str
    init: str
    playlist: str
    key_frames: str | None
    chunks: tuple[ChunkEntry, ...]
    track: Track

    @property
    def parts(self) -> list[hls.Part]:
        """Its segments, with keys for URIs."""
        timescale = self.track.timescale
        return [part for chunk in self.chunks for part in hls.segment_parts(chunk.key, chunk.segments, timescale)]

    def parts_in(self, playlist: str) -> list[hls.Part]:
        return [replace(part, uri=hls.relative_uri(playlist, part.uri)) for part in self.parts]


_Captions = tuple[CaptionsEntry, MadeCaptions]


def package(contents: StreamContents, key_of: KeyOf) -> Package:
    """Build everything that a player needs besides the chunks; raise `IncompleteRung` if a required rung has a gap."""
    left_out = dict(_left_out(contents))
    files: dict[str, bytes] = {}
    listed: dict[str, FileEntry] = {}
    rungs = _by_size([*_made_rungs(contents, key_of, left_out, listed), *_reused_rungs(contents, key_of, listed)])
    audio = list(_audio_tracks(contents, key_of, listed))
    captions = list(_caption_tracks(contents, key_of, files, listed))
    _add_pictures(contents, key_of, files, listed)
    target = _target_duration(contents, audio)
    for track in (*rungs, *audio):
        init = hls.relative_uri(track.playlist, track.init)
        files[track.playlist] = hls.media_playlist(track.parts_in(track.playlist), init, target=target).encode()
        if track.key_frames:
            init = hls.relative_uri(track.key_frames, track.init)
            parts = track.parts_in(track.key_frames)
            files[track.key_frames] = hls.key_frame_playlist(parts, init, target=target).encode()
    files[key_of(MASTER)] = _master(contents, key_of(MASTER), rungs, audio, captions).encode()
    files[key_of(DASH)] = _dash(contents, key_of(DASH), rungs, audio, captions).encode()
    for key, data in files.items():
        made = stored(key, data)
        listed[key] = FileEntry(size=made.size, sha256=made.sha256)
    manifest = _manifest(contents, key_of, rungs, audio, captions, listed)
    degraded = tuple(f"{name}: {reason}" for name, reason in left_out.items())
    return Package(manifest, {**files, key_of(MANIFEST): manifest.to_bytes()}, degraded)


def growing(contents: StreamContents, key_of: KeyOf) -> dict[str, bytes]:
    """Build the playlists of an unfinished stream, by key; `contents.chunks` are the first chunks, without a gap."""
    listed: dict[str, FileEntry] = {}
    rungs = _by_size(_made_rungs(contents, key_of, dict(_left_out(contents)), listed))
    audio = list(_audio_tracks(contents, key_of, listed))
    target = _target_duration(contents, audio)
    complete = len(contents.chunks) == len(contents.plan.grid.chunks())
    files = {}
    for track in (*rungs, *audio):
        init = hls.relative_uri(track.playlist, track.init)
        ended = complete or track in audio
        text = hls.media_playlist(track.parts_in(track.playlist), init, kind="EVENT", ended=ended, target=target)
        files[track.playlist] = text.encode()
    plain = [replace(rung, key_frames=None) for rung in rungs]
    return {**files, key_of(MASTER): _master(contents, key_of(MASTER), plain, audio, ()).encode()}


def _target_duration(contents: StreamContents, audio: Iterable[_Track]) -> int:
    """Return the target duration of all playlists; it is known before the first chunk, for audio is made first."""
    grid = contents.plan.grid
    picture = grid.time(min(grid.segment_frames, grid.frames))
    return hls.target_duration([picture, *(part.duration for track in audio for part in track.parts)])


def why_not_beside(earlier: Manifest, source: str, grid: Grid) -> str:
    """Return why rungs of an earlier version can't be combined with new ones; empty if they can."""
    if earlier.source not in ("", source):
        return "it was made of another source, which has changed since"
    if (earlier.rate, earlier.frames) != (grid.rate, grid.frames):
        return f"it has {earlier.frames} frames at {earlier.rate}/s, not {grid.frames} at {grid.rate}/s"
    wanted = [frames for chunk in grid.chunks() for frames in chunk.segments]
    if any(_segment_frames(rung, grid.frames) != wanted for rung in earlier.rungs):
        return "its segments have another length"
    return ""


def _segment_frames(rung: RungEntry, total: int) -> list[Fraction]:
    """Return how many of `total` frames each segment of a rung has."""
    ticks = [duration for chunk in rung.chunks for _, _, duration, _ in chunk.segments]
    return [Fraction(each * total, sum(ticks)) for each in ticks]


def _by_size(rungs: Iterable[_Track]) -> list[_Track]:
    return sorted(rungs, key=lambda rung: -rung.track.width * rung.track.height)


def _left_out(contents: StreamContents) -> Iterator[tuple[str, str]]:
    """Yield the optional rungs that lack a chunk, with the reason; raise `IncompleteRung` for a required one."""
    for rung in contents.plan.rungs:
        lacking = next((chunk for chunk in contents.chunks if rung.name not in chunk.rungs), None)
        if lacking is None:
            continue
        reason = lacking.failed.get(rung.name, "it was not made")
        if rung.required:
            raise IncompleteRung(
                f"{rung.name}: chunk {lacking.chunk} is missing: {reason}", hint="`reel retry JOB --from encode`"
            )
        everywhere = all(chunk.failed.get(rung.name) == reason for chunk in contents.chunks)
        yield rung.name, reason if everywhere else f"chunk {lacking.chunk}: {reason}"


def _made_rungs(
    contents: StreamContents, key_of: KeyOf, left_out: Collection[str], listed: dict[str, FileEntry]
) -> Iterator[_Track]:
    for rung in contents.plan.rungs:
        if rung.name not in left_out:
            made = [chunk.rungs[rung.name] for chunk in contents.chunks]
            yield _track(rung.name, f"video/{rung.name}", made, contents, key_of, listed)


def _audio_tracks(contents: StreamContents, key_of: KeyOf, listed: dict[str, FileEntry]) -> Iterator[_Track]:
    for made in contents.audio:
        track = _track(str(made.number), f"audio/{made.number}", [made], contents, key_of, listed)
        yield replace(track, key_frames=None)


def _track(
    name: str,
    path: str,
    made: Sequence[MadeTrack],
    contents: StreamContents,
    key_of: KeyOf,
    listed: dict[str, FileEntry],
) -> _Track:
    init = _header(made[0])
    listed.update(map(_entry, (init, *made)))
    return _Track(
        name=name,
        init=init.key,
        playlist=key_of(f"{path}.m3u8"),
        key_frames=key_of(f"{path}-key-frames.m3u8"),
        chunks=tuple(ChunkEntry(key=each.key, segments=each.segments) for each in made),
        track=boxes.parse_mp4(contents.headers[init.key]).track,
    )


def _header(made: MadeTrack) -> MadeFile:
    if made.init is None:
        raise IncompleteRung(f"{made.key} has no header", hint="`reel retry JOB --from encode`")
    return made.init


def _reused_rungs(contents: StreamContents, key_of: KeyOf, listed: dict[str, FileEntry]) -> Iterator[_Track]:
    files = contents.reused.files if contents.reused else {}
    for rung in contents.reused_rungs():
        for key in (rung.init, *(chunk.key for chunk in rung.chunks)):
            listed[key] = files[key]
        yield _Track(
            name=rung.name,
            init=rung.init,
            playlist=key_of(f"video/{rung.name}.m3u8"),
            key_frames=key_of(f"video/{rung.name}-key-frames.m3u8"),
            chunks=rung.chunks,
            track=boxes.parse_mp4(contents.headers[rung.init]).track,
        )


def _entry(made: MadeFile) -> tuple[str, FileEntry]:
    return made.key, FileEntry(size=made.size, sha256=made.sha256)


def _caption_tracks(
    contents: StreamContents, key_of: KeyOf, files: dict[str, bytes], listed: dict[str, FileEntry]
) -> Iterator[_Captions]:
    for track in contents.captions:
        playlist = key_of(f"captions/{track.number}.m3u8")
        listed.update([_entry(track)])
        uri = hls.relative_uri(playlist, track.key)
        files[playlist] = hls.captions_playlist(uri, contents.plan.grid.duration).encode()
        yield CaptionsEntry(name=f"captions-{track.number}", playlist=playlist, file=track.key), track


def _add_pictures(
    contents: StreamContents, key_of: KeyOf, files: dict[str, bytes], listed: dict[str, FileEntry]
) -> None:
    """List the poster and the sheets of preview pictures, and write the WebVTT track that maps times to pictures."""
    if contents.pictures and contents.pictures.poster:
        listed.update([_entry(contents.pictures.poster)])
    if sprites := contents.sprites:
        listed.update(map(_entry, sprites.sheets))
        key = key_of("sprites.vtt")
        files[key] = webvtt.sprite_track(_sheets(sprites, key), contents.plan.grid.duration).encode()


def _sheets(sprites: MadeSprites, key: str) -> webvtt.Sheets:
    return webvtt.Sheets(
        uris=[hls.relative_uri(key, sheet.key) for sheet in sprites.sheets],
        count=sprites.count,
        interval=Fraction(sprites.every),
        columns=sprites.columns,
        rows=sprites.rows,
        width=sprites.width,
        height=sprites.height,
    )


def _master(
    contents: StreamContents,
    key: str,
    rungs: Sequence[_Track],
    audio: Sequence[_Track],
    captions: Sequence[_Captions],
) -> str:
    variants = [
        hls.Variant(
            uri=hls.relative_uri(key, rung.playlist),
            codec=rung.track.codec,
            width=rung.track.width,
            height=rung.track.height,
            frame_rate=contents.plan.grid.rate,
            rates=hls.measure_rates(rung.parts),
            key_frames_uri=hls.relative_uri(key, rung.key_frames) if rung.key_frames else "",
            key_frames=hls.measure_rates(hls.key_frame_parts(rung.parts)),
        )
        for rung in rungs
    ]
    renditions, subtitles = _renditions(contents, key, audio), _subtitles(contents, key, captions)
    return hls.master_playlist(variants, list(renditions), list(subtitles))


def _renditions(contents: StreamContents, key: str, audio: Sequence[_Track]) -> Iterator[hls.Rendition]:
    default = _default(contents.audio)
    for made, track, name in zip(contents.audio, audio, _audio_names(contents), strict=True):
        yield hls.Rendition(
            uri=hls.relative_uri(key, track.playlist),
            name=name,
            language=made.language,
            default=made.number == default,
            autoselect=not _planned(contents.plan.audio, made.number).commentary,
            codec=track.track.codec,
            channels=track.track.channels,
            rates=hls.measure_rates(track.parts),
        )


def _subtitles(contents: StreamContents, key: str, captions: Sequence[_Captions]) -> Iterator[hls.Rendition]:
    default = next((made.number for _, made in captions if made.default), None)
    for (entry, made), name in zip(captions, _caption_names(contents, captions), strict=True):
        yield hls.Rendition(
            uri=hls.relative_uri(key, entry.playlist),
            name=name,
            language=made.language,
            default=made.number == default,
            forced=made.forced,
            autoselect=not _planned(contents.plan.captions, made.number).commentary,
        )


def _default(audio: Sequence[MadeAudio]) -> int:
    """Return the number of the audio track that plays first."""
    return next((made.number for made in audio if made.default), audio[0].number) if audio else 0


def _planned(tracks: Iterable[P], number: int) -> P:
    return next(track for track in tracks if track.number == number)


def _names(tracks: Iterable[PlannedAudio | PlannedCaptions], fallback: str) -> list[str]:
    labels = (
        TrackLabel(
            title=track.title,
            language=track.language,
            forced=isinstance(track, PlannedCaptions) and track.forced,
            commentary=track.commentary,
        )
        for track in tracks
    )
    return track_names(labels, fallback)


def _audio_names(contents: StreamContents) -> list[str]:
    return _names((_planned(contents.plan.audio, made.number) for made in contents.audio), "Audio")


def _caption_names(contents: StreamContents, captions: Iterable[_Captions]) -> list[str]:
    return _names((_planned(contents.plan.captions, made.number) for _, made in captions), "Captions")


def _dash(
    contents: StreamContents,
    key: str,
    rungs: Sequence[_Track],
    audio: Sequence[_Track],
    captions: Sequence[_Captions],
) -> str:
    default = _default(contents.audio)
    sound = [
        replace(
            _representation(contents, key, track), language=made.language, label=name,
            roles=_audio_roles(_planned(contents.plan.audio, made.number), default),
        )
        for made, track, name in zip(contents.audio, audio, _audio_names(contents), strict=True)
    ]  # fmt: skip
    text = [
        dash.CaptionsTrack(
            name=entry.name, uri=hls.relative_uri(key, entry.file), language=made.language, label=name,
            roles=_caption_roles(_planned(contents.plan.captions, made.number)),
        )
        for (entry, made), name in zip(captions, _caption_names(contents, captions), strict=True)
    ]  # fmt: skip
    video = [_representation(contents, key, rung) for rung in rungs]
    return dash.build_manifest(contents.plan.grid.duration, video, sound, text, _tiles(contents, key))


def _audio_roles(track: PlannedAudio, default: int) -> list[dash.Role]:
    if track.number == default:
        return ["main"]
    return ["commentary"] if track.commentary else ["alternate"]


def _caption_roles(track: PlannedCaptions) -> list[dash.Role]:
    if track.commentary:
        return ["commentary"]
    return ["forced-subtitle"] if track.forced else ["subtitle"]


def _tiles(contents: StreamContents, key: str) -> dash.Tiles | None:
    """Return the sheets of preview pictures, for players that show them while a viewer seeks."""
    sprites = contents.sprites
    if not sprites:
        return None
    folder, name = posixpath.split(hls.relative_uri(key, sprites.sheets[0].key))
    length = Fraction(sprites.every * sprites.columns * sprites.rows)
    largest = max(sheet.size for sheet in sprites.sheets)
    return dash.Tiles(
        pattern=posixpath.join(folder.replace("$", "$$"), name.replace("-1.", "-$Number$.")),
        first=1,
        sheet_duration=length,
        columns=sprites.columns,
        rows=sprites.rows,
        width=sprites.columns * sprites.width,
        height=sprites.rows * sprites.height,
        bandwidth=ceil(8 * largest / min(length, contents.plan.grid.duration)),
    )


def _representation(contents: StreamContents, key: str, each: _Track) -> dash.Representation:
    track = each.track
    return dash.Representation(
        name=each.name,
        init_uri=hls.relative_uri(key, each.init),
        timescale=track.timescale,
        parts=each.parts_in(key),
        bandwidth=hls.measure_rates(each.parts).peak,
        codec=track.codec,
        width=track.width,
        height=track.height,
        frame_rate=contents.plan.grid.rate if track.kind == "video" else Fraction(0),
        channels=track.channels,
        sample_rate=track.sample_rate,
    )


def _manifest(
    contents: StreamContents,
    key_of: KeyOf,
    rungs: Iterable[_Track],
    audio: Iterable[_Track],
    captions: Iterable[_Captions],
    listed: dict[str, FileEntry],
) -> Manifest:
    return Manifest(
        source=contents.source,
        rate=contents.plan.grid.rate,
        frames=contents.plan.grid.frames,
        duration=contents.plan.grid.duration,
        files=listed,
        master=key_of(MASTER),
        dash=key_of(DASH),
        rungs=tuple(
            RungEntry(
                name=rung.name, init=rung.init, playlist=rung.playlist, key_frames=rung.key_frames, chunks=rung.chunks
            )
            for rung in rungs
        ),
        audio=tuple(
            AudioEntry(name=track.name, init=track.init, playlist=track.playlist, duration=None, chunks=track.chunks)
            for track in audio
        ),
        captions=tuple(entry for entry, _ in captions),
    )
