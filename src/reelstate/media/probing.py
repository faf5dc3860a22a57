"""The other end of `probe.py`: looks at one source with PyAV and tells what it is. Run as a program of its own.

What demuxers and decoders do with a hostile file must not happen in a worker: here memory, time and files are limited,
nothing but the given source can be read, and nothing can be written. It imports nothing of this package, which would
take longer than the look itself. The two ends speak in frames over stdin and stdout:

    parent ── order (JSON) ──▶ child        the limits, and the source: a descriptor, or a size alone
    parent ◀── R offset length ── child     a part is wanted …
    parent ── D bytes ──▶ child             … and comes
    parent ◀── A answer (JSON) ── child     facts, or why there are none
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import resource
import struct
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.stream import Stream
    from av.video.stream import VideoStream

Facts = dict[str, Any]

WANTED: Final = struct.Struct(">cQI")
"""From the child: what it is (R, A), an offset, a length."""
GIVEN: Final = struct.Struct(">cI")
"""From the parent: D, a length."""
BOX: Final = struct.Struct(">I4sQ")
"""The head of a box of mp4: its length, its name, and a long length where the short one is 1."""

HEAD: Final = 64 * 1024
BUFFER: Final = 64 * 1024
LOOKED_AT: Final = 4
"""Frames that are decoded, for what only a frame tells."""
TRIED: Final = 100
"""Packets that are decoded at most to get them."""
MOST_BOXES: Final = 100
REORDERED: Final = 32
"""Of the packets that were read last, some that are shown before them may still be missing."""
STANDARD_RATES: Final = (
    *(Fraction(24_000, 1001), Fraction(24), Fraction(25), Fraction(30_000, 1001), Fraction(30), Fraction(48)),
    *(Fraction(50), Fraction(60_000, 1001), Fraction(60), Fraction(15), Fraction(12), Fraction(10), Fraction(100)),
    *(Fraction(120_000, 1001), Fraction(120), Fraction(240)),
)
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
"""The names that ffmpeg gives to the numbers of its enumerations."""
ROUNDED: Final = Fraction(1, 10_000)
"""How far off a stated rate may be; rates that differ by 1001/1000 are ten times as far apart."""
FULL_RANGE: Final = 2
PROGRESSIVE: Final = 1
TEXT_SUBTITLES: Final = frozenset({"subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text"})
EBML: Final = b"\x1a\x45\xdf\xa3"
SEGMENT: Final = b"\x18\x53\x80\x67"
CUES_ARE: Final = b"\x53\xab\x84\x1c\x53\xbb\x6b"
"""An entry of the table of contents that says where the cues are."""
_PLAYLIST: Final = re.compile(rb"\s*(#EXTM3U|ffconcat|<\?xml|<MPD|\[playlist\]|v=0\s)", re.IGNORECASE)
_MP4: Final = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip", b"styp", b"moof"})


class Refused(Exception):
    """The source is not taken; `kind` as in `errors.py`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Remote(io.RawIOBase):
    """The source as a file whose parts come from the parent."""

    def __init__(self, heard: BinaryIO, spoken: BinaryIO, size: int) -> None:
        self._heard, self._spoken, self._size = heard, spoken, size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def read(self, size: int = -1) -> bytes:
        length = max(0, min(size if size >= 0 else self._size, self._size - self._at))
        data = self._part(self._at, length) if length else b""
        self._at += len(data)
        return data

    def _part(self, offset: int, length: int) -> bytes:
        self._spoken.write(WANTED.pack(b"R", offset, length))
        self._spoken.flush()
        _, length = GIVEN.unpack(exactly(self._heard, GIVEN.size))
        return exactly(self._heard, length)


def exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) != length:
        raise EOFError
    return data


