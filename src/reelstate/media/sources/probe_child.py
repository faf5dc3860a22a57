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
from bisect import bisect_left
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
HARD: Final = 5
"""CPU seconds between the signal that says enough and the one that ends it."""
LOOKED_AT: Final = 4
"""Frames that are decoded, for what only a frame tells."""
TRIED: Final = 100
"""Packets that are decoded at most to get them."""
MAX_BOXES: Final = 100
MAX_SPANS: Final = 100
"""Damaged spans that are listed; all are counted."""
MAX_RESYNCS: Final = 10_000
"""How often a demuxer may give up and be asked to go on in one file."""
REORDERED: Final = 32
"""Of the packets that were read last, some that are shown before them may still be missing."""
STANDARD_RATES: Final = (
    *(Fraction(24_000, 1001), Fraction(24), Fraction(25), Fraction(30_000, 1001), Fraction(30), Fraction(48)),
    *(Fraction(50), Fraction(60_000, 1001), Fraction(60), Fraction(15), Fraction(12), Fraction(10), Fraction(100)),
    *(Fraction(120_000, 1001), Fraction(120), Fraction(240)),
)
SLOW_RATES: Final = (Fraction(15), Fraction(12), Fraction(10))
GRID_RATES: Final = (*sorted({*STANDARD_RATES} - {*SLOW_RATES, Fraction(240)}), *SLOW_RATES)
"""What a rate that varies may become; a slow one where a profile allows no other."""
ODD_STEPS: Final = Fraction(1, 100)
"""Of all steps from a frame to the next, how many may be odd in a source whose rate is still called steady."""
JUMPING: Final = frozenset({"mpegts", "mpeg"})
"""Formats whose times may begin anew within a file, where two recordings were joined."""
LONGEST_STEP: Final = 10
"""Seconds between two packets of such a format, above which the later one belongs to another recording."""
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
MAX_INDEX: Final = 16 * 1024 * 1024
"""Bytes of an index in which descriptions of tracks are looked for."""
DOLBY_VISION_ALONE: Final = 5
_DOLBY_VISION: Final = re.compile(
    rb"\x00\x00\x00\x20dv[cvw]C(.{24})|\x41\xe7\x84dv[cvw]C.{0,40}?\x41\xed.(.{5})", re.DOTALL
)
"""The configuration record of Dolby Vision, in an mp4 and in a Matroska file."""
_ENCRYPTED: Final = re.compile(rb"sinf.{4}frma|\x62\x40.{1,20}?\x50\x33\x81\x01", re.DOTALL)
"""Protection of a track: in an mp4 the original format of its samples, in a Matroska file the type of its encoding."""
TS_PACKET: Final = 188
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
    """From here on nothing can be written or started, and little can be opened or used up. There is no way back."""
    cpu = order["cpu_seconds"]
    for kind, soft, hard in [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_NOFILE, 16, 16),
        (resource.RLIMIT_CPU, cpu, cpu + HARD),  # over the soft one the kernel says why it ends the process
        (resource.RLIMIT_AS, order["memory"], order["memory"]),
    ]:
        most = resource.getrlimit(kind)[1]
        within = (soft, hard) if most == resource.RLIM_INFINITY else (min(soft, most), min(hard, most))
        resource.setrlimit(kind, within)


def answered(order: Facts, source: BinaryIO) -> Facts:
    look = {"probe": probed, "count": counted, "decode": decoded}[order["look"]]
    try:
        return {"facts": look(order, source), "memory": _memory()}
    except Refused as refused:
        return {"refused": {"kind": refused.kind, "message": str(refused)}, "memory": _memory()}
    except MemoryError:
        message = f"it takes more than {order['memory'] // 2**20:,} MiB of memory to look at"
        return {"refused": {"kind": "bomb", "message": message}, "memory": _memory()}
    except Exception as error:  # noqa: BLE001 - whatever a damaged file leads the library to, it is an answer
        message = f"it can't be read: {type(error).__name__}: {error}"[:200]
        return {"refused": {"kind": "damaged", "message": message}, "memory": _memory()}


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
    index = _index(source, head)
    _check_encryption(index)
    _check_shown_to_all(index)
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
            "audio": [_audio(container, stream, length) for stream in container.streams.audio],
            "subtitles": [_subtitle(stream) for stream in container.streams.subtitles],
            "others": [_other(stream) for stream in _unused(container, video)],
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
        "rates": _texts(grid_rates(stamps, base)) if variable else [],
        "longest_gop": _text(longest_gop(seen.keys, base, end)),
    }


