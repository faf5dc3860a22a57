"""Finds the faults of a package whose files were read: boxes, playlists and manifest must agree. Decodes nothing."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Final

from reelstate.media.formats import dash, hls, hls_parser, webvtt
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4
from reelstate.media.formats.header import Track
from reelstate.media.formats.segment import Segment
from reelstate.media.packaging.manifest import CaptionsEntry, ChunkEntry, Manifest, RungEntry, TrackEntry

TOLERANCE: Final = Fraction(1, 1000)
AAC_FRAME: Final = 1024
TARGET: Final = re.compile(rb"^#EXT-X-TARGETDURATION:([0-9]{1,9})$", re.MULTILINE)
MAX_SAME_KIND: Final = 5
"""Faults of one kind that are reported for one playlist: a wrong grid makes every segment wrong."""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """The contents of a package, as far as its files could be read."""

    boxes: Mapping[str, FragmentedMp4]
    texts: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Measured:
    """A track as measured from its bytes."""

    name: str
    init: str
    playlist: str
    track: Track
    segments: tuple[Segment, ...]
    parts: tuple[hls.Part, ...]
    """Its segments, with keys for URIs."""

    @property
    def samples(self) -> int:
        return sum(segment.samples for segment in self.segments)

    @property
    def duration(self) -> Fraction:
        return sum((part.duration for part in self.parts), Fraction(0))

    @property
    def rates(self) -> hls.Rates:
        return hls.measure_rates(self.parts)

    @property
    def frame_rate(self) -> Fraction:
        """Frames a second; 0 if the frames have different durations."""
        steps = {segment.step for segment in self.segments}
        step = steps.pop() if len(steps) == 1 else 0
        return Fraction(self.track.timescale, step) if step else Fraction(0)


def check(manifest: Manifest, read: ReadFiles) -> Iterator[str]:
    """Yield every fault of a package whose files were read."""
    for key in sorted((manifest.media_keys() | manifest.text_keys()) - manifest.files.keys()):
        yield f"{key}: is not among the files of the manifest"
    if not manifest.rungs:
        yield "the manifest has no rung"
    video: list[Measured] = []
    audio: list[Measured] = []
    for entry in manifest.rungs:
        yield from _track(entry, read, video)
    for track in manifest.audio:
        yield from _track(track, read, audio)
    yield from _video(manifest, video)
    yield from _audio(manifest, video, audio)
    yield from _targets(manifest, read)
    for rung in manifest.rungs:
        yield from _key_frames(rung, video, read)
    for captions in manifest.captions:
        yield from _captions(captions, read)
    yield from _master(manifest, video, audio, read)
    yield from _dash(manifest, video, audio, read)


def _track(entry: TrackEntry, read: ReadFiles, found: list[Measured]) -> Iterator[str]:
    """Join the chunks of a track into `found`, and compare its playlist with them."""
    init = read.boxes.get(entry.init)
    files = [read.boxes.get(chunk.key) for chunk in entry.chunks]
    if init is None or not files or None in files:
        yield f"{entry.name}: can't be checked, because its files can't be read"
        return
    segments: list[Segment] = []
    parts: list[hls.Part] = []
    for chunk in entry.chunks:
        boxes = read.boxes[chunk.key]
        if boxes.init_hash != init.init_hash:
            yield f"{chunk.key}: was made with other settings than {entry.init}, so they can't be joined"
        try:
            recorded = _recorded(boxes, chunk.segments)
        except MalformedBoxes as error:
            yield f"{chunk.key}: its segments are not as recorded: {error}"
            return
        segments += recorded
        parts += hls.segment_parts(chunk.key, map(_as_recorded, recorded), init.track.timescale)
        yield from _few(_recorded_wrongly(chunk, recorded))
    measured = Measured(entry.name, entry.init, entry.playlist, init.track, tuple(segments), tuple(parts))
    found.append(measured)
    yield from _few(_gaps(measured))
    yield from _few(_without_key_frame(measured))
    yield from _playlist(measured, read)


def _recorded(boxes: FragmentedMp4, recorded: Sequence[Sequence[int]]) -> tuple[Segment, ...]:
    """Group the fragments of a file into the segments that the manifest names."""
    offsets = [fragment.offset for fragment in boxes.segments]
    counts = []
    for offset, size, *_ in recorded:
        first, last = bisect_left(offsets, offset), bisect_left(offsets, offset + size)
        counts.append(sum(fragment.samples for fragment in boxes.segments[first:last]))
    return boxes.with_counts(counts).segments


def _as_recorded(segment: Segment) -> tuple[int, ...]:
    return (segment.offset, segment.size, segment.duration, segment.key_size)


def _recorded_wrongly(chunk: ChunkEntry, found: Sequence[Segment]) -> Iterator[str]:
    for number, (recorded, segment) in enumerate(zip(chunk.segments, found, strict=True)):
        if recorded != _as_recorded(segment):
            yield f"{chunk.key}: segment {number} is recorded as {recorded}, but is {_as_recorded(segment)}"


def _gaps(measured: Measured) -> Iterator[str]:
    expected = 0
    for number, (segment, part) in enumerate(zip(measured.segments, measured.parts, strict=True)):
        if segment.decode_time != expected:
            yield (
                f"{measured.name}: segment {number} ({part.uri} at byte {part.offset}) starts at tick"
                f" {segment.decode_time}, where the one before ends at {expected}"
            )
        expected = segment.end_time


def _without_key_frame(measured: Measured) -> Iterator[str]:
    for number, (segment, part) in enumerate(zip(measured.segments, measured.parts, strict=True)):
        if not segment.starts_with_sync:
            yield f"{measured.name}: segment {number} ({part.uri} at byte {part.offset}) starts without a key frame"


def _few(faults: Iterable[str]) -> Iterator[str]:
    return islice(faults, MAX_SAME_KIND)


def _playlist(measured: Measured, read: ReadFiles) -> Iterator[str]:
    playlist = read.texts.get(measured.playlist)
    if playlist is None:
        return
    try:
        found = hls_parser.parse_media_playlist(_text(playlist))
        yield from _head(measured.playlist, found, measured.init)
        if not found.independent:
            yield f"{measured.playlist}: EXT-X-INDEPENDENT-SEGMENTS is missing"
        yield from _few(_parts(measured.playlist, found.parts, measured.parts))
    except hls.MalformedPlaylist as error:
        yield f"{measured.playlist}: {error}"


def _targets(manifest: Manifest, read: ReadFiles) -> Iterator[str]:
    """Require one target duration for all (RFC 8216, section 6.2.4); that of captions may differ."""
    found: dict[str, str] = {}
    for entry in manifest.tracks:
        if target := TARGET.search(read.texts.get(entry.playlist, b"")):
            found.setdefault(target[1].decode(), entry.playlist)
    if len(found) > 1:
        yield "EXT-X-TARGETDURATION differs: " + ", ".join(f"{target} in {key}" for target, key in found.items())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _head(key: str, found: hls_parser.MediaPlaylist, init: str) -> Iterator[str]:
    if found.version != hls.VERSION:
        yield f"{key}: EXT-X-VERSION is {found.version}, not {hls.VERSION}"
    if found.kind != "VOD":
        yield f"{key}: EXT-X-PLAYLIST-TYPE is {found.kind or 'missing'}, not VOD"
    if not found.ended:
        yield f"{key}: EXT-X-ENDLIST is missing, so players would wait for more"
    if (longest := hls.target_duration(part.duration for part in found.parts)) > found.target:
        yield f"{key}: EXT-X-TARGETDURATION is {found.target}, but a segment lasts {longest} s"
    if (found.init_uri and hls.resolve_uri(key, found.init_uri)) != init:
        yield f"{key}: EXT-X-MAP is {found.init_uri or 'missing'}, not {init}"


def _parts(key: str, listed: Sequence[hls.Part], measured: Sequence[hls.Part]) -> Iterator[str]:
    if len(listed) != len(measured):
        yield f"{key}: lists {len(listed)} segments, but the files have {len(measured)}"
    for number, (part, real) in enumerate(zip(listed, measured, strict=False)):
        uri = hls.resolve_uri(key, part.uri)
        if (uri, part.offset, part.size) != (real.uri, real.offset, real.size):
            yield f"{key}: segment {number} is {part.size} bytes at {part.offset} of {uri}, not {_span(real)}"
        if abs(part.duration - real.duration) > TOLERANCE:
            yield f"{key}: segment {number} is listed as {_seconds(part.duration)} long, not {_seconds(real.duration)}"


def _span(part: hls.Part) -> str:
    return f"{part.size} at {part.offset} of {part.uri}"


def _seconds(duration: Fraction) -> str:
    return f"{float(duration):.6f} s"


def _video(manifest: Manifest, video: Sequence[Measured]) -> Iterator[str]:
    rate, source = manifest.rate, manifest.duration
    for rung in video:
        if rung.track.kind != "video":
            yield f"{rung.name}: is {rung.track.kind}, not video"
            continue
        if rung.samples != manifest.frames:
            yield f"{rung.name}: has {rung.samples} frames, {manifest.frames} were planned"
        if rung.frame_rate != rate:
            yield f"{rung.name}: has {rung.frame_rate or 'no constant number of'} frames a second, not {rate}"
        if abs(rung.duration - source) > 1 / rate:
            yield f"{rung.name}: lasts {_seconds(rung.duration)}, its source {_seconds(source)}"
        if abs(start := _start(rung)) > TOLERANCE:
            yield f"{rung.name}: its first frame is shown at {_seconds(start)}, not at zero"
        yield from _few(_uneven(video[0], rung))


def _start(measured: Measured) -> Fraction:
    first, track = measured.segments[0], measured.track
    return track.delay + Fraction(first.decode_time + first.composition - track.media_time, track.timescale)


def _uneven(one: Measured, other: Measured) -> Iterator[str]:
    """Yield segments whose ends differ between rungs: a player can't switch rungs there."""
    if len(one.parts) != len(other.parts):
        yield f"{other.name}: has {len(other.parts)} segments, {one.name} has {len(one.parts)}"
    for number, (part, peer) in enumerate(zip(one.parts, other.parts, strict=False)):
        if abs(part.duration - peer.duration) > TOLERANCE:
            yield (
                f"{other.name}: segment {number} lasts {_seconds(peer.duration)},"
                f" in {one.name} {_seconds(part.duration)}"
            )


