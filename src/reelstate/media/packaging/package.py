"""The stream of a version: playlists, manifests and headers over the chunks that tasks have made. Pure, and small.

Nothing of a chunk is touched: playlists name spans of its file. A rung of which a chunk is missing is left out if it
is optional, and the package says so.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any

from reelstate.artifacts.stored import stored
from reelstate.core.errors import ReelstateError
from reelstate.media.formats import dash, hls, webvtt
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats.header import Track
from reelstate.media.formats.labels import Labelled, track_names
from reelstate.media.packaging.manifest import AudioEntry, CaptionsEntry, ChunkEntry, FileEntry, Manifest, RungEntry
from reelstate.media.planning.grid import Grid
from reelstate.media.planning.plan import Plan, PlannedAudio, PlannedCaptions

MASTER, DASH, MANIFEST = "master.m3u8", "manifest.mpd", "manifest.json"

Json = Any
Place = Callable[[str], str]
"""The key of a file of the package."""


class IncompleteRung(ReelstateError):
    """A rung that must be there lacks a chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamContents:
    """What the tasks of a job have made: the results of the stages that the package is made of."""

    plan: Plan
    chunks: Sequence[Json]
    audio: Sequence[Json] = ()
    captions: Sequence[Json] = ()
    pictures: Json = None
    reused: Manifest | None = None
    """The manifest of an earlier version, whose rungs stand in for those that were not asked for."""
    source: str = ""
    """The sha256 of what was fetched."""
    headers: Mapping[str, bytes] = field(default_factory=dict)
    """The files that `wanted_headers` names."""


@dataclass(frozen=True, slots=True)
class Package:
    manifest: Manifest
    files: Mapping[str, bytes]
    """What is to be written, the manifest itself with it."""
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Track:
    """A rung or a sound track with everything that playlists say of it."""

    name: str
    init: str
    playlist: str
    key_frames: str | None
    chunks: list[ChunkEntry]
    track: Track

    @property
    def parts(self) -> list[hls.Part]:
        """Its segments, named by their keys."""
        return [
            part
            for chunk in self.chunks
            for part in hls.parts_of(chunk["key"], chunk["segments"], self.track.timescale)
        ]

    def parts_in(self, playlist: str) -> list[hls.Part]:
        return [replace(part, uri=hls.relative_uri(playlist, part.uri)) for part in self.parts]


def wanted_headers(film: StreamContents) -> list[str]:
    """The keys of the headers of all tracks: what a decoder needs before their first segment."""
    firsts = film.chunks[0]["rungs"].values() if film.chunks else ()
    return [each["init"]["key"] for each in (*firsts, *film.audio)] + [rung["init"] for rung in _reused(film)]


def package(film: StreamContents, place: Place) -> Package:
    """Everything that a player needs beside the chunks themselves."""
    left_out = dict(_left_out(film))
    files: dict[str, bytes] = {}
    kept: dict[str, FileEntry] = {}
    rungs = _by_size([*_made_rungs(film, place, left_out, kept), *_reused_rungs(film, place, kept)])
    sound = list(_sound(film, place, kept))
    text = list(_text(film, place, files, kept))
    _pictures(film, place, files, kept)
    target = _target(film, sound)
    for track in (*rungs, *sound):
        init = hls.relative_uri(track.playlist, track.init)
        files[track.playlist] = hls.media_playlist(track.parts_in(track.playlist), init, target=target).encode()
        if track.key_frames:
            init = hls.relative_uri(track.key_frames, track.init)
            parts = track.parts_in(track.key_frames)
            files[track.key_frames] = hls.key_frame_playlist(parts, init, target=target).encode()
    files[place(MASTER)] = _master(film, place(MASTER), rungs, sound, text).encode()
    files[place(DASH)] = _dash(film, place(DASH), rungs, sound, text).encode()
    for key, data in files.items():
        made = stored(key, data)
        kept[key] = FileEntry(size=made.size, sha256=made.sha256)
    manifest = _manifest(film, place, rungs, sound, text, kept)
    degraded = tuple(f"{name}: {reason}" for name, reason in left_out.items())
    return Package(manifest, {**files, place(MANIFEST): written(manifest)}, degraded)