def main() -> None:
    heard, spoken = sys.stdin.buffer, sys.stdout.buffer
    order = json.loads(exactly(heard, GIVEN.unpack(exactly(heard, GIVEN.size))[1]))
    import av  # noqa: F401, PLC0415 - before the limits, which its files would not get past

    limit(order)
    source = _source(order, heard, spoken)
    answer = json.dumps(answered(order, source)).encode()
    spoken.write(WANTED.pack(b"A", 0, len(answer)) + answer)
    spoken.flush()


def _source(order: Facts, heard: BinaryIO, spoken: BinaryIO) -> BinaryIO:
    if order["descriptor"] is None:
        remote: Any = Remote(heard, spoken, order["size"])
        return remote  # type: ignore[no-any-return]  # a raw file is all that PyAV wants
    return os.fdopen(order["descriptor"], "rb", buffering=0)


def limit(order: Facts) -> None:
    """From here on nothing can be written or started, and little can be opened or used up."""
    for kind, amount in [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 16),
        (resource.RLIMIT_CPU, order["cpu_seconds"]),
        (resource.RLIMIT_AS, order["memory"]),
    ]:
        most = resource.getrlimit(kind)[1]
        # The hard limit stays where it is: over the soft one the kernel says why it ends the process.
        resource.setrlimit(kind, (amount if most == resource.RLIM_INFINITY else min(amount, most), most))


def answered(order: Facts, source: BinaryIO) -> Facts:
    look = {"probe": probed, "count": counted}[order["look"]]
    try:
        return {"facts": look(order, source), "memory": _memory()}
    except Refused as refused:
        return {"refused": {"kind": refused.kind, "message": str(refused)}, "memory": _memory()}
    except MemoryError:
        message = f"it takes more than {order['memory'] // 2**20:,} MiB of memory to look at"
        return {"refused": {"kind": "bomb", "message": message}, "memory": _memory()}


def _memory() -> int:
    """The most memory that was in use, in bytes. Linux counts what the parent had before the start in ru_maxrss."""
    with suppress(OSError), open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123 - no pathlib
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def probed(order: Facts, source: BinaryIO) -> Facts:
    """What the source is: the fields of `SourceFacts`."""
    size, head = order["size"], _head(source)
    if size == 0:
        raise Refused("empty", "it is empty")
    _check_matroska(head, size)
    fragmented = head[4:8] in _MP4 and is_fragmented(source)
    with opened(order, source, head) as container:
        _check_streams(order, container)
        video = _picture(container)
        _check_index(container, size)
        seen = _video(order, container, video, head, fragmented=fragmented) if video is not None else None
        length = _length(container, seen)
        return {
            "container": container.format.name,
            "size": size,
            "duration": str(length),
            "indexed": seen is not None and seen.pop("indexed"),
            "warnings": seen.pop("warnings") if seen is not None else [],
            "video": seen,
            "audio": [_audio(stream, length) for stream in _heard(container)],
            "subtitles": [_subtitle(stream) for stream in container.streams.subtitles],
            "streams": len(container.streams),
        }


def counted(order: Facts, source: BinaryIO) -> Facts:
    """What only a full read tells: how many frames there are, when, and how far apart."""
    head = _head(source)
    with opened(order, source, head) as container:
        _check_streams(order, container)
        video = _picture(container)
        if video is None:
            raise Refused("not_a_video", "there is no video in it")
        seen = Seen(whole=False)
        deque(_packets(container, video, seen), maxlen=0)
        if not seen.stamps or not seen.whole:
            raise Refused("damaged", f"it can't be read beyond its frame {len(seen.stamps):,}")
        return _count(seen, _base(video), _candidates(video))


def _count(seen: Seen, base: Fraction, candidates: Iterable[Fraction]) -> Facts:
    stamps = sorted(seen.stamps)
    rate, variable = settled_rate(stamps, base, candidates)
    first, end = stamps[0] * base, stamps[-1] * base + 1 / rate
    return {
        "frames": len(stamps),
        "start": str(first),
        "duration": str(end - first),
        "rate": str(rate),
        "variable_rate": variable,
        "longest_gop": _text(longest_gop(seen.keys, base, end)),
    }