def _audio(manifest: Manifest, video: Sequence[Measured], audio: Sequence[Measured]) -> Iterator[str]:
    wanted = {entry.name: entry.duration for entry in manifest.audio}
    for sound in audio:
        track = sound.track
        if track.kind != "audio":
            yield f"audio {sound.name}: is {track.kind}, not audio"
            continue
        duration = wanted[sound.name]
        expected = duration if duration is not None else video[0].duration if video else sound.duration
        lasts = track.delay + sound.duration - Fraction(track.media_time, track.timescale)
        if abs(lasts - expected) > Fraction(AAC_FRAME + track.media_time, track.timescale):
            yield f"audio {sound.name}: lasts {_seconds(lasts)}, not {_seconds(expected)}"


def _key_frames(rung: RungEntry, video: Sequence[Measured], read: ReadFiles) -> Iterator[str]:
    key = rung.key_frames
    measured = next((each for each in video if each.name == rung.name), None)
    if not key or measured is None or key not in read.texts:
        return
    try:
        found = hls_parser.parse_media_playlist(_text(read.texts[key]))
        yield from _head(key, found, rung.init)
        if not found.key_frames_only:
            yield f"{key}: EXT-X-I-FRAMES-ONLY is missing"
        yield from _few(_parts(key, found.parts, hls.key_frame_parts(measured.parts)))
    except hls.MalformedPlaylist as error:
        yield f"{key}: {error}"