def decoded(order: Facts, source: BinaryIO) -> Facts:
    """What of one stream is damaged between two times, found by decoding it: see `damage`."""
    start, end, step = (Fraction(order[name]) for name in ("start", "end", "step"))
    with opened(order, source, _head(source)) as container:
        stream = container.streams[order["stream"]]
        seen = Decoded(step=_audio_step(stream) or step)
        is_video = stream.type == "video"
        _decode(order, container, stream, (start, end), seen)
    spans = damage(seen, start, end, matched=is_video)
    shown = [piece for piece in seen.pieces if start <= piece.time < end]
    return {
        "errors": sum(piece.failed for piece in shown),
        "corrupt": sum(start <= time < end for time in seen.corrupt),
        "seconds": str(sum((last - first for first, last in spans), Fraction(0))),
        "spans": [[str(first), str(last)] for first, last in spans[:MAX_SPANS]],
    }


@dataclass
class Piece:
    """A packet of a stream: when it is shown, and what happened to it."""

    time: Fraction
    failed: bool = False
    """The decoder refused it."""
    near_error: bool = False
    """The demuxer met damage while it looked for it."""


@dataclass
class Decoded:
    """What decoding a part of a stream has shown."""

    step: Fraction
    """How long one frame lasts."""
    pieces: list[Piece] = field(default_factory=list)
    good: list[Fraction] = field(default_factory=list)
    """The times of undamaged frames."""
    corrupt: list[Fraction] = field(default_factory=list)
    """The times of frames in which the decoder had to conceal errors."""


def _audio_step(stream: Any) -> Fraction | None:
    context = stream.codec_context
    frame = getattr(context, "frame_size", 0) if stream.type == "audio" else 0
    return Fraction(frame, context.sample_rate) if frame and context.sample_rate else None


def _decode(
    order: Facts, container: InputContainer, stream: Any, span: tuple[Fraction, Fraction], seen: Decoded
) -> None:
    """Decode from the key frame before a span to the first packet after it."""
    import av  # noqa: PLC0415
    from av.error import FFmpegError  # noqa: PLC0415

    base = _base(stream)
    stream.codec_context.thread_count = 1
    stream.codec_context.options = {"max_pixels": str(order["max_pixels"])}
    with suppress(FFmpegError):
        container.seek(int(span[0] / base), stream=stream)
    with av.logging.Capture(local=True) as log:
        for packet in _every_packet(container, stream):
            stamp = packet.dts if packet.pts is None else packet.pts
            piece = Piece(stamp * base, near_error=_demuxer_complained(container, log)) if stamp is not None else None
            log.clear()
            failed = _decode_packet(packet, seen, base)
            if piece is not None and packet.size:
                piece.failed = failed
                seen.pieces.append(piece)
            if packet.dts is not None and packet.dts * base >= span[1]:
                break
        _decode_packet(stream, seen, base)


def _every_packet(container: InputContainer, stream: Any) -> Iterator[Any]:
    """All packets of a stream, also those behind a damaged place that the demuxer has to search its way out of."""
    from av.error import BlockingIOError, FFmpegError  # noqa: A004, PLC0415

    for _ in range(MAX_RESYNCS):
        try:
            yield from container.demux(stream)
        except BlockingIOError:
            continue
        except (FFmpegError, LookupError):  # PyAV does not know streams that a file begins in its middle
            return
        return


def _demuxer_complained(container: InputContainer, log: Iterable[tuple[int, str, str]]) -> bool:
    return any(name == container.format.name for _, name, _ in log)


def _decode_packet(source: Any, seen: Decoded, base: Fraction) -> bool:
    """Note the frames of a packet, or the last ones of a stream; whether the decoder refused it."""
    from av.error import FFmpegError  # noqa: PLC0415

    try:
        frames = source.decode()
    except FFmpegError:
        return True
    for frame in frames:
        if frame.pts is not None:
            (seen.corrupt if frame.is_corrupt else seen.good).append(frame.pts * base)
    return False


def damage(seen: Decoded, start: Fraction, end: Fraction, *, matched: bool) -> list[tuple[Fraction, Fraction]]:
    """The spans between two times in which a stream does not show what it should, in order.

    Damaged is a packet that the decoder refused, a frame with concealed errors, and, where frames can be `matched` to
    packets by their time, a packet of which no frame came. So is a gap between packets, if one beside it is damaged or
    the demuxer met an error there: without such evidence a gap is a pause that the source has by itself.
    """
    good, corrupt = sorted(seen.good), sorted(seen.corrupt)
    pieces = sorted(seen.pieces, key=lambda piece: piece.time)
    near = seen.step * 3 / 4
    bad = [
        piece.failed
        or _has_near(corrupt, piece.time, seen.step / 4)
        or (matched and not _has_near(good, piece.time, near))
        for piece in pieces
    ]
    spans = [(piece.time, piece.time + seen.step) for piece, is_bad in zip(pieces, bad, strict=True) if is_bad]
    for number, (earlier, later) in enumerate(pairwise(pieces)):
        evidence = bad[number] or bad[number + 1] or earlier.near_error or later.near_error
        if evidence and later.time - earlier.time > seen.step * 3 / 2:
            spans.append((earlier.time + seen.step, later.time))
    return _merged(spans, start, end, seen.step / 2)