def opened(order: Facts, source: BinaryIO, head: bytes) -> InputContainer:
    """The source as PyAV sees it. It may open nothing else, whatever the source says."""
    import av  # noqa: PLC0415 - only here, never in a worker
    from av.error import FFmpegError  # noqa: PLC0415

    av.logging.set_level(av.logging.ERROR)
    options = {
        "format_whitelist": order["demuxers"],
        "codec_whitelist": order["decoders"],
        "protocol_whitelist": "file",
        "max_pixels": str(order["max_pixels"]),
    }
    source.seek(0)
    try:
        return av.open(source, "r", options=options, io_open=_nothing, metadata_errors="replace", buffer_size=BUFFER)
    except (FFmpegError, OSError) as error:
        raise _refusal(error, head) from None


def _nothing(*_: object) -> None:
    raise PermissionError("a source may not name other files")


def _refusal(error: Exception, head: bytes) -> Refused:
    _, name, message = getattr(error, "log", None) or (0, "", "")
    if "not on whitelist" in message:
        return Refused("format", f"its format, {name.split(',')[0]}, is not allowed")
    if _PLAYLIST.match(head):
        return Refused("format", "it is a list of other files, not a video")
    if getattr(error, "errno", None) == errno.ENOMEM:
        return Refused("bomb", "it takes too much memory to look at")
    if head[4:8] in _MP4 or head.startswith(EBML):
        return Refused("truncated", f"it breaks off or is damaged: {message.strip() or type(error).__name__}")
    return Refused("not_a_video", "it is not a video, or none that is known here")


def _head(source: BinaryIO) -> bytes:
    source.seek(0)
    head = b""
    while len(head) < HEAD and (more := source.read(HEAD - len(head))):
        head += more
    return head


def _check_streams(order: Facts, container: InputContainer) -> None:
    if len(container.streams) > order["max_streams"]:
        raise Refused(
            "too_many_streams", f"it has {len(container.streams)} streams, the limit is {order['max_streams']}"
        )
    video: Any = _picture(container)
    if video is not None:
        _check_picture(order, video.codec_context)


def _check_picture(order: Facts, context: Any) -> None:
    name = "unknown" if context is None else context.name
    if name not in order["decoders"].split(","):
        raise Refused("codec", f"its video codec, {name}, is not allowed")
    if context.width * context.height > order["max_pixels"]:
        raise Refused("too_many_pixels", f"its picture is {context.width}×{context.height}")
    if not context.width * context.height:
        raise Refused("damaged", f"its picture can't be decoded, or has more than {order['max_pixels']:,} pixels")


def _check_index(container: InputContainer, size: int) -> None:
    """An index that names bytes beyond the end is of a longer file."""
    if not container.format.name.startswith("mov"):
        return
    end = max((_index_end(stream) for stream in container.streams), default=0)
    if end > size:
        raise Refused("truncated", f"it breaks off: its index speaks of {end:,} bytes, there are {size:,}")


def _index_end(stream: Stream) -> int:
    return max((entry.pos + entry.size for entry in stream.index_entries), default=0)


def _check_matroska(head: bytes, size: int) -> None:
    end = segment_end(head)
    if end is not None and end > size:
        raise Refused("truncated", f"it breaks off: it should have {end:,} bytes, there are {size:,}")


def segment_end(head: bytes) -> int | None:
    """Where the one segment of a Matroska file ends, if it says so."""
    if not head.startswith(EBML):
        return None
    length, at = _number(head, 4)
    at += length or 0
    if head[at : at + 4] != SEGMENT:
        return None
    length, at = _number(head, at + 4)
    return None if length is None else at + length


def _number(data: bytes, at: int) -> tuple[int | None, int]:
    """A length of EBML, None if it is left open, and where what follows begins."""
    if at >= len(data) or data[at] == 0:
        return None, at
    width = 9 - data[at].bit_length()
    value = int.from_bytes(data[at : at + width], "big") & ((1 << 7 * width) - 1)
    return (None if value == (1 << 7 * width) - 1 else value), at + width