def _captions(entry: CaptionsEntry, read: ReadFiles) -> Iterator[str]:
    for fault in webvtt.find_faults(read.texts[entry.file]) if entry.file in read.texts else ():
        yield f"{entry.file}: {fault}"
    if entry.playlist not in read.texts:
        return
    try:
        found = hls_parser.parse_media_playlist(_text(read.texts[entry.playlist]))
        yield from _head(entry.playlist, found, "")
        if [hls.resolve_uri(entry.playlist, part.uri) for part in found.parts] != [entry.file]:
            yield f"{entry.playlist}: does not list {entry.file} alone"
    except hls.MalformedPlaylist as error:
        yield f"{entry.playlist}: {error}"


def _master(manifest: Manifest, video: Sequence[Measured], audio: Sequence[Measured], read: ReadFiles) -> Iterator[str]:
    key = manifest.master
    if key not in read.texts:
        return
    try:
        found = hls_parser.parse_master_playlist(_text(read.texts[key]))
        yield from (f"{key}: {fault}" for fault in _master_faults(manifest, found, video, audio))
    except (hls.MalformedPlaylist, ValueError, ArithmeticError) as error:
        yield f"{key}: {error}"


def _master_faults(
    manifest: Manifest, found: hls_parser.MasterPlaylist, video: Sequence[Measured], audio: Sequence[Measured]
) -> Iterator[str]:
    if found.version != hls.VERSION or not found.independent:
        yield f"EXT-X-VERSION is {found.version}, or EXT-X-INDEPENDENT-SEGMENTS is missing"
    sound = [media for media in found.media if media.get("TYPE") == "AUDIO"]
    text = [media for media in found.media if media.get("TYPE") == "SUBTITLES"]
    key_frames = [rung.key_frames for rung in manifest.rungs if rung.key_frames]
    yield from _same_keys(manifest, "variants", found.variants, [rung.playlist for rung in manifest.rungs])
    yield from _same_keys(manifest, "audio tracks", sound, [entry.playlist for entry in manifest.audio])
    yield from _same_keys(manifest, "captions", text, [entry.playlist for entry in manifest.captions])
    yield from _same_keys(manifest, "key frame playlists", found.key_frames, key_frames)
    listed = {hls.resolve_uri(manifest.master, variant["URI"]): variant for variant in found.variants}
    for rung in video:
        if rung.playlist in listed:
            yield from (f"{rung.name}: {fault}" for fault in _variant(listed[rung.playlist], rung, audio))
            yield from (f"{rung.name}: {fault}" for fault in _groups(listed[rung.playlist], sound, text))


