"""Open a source with PyAV, and read the packets of its video stream."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, BinaryIO, Final

import av
from av.container import InputContainer
from av.error import FFmpegError
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from .containers import BUFFER, is_matroska, is_mp4, is_playlist
from .protocol import Refused, Request

DISCONTINUOUS: Final = frozenset({"mpegts", "mpeg"})
"""Formats whose timestamps may restart within a file, where two recordings were joined."""
MAX_STEP: Final = 10
"""Seconds between two packets of such a format; a longer step is the start of another recording."""


@dataclass
class PacketScan:
    """What a scan of packets found out about the video."""

    timestamps: list[int] = field(default_factory=list)
    """Presentation times of the frames."""
    key_frames: list[int] = field(default_factory=list)
    complete: bool = True
    """Whether the scan reached the end."""
    position: int = 0
    """Offset of the last packet in the file."""
    frames: list[Any] = field(default_factory=list)
    """The first frames, decoded."""


def open_container(request: Request, source: BinaryIO, head: bytes) -> InputContainer:
    """Open the source with PyAV, which may open no other file that the source names."""
    av.logging.set_level(av.logging.ERROR)
    options = {
        "format_whitelist": request["demuxers"],
        "codec_whitelist": request["decoders"],
        "protocol_whitelist": "file",
        "max_pixels": str(request["max_pixels"]),
    }
    source.seek(0)
    try:
        return av.open(
            source, "r", options=options, io_open=_open_nothing, metadata_errors="replace", buffer_size=BUFFER
        )
    except (FFmpegError, OSError) as error:
        raise _refusal(error, head) from None


def _open_nothing(*_: object) -> None:
    raise PermissionError("a source may not name other files")


def _refusal(error: Exception, head: bytes) -> Refused:
    _, name, message = getattr(error, "log", None) or (0, "", "")
    if "not on whitelist" in message:
        return Refused("format", f"its format, {name.split(',')[0]}, is not allowed")
    if is_playlist(head):
        return Refused("format", "it is a list of other files, not a video")
    if getattr(error, "errno", None) == errno.ENOMEM:
        return Refused("bomb", "it takes too much memory to probe")
    if is_mp4(head) or is_matroska(head):
        return Refused("truncated", f"it is truncated or damaged: {message.strip() or type(error).__name__}")
    return Refused("not_a_video", "it is not a video, or its format is unknown")


def check_streams(request: Request, container: InputContainer) -> None:
    """Refuse too many streams, and a video stream that can't or may not be decoded."""
    if len(container.streams) > request["max_streams"]:
        raise Refused(
            "too_many_streams", f"it has {len(container.streams)} streams, the limit is {request['max_streams']}"
        )
    video: Any = video_stream(container)
    if video is None:
        return
    context = video.codec_context
    name = "unknown" if context is None else context.name
    if name not in request["decoders"].split(","):
        raise Refused("codec", f"its video codec, {name}, is not allowed")
    if context.width * context.height > request["max_pixels"]:
        raise Refused("too_many_pixels", f"its picture is {context.width}×{context.height}")
    if not context.width * context.height:
        raise Refused("damaged", f"its picture can't be decoded, or has more than {request['max_pixels']:,} pixels")


def video_stream(container: InputContainer) -> VideoStream | None:
    """Return the stream that ffmpeg calls 0:V:0."""
    return next((stream for stream in container.streams.video if not is_cover(stream)), None)


def is_cover(stream: Stream) -> bool:
    return bool(stream.disposition & (Disposition.attached_pic | Disposition.timed_thumbnails))


def time_base(stream: Stream) -> Fraction:
    return stream.time_base or Fraction(1, 1_000_000)


def limit_decoder(request: Request, stream: Any) -> None:
    """Let the decoder of a stream use one thread and pictures of limited size."""
    stream.codec_context.thread_count = 1
    stream.codec_context.options = {"max_pixels": str(request["max_pixels"])}


def scan_packets(container: InputContainer, video: VideoStream, scan: PacketScan) -> Iterator[Any]:
    """Yield the packets of the video and record them in `scan`; damage in the file ends the scan early."""
    clock = JoinedClock(time_base(video)) if container.format.name in DISCONTINUOUS else None
    try:
        for packet in container.demux(video):
            timestamp = packet.dts if packet.pts is None else packet.pts
            if packet.size and timestamp is not None and not packet.is_discard:
                timestamp += clock.shift(packet.dts) if clock else 0
                scan.timestamps.append(timestamp)
                scan.key_frames += [timestamp] if packet.is_keyframe else []
                scan.position = max(scan.position, packet.pos or 0)
                yield packet
    except (FFmpegError, LookupError):  # PyAV does not know streams that begin in the middle of a file
        return
    scan.complete = True


class JoinedClock:
    """Joins the times of recordings that follow each other in one file, as ffmpeg does when it copies them."""

    def __init__(self, base: Fraction) -> None:
        self._max_step = MAX_STEP / base
        self._shift = 0
        self._last: int | None = None
        self._step = 0

    def shift(self, dts: int | None) -> int:
        """Return the ticks to add to the times of the packet with this decoding time."""
        if dts is None:
            return self._shift
        if self._last is not None:
            step = dts + self._shift - self._last
            if 0 < step <= self._max_step:
                self._step = step
            else:
                self._shift += self._step - step
        self._last = dts + self._shift
        return self._shift


def decode(source: Any) -> list[Any] | None:
    """Return the frames of a packet, or the remaining ones of a stream; None if the decoder rejects it."""
    try:
        frames: list[Any] = source.decode()
    except FFmpegError:
        return None
    return frames