def _is_cover(stream: Stream) -> bool:
    from av.stream import Disposition  # noqa: PLC0415

    return bool(stream.disposition & (Disposition.attached_pic | Disposition.timed_thumbnails))


def _picture(container: InputContainer) -> VideoStream | None:
    """The stream that ffmpeg calls 0:V:0."""
    return next((stream for stream in container.streams.video if not _is_cover(stream)), None)


@dataclass
class Seen:
    """What a read of packets has shown of the video."""

    stamps: list[int] = field(default_factory=list)
    """When frames are shown, in order."""
    keys: list[int] = field(default_factory=list)
    whole: bool = True
    """Whether it went to the end."""
    position: int = 0
    """How far into the file it went."""
    frames: list[Any] = field(default_factory=list)


def _video(order: Facts, container: InputContainer, video: VideoStream, head: bytes, *, fragmented: bool) -> Facts:
    base, warnings = _base(video), []
    listed = _has_whole_index(container, video, fragmented=fragmented)
    indexed = listed or _has_cues(container, head)
    seen = _listed(order, container, video) if listed else _read(order, container, video)
    if not seen.stamps:
        raise Refused("damaged", "its video has no frames that can be read")
    rate, variable = settled_rate(seen.stamps, base, _candidates(video))
    length = _stream_length(container, video)
    if length is None:
        length = (seen.stamps[-1] - seen.stamps[0]) * base + 1 / rate
        if not seen.whole:
            length = _estimated(length, seen.position, order["size"])
            warnings.append("its length is estimated")
    if not seen.frames:
        warnings.append("its first frames can't be decoded")
    start = (seen.stamps[0] if video.start_time is None else video.start_time) * base
    keys = _cues(container, video) if _has_cues(container, head) else seen.keys
    end = seen.stamps[-1] * base + 1 / rate if seen.whole else start + length
    return {
        **_look(video, seen.frames, warnings),
        "rate": str(rate),
        "variable_rate": variable,
        "frames": len(seen.stamps) if seen.whole else None,
        "start": str(start),
        "duration": str(length),
        "longest_gop": _text(longest_gop(keys, base, end)) if indexed or seen.whole else None,
        "indexed": indexed,
        "warnings": warnings,
    }


def _listed(order: Facts, container: InputContainer, video: VideoStream) -> Seen:
    """What the index tells of all frames; a few are decoded."""
    frames = _read(order, container, video, most=TRIED).frames
    stamps = [entry.timestamp for entry in video.index_entries if not entry.is_discard]
    keys = [entry.timestamp for entry in video.index_entries if entry.is_keyframe]
    return Seen(stamps=sorted(stamps), keys=keys, frames=frames)


def _read(order: Facts, container: InputContainer, video: VideoStream, *, most: int | None = None) -> Seen:
    """What the first packets tell; a few are decoded."""
    seen = Seen(whole=False)
    most = most or order["packets"]
    video.codec_context.thread_count = 1
    video.codec_context.options = {"max_pixels": str(order["max_pixels"])}
    for packet in _packets(container, video, seen):
        if len(seen.frames) < LOOKED_AT and len(seen.stamps) <= TRIED:
            seen.frames += _decoded(packet)
        if most == TRIED and len(seen.frames) >= LOOKED_AT:
            break
        if len(seen.stamps) >= most or seen.position > order["scan_bytes"]:
            break
    if seen.whole and len(seen.frames) < LOOKED_AT:
        seen.frames += _decoded(video)
    seen.stamps.sort()
    if not seen.whole:
        del seen.stamps[max(2, len(seen.stamps) - REORDERED) :]
    return seen


