"""Read the facts of a source: the documents of `SourceFacts` and `FrameCount`."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, BinaryIO, Final

from av.container import InputContainer
from av.error import FFmpegError
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from . import containers
from .frame_times import candidate_rates, find_rate, grid_rates, longest_gop
from .packets import (
    PacketScan,
    check_streams,
    decode,
    is_cover,
    limit_decoder,
    open_container,
    scan_packets,
    time_base,
    video_stream,
)
from .protocol import Facts, Refused, Request

SAMPLED_FRAMES: Final = 4
"""Frames that are decoded for what only a frame tells."""
MAX_SAMPLED_PACKETS: Final = 100
"""Packets that are decoded at most to get them."""
REORDERED: Final = 32
"""Frames shown before the last packets of an incomplete scan may still be missing."""
TRANSFERS: Final = (
    *("", "bt709", "", "", "bt470m", "bt470bg", "smpte170m", "smpte240m", "linear", "log100", "log316"),
    *("iec61966-2-4", "bt1361e", "iec61966-2-1", "bt2020-10", "bt2020-12", "smpte2084", "smpte428", "arib-std-b67"),
)
PRIMARIES: Final = (
    *("", "bt709", "", "", "bt470m", "bt470bg", "smpte170m", "smpte240m", "film", "bt2020", "smpte428", "smpte431"),
    *("smpte432", *("",) * 9, "ebu3213"),
)
MATRICES: Final = (
    *("gbr", "bt709", "", "", "fcc", "bt470bg", "smpte170m", "smpte240m", "ycgco", "bt2020nc", "bt2020c"),
    *("smpte2085", "chroma-derived-nc", "chroma-derived-c", "ictcp"),
)
"""ffmpeg's names of the values of its enumerations."""
FULL_RANGE: Final = 2
PROGRESSIVE: Final = 1
TEXT_SUBTITLES: Final = frozenset({"subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text"})


def probe(request: Request, source: BinaryIO) -> Facts:
    """Return the fields of `SourceFacts`."""
    size, head = request["size"], containers.read_head(source)
    if size == 0:
        raise Refused("empty", "it is empty")
    containers.check_segment_size(head, size)
    index = containers.read_index(source, head)
    containers.check_encryption(index)
    containers.check_dolby_vision(index)
    fragmented = containers.is_mp4(head) and containers.is_fragmented(source)
    with open_container(request, source, head) as container:
        check_streams(request, container)
        video = video_stream(container)
        _check_index_size(container, size)
        facts = _video(request, container, video, head, fragmented=fragmented) if video is not None else None
        duration = _duration(container, facts)
        return {
            "container": container.format.name,
            "size": size,
            "duration": str(duration),
            "indexed": facts is not None and facts.pop("indexed"),
            "warnings": facts.pop("warnings") if facts is not None else [],
            "video": facts,
            "audio": [_audio(container, stream, duration) for stream in container.streams.audio],
            "subtitles": [_subtitle(stream) for stream in container.streams.subtitles],
            "others": [
                _other(stream)
                for stream in container.streams
                if stream.type not in ("audio", "subtitle") and stream != video
            ],
            "streams": len(container.streams),
        }


def count_frames(request: Request, source: BinaryIO) -> Facts:
    """Read every packet of the video and return the fields of `FrameCount`."""
    head = containers.read_head(source)
    with open_container(request, source, head) as container:
        check_streams(request, container)
        video = video_stream(container)
        if video is None:
            raise Refused("not_a_video", "there is no video in it")
        scan = PacketScan(complete=False)
        deque(scan_packets(container, video, scan), maxlen=0)
        if not scan.timestamps or not scan.complete:
            raise Refused("damaged", f"it can't be read beyond its frame {len(scan.timestamps):,}")
        base, timestamps = time_base(video), sorted(scan.timestamps)
        rate, variable = find_rate(timestamps, base, _stated_rates(video))
        start, end = timestamps[0] * base, timestamps[-1] * base + 1 / rate
        return {
            "frames": len(timestamps),
            "start": str(start),
            "duration": str(end - start),
            "rate": str(rate),
            "variable_rate": variable,
            "rates": _rates_json(grid_rates(timestamps, base)) if variable else [],
            "longest_gop": _fraction_json(longest_gop(scan.key_frames, base, end)),
        }