def _has_near(times: Sequence[Fraction], time: Fraction, distance: Fraction) -> bool:
    """Whether one of the times, which are in order, is that close."""
    at = bisect_left(times, time - distance)
    return at < len(times) and times[at] <= time + distance


def _merged(
    spans: Iterable[tuple[Fraction, Fraction]], start: Fraction, end: Fraction, tolerance: Fraction
) -> list[tuple[Fraction, Fraction]]:
    """Spans inside two times, in order; those that touch are one."""
    merged: list[tuple[Fraction, Fraction]] = []
    for first, last in sorted((max(first, start), min(last, end)) for first, last in spans):
        if last <= first:
            continue
        if merged and first - merged[-1][1] <= tolerance:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


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
    return _read_exactly(source, HEAD)


def _read_exactly(source: BinaryIO, length: int) -> bytes:
    """So many bytes, or all that are left."""
    data = bytearray()
    while len(data) < length and (more := source.read(min(length - len(data), BUFFER))):
        data += more
    return bytes(data)


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


def _index(source: BinaryIO, head: bytes) -> bytes:
    """What describes the tracks of a file: the index of an mp4, the beginning of any other."""
    if head[4:8] not in _MP4:
        return head
    at = next((start for name, start, _ in _boxes(source) if name == b"moov"), None)
    if at is None:
        return head
    source.seek(at)
    length = min(int.from_bytes(source.read(4), "big"), MAX_INDEX)
    source.seek(at)
    return _read_exactly(source, length)


def _check_encryption(index: bytes) -> None:
    """Refuse what can't be decoded without a key."""
    if _ENCRYPTED.search(index) or _is_scrambled(index):
        raise Refused("encrypted", "it is encrypted")


def _is_scrambled(head: bytes) -> bool:
    """Whether most packets of a transport stream say that their payload is scrambled."""
    if head[:1] != b"G" or head[TS_PACKET : TS_PACKET + 1] != b"G":
        return False
    flags = head[3::TS_PACKET]
    return 2 * sum(flag >> 6 != 0 for flag in flags) > len(flags)


def _check_shown_to_all(index: bytes) -> None:
    """Refuse a picture of Dolby Vision that others can't show: without its metadata it is purple and green."""
    found = _DOLBY_VISION.search(index)
    if found is None:
        return
    record = found[1] or found[2]
    profile, compatible = record[2] >> 1, record[4] >> 4
    if profile == DOLBY_VISION_ALONE or (profile > DOLBY_VISION_ALONE + 2 and not compatible):
        raise Refused("dolby_vision", f"it is Dolby Vision profile {profile}, whose picture has no other reading")


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
    length = _tagged_length(video) if seen.whole and not listed else _stream_length(container, video)
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
        "rates": _texts(grid_rates(seen.stamps, base)) if variable else [],
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

    clock = Clock(_base(video)) if container.format.name in JUMPING else None
    try:
        for packet in container.demux(video):
            stamp = packet.dts if packet.pts is None else packet.pts
            if packet.size and stamp is not None and not packet.is_discard:
                stamp += clock.shift(packet.dts) if clock else 0
                seen.stamps.append(stamp)
                seen.keys += [stamp] if packet.is_keyframe else []
                seen.position = max(seen.position, packet.pos or 0)
                yield packet
    except (FFmpegError, LookupError):  # PyAV does not know streams that a file begins in its middle
        return
    seen.whole = True


class Clock:
    """Joins the times of recordings that follow each other in one file, as ffmpeg does when it copies them."""

    def __init__(self, base: Fraction) -> None:
        self._longest_step = LONGEST_STEP / base
        self._shift = 0
        self._last: int | None = None
        self._step = 0

    def shift(self, dts: int | None) -> int:
        """What is added to the times of the packet with this decoding time."""
        if dts is None:
            return self._shift
        if self._last is not None:
            step = dts + self._shift - self._last
            if 0 < step <= self._longest_step:
                self._step = step
            else:
                self._shift += self._step - step
        self._last = dts + self._shift
        return self._shift


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
    return any(name == b"moof" for name, _, _ in _boxes(source))