def _packets(container: InputContainer, video: VideoStream, seen: Seen) -> Iterator[Any]:
    """The packets of the video with what they tell noted; a file that breaks in between is not read whole."""
    from av.error import FFmpegError  # noqa: PLC0415

    try:
        for packet in container.demux(video):
            stamp = packet.dts if packet.pts is None else packet.pts
            if packet.size and stamp is not None and not packet.is_discard:
                seen.stamps.append(stamp)
                seen.keys += [stamp] if packet.is_keyframe else []
                seen.position = max(seen.position, packet.pos or 0)
                yield packet
    except FFmpegError:
        return
    seen.whole = True


def _decoded(source: Any) -> list[Any]:
    """The frames of a packet, or the last ones of a stream; none if they are damaged."""
    from av.error import FFmpegError  # noqa: PLC0415

    try:
        frames: list[Any] = source.decode()
    except FFmpegError:
        return []
    return frames


def _look(video: VideoStream, frames: Sequence[Any], warnings: list[str]) -> Facts:
    """What the picture is like; what the container does not say, the first frame may."""
    context = video.codec_context
    frame = frames[0] if frames else None
    angle = -round(frame.rotation) % 360 if frame is not None else 0
    if angle % 90:
        warnings.append(f"it is turned by {angle} degrees, which is taken for {round(angle / 90) * 90 % 360}")
    pixels = context.pix_fmt or "yuv420p"
    return {
        "index": video.index,
        "codec": context.codec.canonical_name,
        "width": context.width,
        "height": context.height,
        "rotation": round(angle / 90) * 90 % 360,
        "sample_aspect": str(video.sample_aspect_ratio or 1),
        "pixel_format": pixels,
        "bits": context.format.components[0].bits if context.format else 8,
        "transfer": _named(TRANSFERS, context.color_trc, frame and frame.color_trc),
        "primaries": _named(PRIMARIES, context.color_primaries, frame and frame.color_primaries),
        "matrix": _named(MATRICES, context.colorspace, frame and frame.colorspace),
        "full_range": context.color_range == FULL_RANGE or pixels.startswith("yuvj"),
        "interlaced": context.field_order > PROGRESSIVE or any(frame.interlaced_frame for frame in frames),
    }


def _named(names: Sequence[str], *numbers: Any) -> str:
    known = (names[int(number)] for number in numbers if number is not None and 0 <= int(number) < len(names))
    return next(filter(None, known), "unknown")