def _check_index_size(container: InputContainer, size: int) -> None:
    """Refuse an MP4 whose index refers to bytes beyond its end."""
    if not container.format.name.startswith("mov"):
        return
    end = max((entry.pos + entry.size for stream in container.streams for entry in stream.index_entries), default=0)
    if end > size:
        raise Refused("truncated", f"it is truncated: its index refers to {end:,} bytes, but it has {size:,}")


def _video(request: Request, container: InputContainer, video: VideoStream, head: bytes, *, fragmented: bool) -> Facts:
    base, warnings = time_base(video), []
    lists_frames = container.format.name.startswith("mov") and bool(video.frames) and not fragmented
    has_cues = container.format.name.startswith("matroska") and containers.has_cues(head)
    indexed = lists_frames or has_cues
    scan = _scan_index(request, container, video) if lists_frames else _scan_start(request, container, video)
    if not scan.timestamps:
        raise Refused("damaged", "its video has no frames that can be read")
    rate, variable = find_rate(scan.timestamps, base, _stated_rates(video))
    duration = _tagged_duration(video) if scan.complete and not lists_frames else _stream_duration(container, video)
    if duration is None:
        duration = (scan.timestamps[-1] - scan.timestamps[0]) * base + 1 / rate
        if not scan.complete:
            duration = _extrapolate(duration, scan.position, request["size"])
            warnings.append("its duration is estimated")
    if not scan.frames:
        warnings.append("its first frames can't be decoded")
    start = (scan.timestamps[0] if video.start_time is None else video.start_time) * base
    key_frames = _read_cues(container, video) if has_cues else scan.key_frames
    end = scan.timestamps[-1] * base + 1 / rate if scan.complete else start + duration
    return {
        **_picture(video, scan.frames, warnings),
        "rate": str(rate),
        "variable_rate": variable,
        "rates": _rates_json(grid_rates(scan.timestamps, base)) if variable else [],
        "frames": len(scan.timestamps) if scan.complete else None,
        "start": str(start),
        "duration": str(duration),
        "longest_gop": _fraction_json(longest_gop(key_frames, base, end)) if indexed or scan.complete else None,
        "indexed": indexed,
        "warnings": warnings,
    }


def _scan_index(request: Request, container: InputContainer, video: VideoStream) -> PacketScan:
    """Read all frame times from the index, and decode a few frames."""
    frames = _scan_start(request, container, video, max_packets=MAX_SAMPLED_PACKETS).frames
    timestamps = [entry.timestamp for entry in video.index_entries if not entry.is_discard]
    key_frames = [entry.timestamp for entry in video.index_entries if entry.is_keyframe]
    return PacketScan(timestamps=sorted(timestamps), key_frames=key_frames, frames=frames)


def _scan_start(
    request: Request, container: InputContainer, video: VideoStream, *, max_packets: int | None = None
) -> PacketScan:
    """Read the first packets, and decode a few frames."""
    scan = PacketScan(complete=False)
    limit = max_packets or request["packets"]
    limit_decoder(request, video)
    for packet in scan_packets(container, video, scan):
        if len(scan.frames) < SAMPLED_FRAMES and len(scan.timestamps) <= MAX_SAMPLED_PACKETS:
            scan.frames += decode(packet) or []
        if limit == MAX_SAMPLED_PACKETS and len(scan.frames) >= SAMPLED_FRAMES:
            break
        if len(scan.timestamps) >= limit or scan.position > request["scan_bytes"]:
            break
    if scan.complete and len(scan.frames) < SAMPLED_FRAMES:
        scan.frames += decode(video) or []
    scan.timestamps.sort()
    if not scan.complete:
        del scan.timestamps[max(2, len(scan.timestamps) - REORDERED) :]
    return scan