def growing(film: StreamContents, place: Place) -> dict[str, bytes]:
    """The stream as far as it is made: `film.chunks` are the first ones, without a gap. Its playlists will grow."""
    kept: dict[str, FileEntry] = {}
    rungs = _by_size(_made_rungs(film, place, dict(_left_out(film)), kept))
    sound = list(_sound(film, place, kept))
    target = _target(film, sound)
    complete = len(film.chunks) == len(film.plan.grid.chunks())
    files = {}
    for track in (*rungs, *sound):
        init = hls.relative_uri(track.playlist, track.init)
        whole = complete or track in sound
        text = hls.media_playlist(track.parts_in(track.playlist), init, kind="EVENT", ended=whole, target=target)
        files[track.playlist] = text.encode()
    plain = [replace(rung, key_frames=None) for rung in rungs]
    return {**files, place(MASTER): _master(film, place(MASTER), plain, sound, ()).encode()}


def _target(film: StreamContents, sound: Iterable[_Track]) -> int:
    """The target duration of all playlists of a version, known before the first chunk is made: sound comes first."""
    grid = film.plan.grid
    picture = grid.time(min(grid.segment_frames, grid.frames))
    return hls.target_duration([picture, *(part.duration for track in sound for part in track.parts)])


def why_not_beside(earlier: Manifest, source: str, grid: Grid) -> str:
    """Why rungs of an earlier version can't stand beside new ones; nothing where they can."""
    if earlier.get("source", source) != source:
        return "it was made of another film, for the source has changed since"
    if (earlier["rate"], earlier["frames"]) != (str(grid.rate), grid.frames):
        return f"it has {earlier['frames']} frames at {earlier['rate']}/s, not {grid.frames} at {grid.rate}/s"
    wanted = [frames for chunk in grid.chunks() for frames in chunk.segments]
    if any(_frames(rung, grid.frames) != wanted for rung in earlier["rungs"]):
        return "its segments have another length"
    return ""


def _frames(rung: RungEntry, total: int) -> list[Fraction]:
    """How many frames each segment of a rung has, of so many in all."""
    ticks = [segment[2] for chunk in rung["chunks"] for segment in chunk["segments"]]
    return [Fraction(each * total, sum(ticks)) for each in ticks]


def _by_size(rungs: Iterable[_Track]) -> list[_Track]:
    return sorted(rungs, key=lambda rung: -rung.track.width * rung.track.height)