def is_fragmented(source: BinaryIO) -> bool:
    """Whether an mp4 goes on in fragments after its index, if it has one; only the heads of its boxes are read."""
    at = 0
    for _ in range(MOST_BOXES):
        source.seek(at)
        head = source.read(BOX.size)
        if len(head) < BOX.size:
            return False
        length, name, long = BOX.unpack(head)
        if name == b"moof":
            return True
        if length == 0:
            return False
        at += max(long if length == 1 else length, BOX.size // 2)
    return False


def _has_whole_index(container: InputContainer, video: VideoStream, *, fragmented: bool) -> bool:
    """Whether the file begins or ends with a table of all its frames, which one in fragments does not."""
    if not container.format.name.startswith("mov") or not video.frames:
        return False
    return not fragmented


def _has_cues(container: InputContainer, head: bytes) -> bool:
    return container.format.name.startswith("matroska") and CUES_ARE in head and segment_end(head) is not None


def _cues(container: InputContainer, video: VideoStream) -> list[int]:
    """The key frames that a Matroska file lists; the list is read by the first seek."""
    from av.error import FFmpegError  # noqa: PLC0415

    with suppress(FFmpegError):
        container.seek(0, stream=video)
    return [entry.timestamp for entry in video.index_entries if entry.is_keyframe]


def _length(container: InputContainer, video: Facts | None) -> Fraction:
    """How long the whole is: what the container says, or what its video comes to."""
    shown = Fraction(video["duration"]) if video is not None else Fraction(0)
    return max(shown, Fraction(container.duration, 1_000_000)) if container.duration else shown


def _stream_length(container: InputContainer, stream: Stream) -> Fraction | None:
    if stream.duration:
        return stream.duration * _base(stream)
    if tagged := _clock(stream.metadata.get("DURATION", "")):
        return max(tagged - (stream.start_time or 0) * _base(stream), Fraction(0)) or None
    return Fraction(container.duration, 1_000_000) if container.duration else None


def _clock(text: str) -> Fraction:
    found = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", text)
    return int(found[1]) * 3600 + int(found[2]) * 60 + Fraction(found[3]) if found else Fraction(0)


def _estimated(length: Fraction, position: int, size: int) -> Fraction:
    return length * Fraction(size, position) if 0 < position < size else length


def _heard(container: InputContainer) -> list[Any]:
    streams: Sequence[Any] = container.streams.audio
    return [stream for stream in streams if stream.codec_context is not None]


def _audio(stream: Any, length: Fraction) -> Facts:
    context = stream.codec_context
    own = stream.duration * _base(stream) if stream.duration else length
    return {
        "index": stream.index,
        "codec": context.codec.canonical_name,
        "channels": context.channels,
        "layout": context.layout.name,
        "sample_rate": context.sample_rate or 0,
        "start": str((stream.start_time or 0) * _base(stream)),
        "duration": str(own),
        **_labels(stream),
    }


def _subtitle(stream: Any) -> Facts:
    from av.stream import Disposition  # noqa: PLC0415

    codec = stream.codec_context.codec.canonical_name if stream.codec_context else "unknown"
    return {
        "index": stream.index,
        "codec": codec,
        "text": codec in TEXT_SUBTITLES,
        "forced": bool(stream.disposition & Disposition.forced),
        **_labels(stream),
    }


def _labels(stream: Stream) -> Facts:
    from av.stream import Disposition  # noqa: PLC0415

    language = stream.language or ""
    return {
        "language": "" if language == "und" else language,
        "title": stream.metadata.get("title", "")[:200],
        "default": bool(stream.disposition & Disposition.default),
    }


def _base(stream: Stream) -> Fraction:
    return stream.time_base or Fraction(1, 1_000_000)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _candidates(video: VideoStream) -> list[Fraction]:
    """What the container and the decoder say; a rate that was rounded on its way is taken for what it was."""
    said = [rate for rate in (video.guessed_rate, video.average_rate, video.base_rate) if rate]
    meant = [standard for rate in said for standard in STANDARD_RATES if abs(standard - rate) <= rate * ROUNDED]
    return [*meant, *said]


def settled_rate(stamps: Sequence[int], base: Fraction, candidates: Iterable[Fraction]) -> tuple[Fraction, bool]:
    """The rate at which every frame is in its place, or the average, and whether it varies. Stamps are in order."""
    steps, span = len(stamps) - 1, (stamps[-1] - stamps[0]) * base
    if steps < 1 or span <= 0:
        return next(iter(candidates), Fraction(25)), False
    average = steps / span
    near = [rate for rate in STANDARD_RATES if abs(rate - average) * 50 <= average]
    for rate in (*candidates, *near, average):
        if is_steady(stamps, base, rate):
            return rate, False
    return average, True


def is_steady(stamps: Sequence[int], base: Fraction, rate: Fraction) -> bool:
    """Whether frames come at this rate, as exactly as their stamps can say, or to the twentieth of a frame."""
    tick, step = base.numerator * rate.numerator, base.denominator * rate.denominator
    late = early = stamps[0] * tick
    most = max(tick, step // 20)
    for number, stamp in enumerate(stamps):
        off = stamp * tick - number * step
        if off > late:
            late = off
        elif off < early:
            early = off
        if late - early > most:
            return False
    return True


def longest_gop(keys: Sequence[int], base: Fraction, end: Fraction) -> Fraction | None:
    """The longest time from one key frame to the next, or to the end."""
    if not keys:
        return None
    ordered = sorted(keys)
    gaps = [(later - earlier) * base for earlier, later in pairwise(ordered)]
    return max([*gaps, end - ordered[-1] * base])


if __name__ == "__main__":
    main()