def _picture(video: VideoStream, frames: Sequence[Any], warnings: list[str]) -> Facts:
    """Return size, orientation and colours; the first frame adds what the container does not state."""
    context = video.codec_context
    frame = frames[0] if frames else None
    angle = -round(frame.rotation) % 360 if frame is not None else 0
    rotation = round(angle / 90) * 90 % 360
    if angle % 90:
        warnings.append(f"it is rotated by {angle} degrees, rounded to {rotation}")
    pixels = context.pix_fmt or "yuv420p"
    return {
        "index": video.index,
        "codec": context.codec.canonical_name,
        "width": context.width,
        "height": context.height,
        "rotation": rotation,
        "sample_aspect": str(video.sample_aspect_ratio or 1),
        "pixel_format": pixels,
        "bits": context.format.components[0].bits if context.format else 8,
        "transfer": _enum_name(TRANSFERS, context.color_trc, frame and frame.color_trc),
        "primaries": _enum_name(PRIMARIES, context.color_primaries, frame and frame.color_primaries),
        "matrix": _enum_name(MATRICES, context.colorspace, frame and frame.colorspace),
        "full_range": context.color_range == FULL_RANGE or pixels.startswith("yuvj"),
        "interlaced": context.field_order > PROGRESSIVE or any(frame.interlaced_frame for frame in frames),
    }


def _enum_name(names: Sequence[str], *values: Any) -> str:
    known = (names[int(value)] for value in values if value is not None and 0 <= int(value) < len(names))
    return next(filter(None, known), "unknown")


def _read_cues(container: InputContainer, video: VideoStream) -> list[int]:
    """Return the key frames that a Matroska file lists; the first seek reads the list."""
    with suppress(FFmpegError):
        container.seek(0, stream=video)
    return [entry.timestamp for entry in video.index_entries if entry.is_keyframe]


def _duration(container: InputContainer, video: Facts | None) -> Fraction:
    """Return the longer of the durations of the container and of its video."""
    duration = Fraction(video["duration"]) if video is not None else Fraction(0)
    return max(duration, Fraction(container.duration, 1_000_000)) if container.duration else duration


def _stream_duration(container: InputContainer, stream: Stream) -> Fraction | None:
    if tagged := _tagged_duration(stream):
        return tagged
    if stream.duration:
        return stream.duration * time_base(stream)
    return Fraction(container.duration, 1_000_000) if container.duration else None


def _tagged_duration(stream: Stream) -> Fraction | None:
    """Return the duration in the DURATION tag of a Matroska stream, which counts from 0."""
    found = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if found is None:
        return None
    end = int(found[1]) * 3600 + int(found[2]) * 60 + Fraction(found[3])
    return max(end - (stream.start_time or 0) * time_base(stream), Fraction(0)) or None


def _extrapolate(duration: Fraction, position: int, size: int) -> Fraction:
    return duration * Fraction(size, position) if 0 < position < size else duration


def _audio(container: InputContainer, stream: Any, duration: Fraction) -> Facts:
    """Return the fields of `AudioFacts`; a stream of an unknown codec has no channels."""
    context = stream.codec_context
    return {
        "index": stream.index,
        "codec": _codec(stream) or "unknown",
        "channels": context.channels if context else 0,
        "layout": context.layout.name if context else "",
        "sample_rate": (context.sample_rate or 0) if context else 0,
        "start": str((stream.start_time or 0) * time_base(stream)),
        "duration": str(_stream_duration(container, stream) or duration),
        **_labels(stream),
    }


def _subtitle(stream: Any) -> Facts:
    codec = _codec(stream) or "unknown"
    return {
        "index": stream.index,
        "codec": codec,
        "text": codec in TEXT_SUBTITLES,
        "forced": bool(stream.disposition & Disposition.forced),
        **_labels(stream),
    }


def _other(stream: Stream) -> Facts:
    kind = stream.type if stream.type in ("video", "attachment") else "data"
    return {"index": stream.index, "kind": "cover" if is_cover(stream) else kind, "codec": _codec(stream)}


def _codec(stream: Any) -> str:
    """Return the name of the codec of a stream; "" if it is unknown."""
    context = stream.codec_context
    return "" if context is None else context.codec.canonical_name


def _labels(stream: Stream) -> Facts:
    language = stream.language or ""
    return {
        "language": "" if language == "und" else language,
        "title": stream.metadata.get("title", "")[:200],
        "default": bool(stream.disposition & Disposition.default),
        "commentary": bool(stream.disposition & Disposition.comment),
    }


def _stated_rates(video: VideoStream) -> list[Fraction]:
    return candidate_rates((video.guessed_rate, video.average_rate, video.base_rate))


def _fraction_json(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _rates_json(rates: Iterable[tuple[Fraction, int]]) -> list[tuple[str, int]]:
    return [(str(rate), hidden) for rate, hidden in rates]