def _same_keys(
    manifest: Manifest, what: str, listed: Sequence[Mapping[str, str]], wanted: Sequence[str]
) -> Iterator[str]:
    found = [hls.resolve_uri(manifest.master, each.get("URI", "")) for each in listed]
    if sorted(found) != sorted(wanted):
        yield f"its {what} are {', '.join(found) or 'none'}, not {', '.join(wanted) or 'none'}"


def _variant(attributes: Mapping[str, str], rung: Measured, audio: Sequence[Measured]) -> Iterator[str]:
    measured = rung.rates + hls.max_rates(sound.rates for sound in audio)
    codecs = {rung.track.codec, *(sound.track.codec for sound in audio)}
    if (peak := int(attributes.get("BANDWIDTH", "0"))) < measured.peak:
        yield f"BANDWIDTH is {peak}, but the bytes need {measured.peak}"
    if abs((average := int(attributes.get("AVERAGE-BANDWIDTH", "0"))) - measured.average) * 100 > measured.average:
        yield f"AVERAGE-BANDWIDTH is {average}, measured were {measured.average}"
    if set(attributes.get("CODECS", "").split(",")) != codecs:
        yield f"CODECS is {attributes.get('CODECS', 'missing')}, but the bytes are {','.join(sorted(codecs))}"
    if attributes.get("RESOLUTION") != (size := f"{rung.track.width}x{rung.track.height}"):
        yield f"RESOLUTION is {attributes.get('RESOLUTION', 'missing')}, but the pictures are {size}"
    if abs(Fraction(attributes.get("FRAME-RATE", "0")) - rung.frame_rate) > TOLERANCE:
        yield f"FRAME-RATE is {attributes.get('FRAME-RATE', 'missing')}, not {float(rung.frame_rate):.3f}"


def _groups(
    attributes: Mapping[str, str], sound: Sequence[Mapping[str, str]], text: Sequence[Mapping[str, str]]
) -> Iterator[str]:
    for name, media in (("AUDIO", sound), ("SUBTITLES", text)):
        groups = {each.get("GROUP-ID") for each in media} or {None}
        if {attributes.get(name)} != groups:
            yield f"{name} is {attributes.get(name, 'missing')}, not {', '.join(map(str, groups))}"


def _dash(manifest: Manifest, video: Sequence[Measured], audio: Sequence[Measured], read: ReadFiles) -> Iterator[str]:
    key = manifest.dash
    if not key or key not in read.texts:
        return
    try:
        found = dash.parse_manifest(_text(read.texts[key]))
        for measured in [*video, *audio]:
            yield from _representation(key, found.representations.get(measured.name), measured)
        names = {entry.name for entry in manifest.tracks}
        if unknown := found.representations.keys() - names:
            yield f"{key}: has {', '.join(sorted(unknown))}, which the manifest does not name"
        if video and abs(found.duration - max(rung.duration for rung in video)) > TOLERANCE:
            yield f"{key}: is listed as {_seconds(found.duration)} long, not {_seconds(video[0].duration)}"
    except (dash.MalformedManifest, hls.MalformedPlaylist) as error:
        yield f"{key}: {error}"


def _representation(key: str, found: dash.Representation | None, measured: Measured) -> Iterator[str]:
    if found is None:
        yield f"{key}: {measured.name} is missing"
        return
    track = measured.track
    listed = (found.codec, found.width, found.height, found.timescale)
    if listed != (track.codec, track.width, track.height, track.timescale):
        yield f"{key}: {measured.name} is listed as {listed}, which its bytes are not"
    if found.bandwidth < measured.rates.peak:
        yield f"{key}: the bandwidth of {measured.name} is {found.bandwidth}, but the bytes need {measured.rates.peak}"
    if hls.resolve_uri(key, found.init_uri) != measured.init:
        yield f"{key}: {measured.name} begins with {found.init_uri}, not {measured.init}"
    yield from _few(_parts(key, _with_end(found.parts, measured.parts), measured.parts))


def _with_end(listed: Sequence[hls.Part], measured: Sequence[hls.Part]) -> Sequence[hls.Part]:
    """Return the parts of a DASH manifest, which has one length for all, with the measured length of the last one."""
    if len(listed) != len(measured) or len(listed) == 1:
        return listed
    return [*listed[:-1], replace(listed[-1], duration=measured[-1].duration)]