def _boxes(source: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """The first boxes of an mp4: the name of each, where it begins, and how long it is."""
    at = 0
    for _ in range(MAX_BOXES):
        source.seek(at)
        head = source.read(BOX.size)
        if len(head) < BOX.size:
            return
        length, name, long = BOX.unpack(head)
        length = long if length == 1 else length
        yield name, at, length
        if length == 0:
            return
        at += max(length, BOX.size // 2)


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
    if tagged := _tagged_length(stream):
        return tagged
    if stream.duration:
        return stream.duration * _base(stream)
    return Fraction(container.duration, 1_000_000) if container.duration else None


def _tagged_length(stream: Stream) -> Fraction | None:
    """How long a stream of a Matroska file says that it is."""
    end = _clock(stream.metadata.get("DURATION", ""))
    return max(end - (stream.start_time or 0) * _base(stream), Fraction(0)) or None


def _clock(text: str) -> Fraction:
    found = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", text)
    return int(found[1]) * 3600 + int(found[2]) * 60 + Fraction(found[3]) if found else Fraction(0)


def _estimated(length: Fraction, position: int, size: int) -> Fraction:
    return length * Fraction(size, position) if 0 < position < size else length


def _audio(container: InputContainer, stream: Any, length: Fraction) -> Facts:
    """An audio stream; one whose codec is unknown has no channels."""
    context = stream.codec_context
    return {
        "index": stream.index,
        "codec": _codec(stream) or "unknown",
        "channels": context.channels if context else 0,
        "layout": context.layout.name if context else "",
        "sample_rate": (context.sample_rate or 0) if context else 0,
        "start": str((stream.start_time or 0) * _base(stream)),
        "duration": str(_stream_length(container, stream) or length),
        **_labels(stream),
    }


def _subtitle(stream: Any) -> Facts:
    from av.stream import Disposition  # noqa: PLC0415

    codec = _codec(stream) or "unknown"
    return {
        "index": stream.index,
        "codec": codec,
        "text": codec in TEXT_SUBTITLES,
        "forced": bool(stream.disposition & Disposition.forced),
        **_labels(stream),
    }


def _unused(container: InputContainer, picture: VideoStream | None) -> list[Stream]:
    """The streams that are neither the picture nor audio nor subtitles."""
    return [stream for stream in container.streams if stream.type not in ("audio", "subtitle") and stream != picture]


def _other(stream: Stream) -> Facts:
    kind = stream.type if stream.type in ("video", "attachment") else "data"
    return {"index": stream.index, "kind": "cover" if _is_cover(stream) else kind, "codec": _codec(stream)}


def _codec(stream: Any) -> str:
    """The name of a stream's codec; nothing if it is unknown."""
    context = stream.codec_context
    return "" if context is None else context.codec.canonical_name


def _labels(stream: Stream) -> Facts:
    from av.stream import Disposition  # noqa: PLC0415

    language = stream.language or ""
    return {
        "language": "" if language == "und" else language,
        "title": stream.metadata.get("title", "")[:200],
        "default": bool(stream.disposition & Disposition.default),
        "commentary": bool(stream.disposition & Disposition.comment),
    }


def _base(stream: Stream) -> Fraction:
    return stream.time_base or Fraction(1, 1_000_000)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _texts(rates: Iterable[tuple[Fraction, int]]) -> list[tuple[str, int]]:
    return [(str(rate), hidden) for rate, hidden in rates]


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


def grid_rates(stamps: Sequence[int], base: Fraction) -> list[tuple[Fraction, int]]:
    """Rates that a rate that varies may become, with how many frames each would not show. Stamps are in order.

    Multiples of the usual rate come first, at which frames are shown evenly, and slow rates last. A source that keeps
    to its usual rate but for a few jumps, as where two recordings were joined, gets none above it.
    """
    steps = sorted(later - earlier for earlier, later in pairwise(stamps))
    median = 1 / (max(steps[len(steps) // 2], 1) * base)
    usual = min(GRID_RATES, key=lambda rate: abs(rate - median))
    off = max(base, 1 / usual / 20)
    odd = sum(abs(step * base - 1 / usual) > off for step in steps)
    fastest = usual if odd <= 1 + ODD_STEPS * len(steps) else max(GRID_RATES)
    rates = [rate for rate in GRID_RATES if rate <= fastest]
    rates.sort(key=lambda rate: (rate in SLOW_RATES, (rate / usual).denominator != 1, rate))
    return [(rate, hidden_frames(stamps, base, rate)) for rate in rates]


def hidden_frames(stamps: Sequence[int], base: Fraction, rate: Fraction) -> int:
    """How many frames have the same place as another on a grid of this rate. Stamps are in order."""
    tick, step = 2 * base.numerator * rate.numerator, base.denominator * rate.denominator
    places = [((stamp - stamps[0]) * tick + step) // (2 * step) for stamp in stamps]
    return sum(later == earlier for earlier, later in pairwise(places))


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