def written(manifest: Manifest) -> bytes:
    """The manifest as it stands in the storage."""
    return (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()


def _left_out(film: StreamContents) -> Iterator[tuple[str, str]]:
    """Optional rungs of which a chunk failed, with the reason; one that is required makes the package impossible."""
    for rung in film.plan.rungs:
        lacking = next((chunk for chunk in film.chunks if rung.name not in chunk["rungs"]), None)
        if lacking is None:
            continue
        reason = lacking["failed"].get(rung.name, "it was not made")
        if rung.required:
            raise IncompleteRung(
                f"{rung.name}: chunk {lacking['chunk']} is missing: {reason}", hint="`reel retry JOB --from encode`"
            )
        everywhere = all(chunk["failed"].get(rung.name) == reason for chunk in film.chunks)
        yield rung.name, reason if everywhere else f"chunk {lacking['chunk']}: {reason}"


def _made_rungs(
    film: StreamContents, place: Place, left_out: Collection[str], kept: dict[str, FileEntry]
) -> Iterator[_Track]:
    for rung in film.plan.rungs:
        if rung.name not in left_out:
            made = [chunk["rungs"][rung.name] for chunk in film.chunks]
            yield _track(rung.name, f"video/{rung.name}", made, film, place, kept)


def _sound(film: StreamContents, place: Place, kept: dict[str, FileEntry]) -> Iterator[_Track]:
    for made in film.audio:
        track = _track(str(made["number"]), f"audio/{made['number']}", [made], film, place, kept)
        yield replace(track, key_frames=None)


def _track(
    name: str, path: str, made: Sequence[Json], film: StreamContents, place: Place, kept: dict[str, FileEntry]
) -> _Track:
    init = made[0]["init"]
    kept.update(map(_entry, (init, *made)))
    return _Track(
        name=name,
        init=init["key"],
        playlist=place(f"{path}.m3u8"),
        key_frames=place(f"{path}-key-frames.m3u8"),
        chunks=[ChunkEntry(key=each["key"], segments=each["segments"]) for each in made],
        track=boxes.parse(film.headers[init["key"]]).track,
    )


def _reused(film: StreamContents) -> list[RungEntry]:
    """Rungs of the earlier version that this one neither makes nor has tried to make."""
    own = {rung.name for rung in film.plan.rungs}
    return [] if film.reused is None else [rung for rung in film.reused["rungs"] if rung["name"] not in own]


def _reused_rungs(film: StreamContents, place: Place, kept: dict[str, FileEntry]) -> Iterator[_Track]:
    for rung in _reused(film):
        assert film.reused is not None  # noqa: S101 - else there would be none
        for key in (rung["init"], *(chunk["key"] for chunk in rung["chunks"])):
            kept[key] = film.reused["files"][key]
        yield _Track(
            name=rung["name"],
            init=rung["init"],
            playlist=place(f"video/{rung['name']}.m3u8"),
            key_frames=place(f"video/{rung['name']}-key-frames.m3u8"),
            chunks=rung["chunks"],
            track=boxes.parse(film.headers[rung["init"]]).track,
        )


def _entry(made: Json) -> tuple[str, FileEntry]:
    return made["key"], FileEntry(size=made["size"], sha256=made["sha256"])


def _text(
    film: StreamContents, place: Place, files: dict[str, bytes], kept: dict[str, FileEntry]
) -> Iterator[tuple[CaptionsEntry, Json]]:
    for track in film.captions:
        playlist = place(f"captions/{track['number']}.m3u8")
        kept.update([_entry(track)])
        uri = hls.relative_uri(playlist, track["key"])
        files[playlist] = hls.captions_playlist(uri, film.plan.grid.duration).encode()
        yield CaptionsEntry(name=f"captions-{track['number']}", playlist=playlist, file=track["key"]), track


def _pictures(film: StreamContents, place: Place, files: dict[str, bytes], kept: dict[str, FileEntry]) -> None:
    """The poster and the sheets of small pictures count as files; a WebVTT track says which picture is where."""
    if not film.pictures:
        return
    sprites = film.pictures.get("sprites")
    for made in (film.pictures.get("poster"), *(sprites["sheets"] if sprites else ())):
        if made:
            kept.update([_entry(made)])
    if sprites:
        key = place("sprites.vtt")
        files[key] = webvtt.sprite_track(_sheets(sprites, key), film.plan.grid.duration).encode()


def _sheets(sprites: Json, key: str) -> webvtt.Sheets:
    return webvtt.Sheets(
        uris=[hls.relative_uri(key, sheet["key"]) for sheet in sprites["sheets"]],
        count=sprites["count"],
        interval=Fraction(sprites["every"]),
        **{name: sprites[name] for name in ("columns", "rows", "width", "height")},
    )


def _master(
    film: StreamContents,
    key: str,
    rungs: Sequence[_Track],
    sound: Sequence[_Track],
    text: Sequence[tuple[CaptionsEntry, Json]],
) -> str:
    variants = [
        hls.Variant(
            uri=hls.relative_uri(key, rung.playlist),
            codec=rung.track.codec,
            width=rung.track.width,
            height=rung.track.height,
            frame_rate=film.plan.grid.rate,
            rates=hls.rates(rung.parts),
            key_frames_uri=hls.relative_uri(key, rung.key_frames) if rung.key_frames else "",
            key_frames=hls.rates(hls.key_frame_parts(rung.parts)),
        )
        for rung in rungs
    ]
    return hls.master_playlist(variants, list(_renditions(film, key, sound)), list(_subtitles(film, key, text)))


def _renditions(film: StreamContents, key: str, sound: Sequence[_Track]) -> Iterator[hls.Rendition]:
    default = _default(film.audio)
    for made, track, name in zip(film.audio, sound, _sound_names(film), strict=True):
        yield hls.Rendition(
            uri=hls.relative_uri(key, track.playlist),
            name=name,
            language=made["language"],
            default=made["number"] == default,
            autoselect=not _planned_sound(film, made).commentary,
            codec=track.track.codec,
            channels=track.track.channels,
            rates=hls.rates(track.parts),
        )


def _subtitles(film: StreamContents, key: str, text: Sequence[tuple[CaptionsEntry, Json]]) -> Iterator[hls.Rendition]:
    default = next((made["number"] for _, made in text if made["default"]), None)
    for (entry, made), name in zip(text, _text_names(film, text), strict=True):
        yield hls.Rendition(
            uri=hls.relative_uri(key, entry["playlist"]),
            name=name,
            language=made["language"],
            default=made["number"] == default,
            forced=made["forced"],
            autoselect=not _planned_text(film, made).commentary,
        )


def _default(audio: Sequence[Json]) -> int:
    """The number of the sound track that plays first."""
    return int(next((made["number"] for made in audio if made["default"]), audio[0]["number"])) if audio else 0


def _planned_sound(film: StreamContents, made: Json) -> PlannedAudio:
    return next(track for track in film.plan.audio if track.number == made["number"])


def _planned_text(film: StreamContents, made: Json) -> PlannedCaptions:
    return next(track for track in film.plan.captions if track.number == made["number"])


def _sound_names(film: StreamContents) -> list[str]:
    planned = [_planned_sound(film, made) for made in film.audio]
    return track_names(
        (Labelled(title=each.title, language=each.language, commentary=each.commentary) for each in planned), "Audio"
    )


def _text_names(film: StreamContents, text: Iterable[tuple[CaptionsEntry, Json]]) -> list[str]:
    planned = [_planned_text(film, made) for _, made in text]
    tracks = (
        Labelled(title=each.title, language=each.language, forced=each.forced, commentary=each.commentary)
        for each in planned
    )
    return track_names(tracks, "Captions")


def _dash(
    film: StreamContents,
    key: str,
    rungs: Sequence[_Track],
    sound: Sequence[_Track],
    text: Sequence[tuple[CaptionsEntry, Json]],
) -> str:
    video = [_representation(film, key, rung) for rung in rungs]
    default = _default(film.audio)
    audio = [
        replace(
            _representation(film, key, track), language=made["language"], label=name,
            roles=_sound_roles(_planned_sound(film, made), default),
        )
        for made, track, name in zip(film.audio, sound, _sound_names(film), strict=True)
    ]  # fmt: skip
    captions = [
        dash.CaptionsTrack(
            name=entry["name"], uri=hls.relative_uri(key, entry["file"]), language=made["language"], label=name,
            roles=_text_roles(_planned_text(film, made)),
        )
        for (entry, made), name in zip(text, _text_names(film, text), strict=True)
    ]  # fmt: skip
    return dash.manifest(film.plan.grid.duration, video, audio, captions, _tiles(film, key))


def _sound_roles(track: PlannedAudio, default: int) -> list[dash.Role]:
    if track.number == default:
        return ["main"]
    return ["commentary"] if track.commentary else ["alternate"]


def _text_roles(track: PlannedCaptions) -> list[dash.Role]:
    if track.commentary:
        return ["commentary"]
    return ["forced-subtitle"] if track.forced else ["subtitle"]


def _tiles(film: StreamContents, key: str) -> dash.Tiles | None:
    """The sheets of small pictures, for players that show them to whoever seeks."""
    sprites = film.pictures.get("sprites") if film.pictures else None
    if not sprites:
        return None
    first = sprites["sheets"][0]["key"]
    folder, name = posixpath.split(hls.relative_uri(key, first))
    length = Fraction(sprites["every"] * sprites["columns"] * sprites["rows"])
    largest = max(sheet["size"] for sheet in sprites["sheets"])
    return dash.Tiles(
        pattern=posixpath.join(folder.replace("$", "$$"), name.replace("-1.", "-$Number$.")),
        first=1,
        sheet_duration=length,
        columns=sprites["columns"],
        rows=sprites["rows"],
        width=sprites["columns"] * sprites["width"],
        height=sprites["rows"] * sprites["height"],
        bandwidth=ceil(8 * largest / min(length, film.plan.grid.duration)),
    )


def _representation(film: StreamContents, key: str, each: _Track) -> dash.Representation:
    track = each.track
    return dash.Representation(
        name=each.name,
        init_uri=hls.relative_uri(key, each.init),
        timescale=track.timescale,
        parts=each.parts_in(key),
        bandwidth=hls.rates(each.parts).peak,
        codec=track.codec,
        width=track.width,
        height=track.height,
        frame_rate=film.plan.grid.rate if track.kind == "video" else Fraction(0),
        channels=track.channels,
        sample_rate=track.sample_rate,
    )


def _manifest(
    film: StreamContents,
    place: Place,
    rungs: Iterable[_Track],
    sound: Iterable[_Track],
    text: Iterable[tuple[CaptionsEntry, Json]],
    kept: dict[str, FileEntry],
) -> Manifest:
    return Manifest(
        source=film.source,
        rate=str(film.plan.grid.rate),
        frames=film.plan.grid.frames,
        duration=str(film.plan.grid.duration),
        files=kept,
        master=place(MASTER),
        dash=place(DASH),
        rungs=[
            RungEntry(
                name=rung.name, init=rung.init, playlist=rung.playlist, key_frames=rung.key_frames, chunks=rung.chunks
            )
            for rung in rungs
        ],
        audio=[
            AudioEntry(name=track.name, init=track.init, playlist=track.playlist, duration=None, chunks=track.chunks)
            for track in sound
        ],
        captions=[entry for entry, _ in text],
    )
