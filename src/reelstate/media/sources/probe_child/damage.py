"""Find the damaged parts of a stream: decode it and compare packets with frames."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, BinaryIO, Final

import av
from av.container import InputContainer
from av.error import BlockingIOError as DemuxerBlocked
from av.error import FFmpegError

from .containers import read_head
from .packets import decode, limit_decoder, open_container, time_base
from .protocol import Facts, Request

MAX_SPANS: Final = 100
"""Damaged spans in the answer; all are counted."""
MAX_RESYNCS: Final = 10_000
"""Times that a demuxer may give up in one file and be continued."""


@dataclass
class ScannedPacket:
    """A packet of a stream: its presentation time, and what happened to it."""

    time: Fraction
    failed: bool = False
    """The decoder rejected it."""
    near_error: bool = False
    """The demuxer met damage before it."""


@dataclass
class DecodeScan:
    """What decoding a part of a stream found out."""

    step: Fraction
    """The duration of one frame."""
    packets: list[ScannedPacket] = field(default_factory=list)
    good: list[Fraction] = field(default_factory=list)
    """The times of undamaged frames."""
    corrupt: list[Fraction] = field(default_factory=list)
    """The times of frames in which the decoder concealed errors."""


def find_damage(request: Request, source: BinaryIO) -> Facts:
    """Decode one stream between two times and return its damage, see `damaged_spans`."""
    start, end, step = (Fraction(request[name]) for name in ("start", "end", "step"))
    with open_container(request, source, read_head(source)) as container:
        stream = container.streams[request["stream"]]
        scan = DecodeScan(step=_audio_step(stream) or step)
        is_video = stream.type == "video"
        _decode_span(request, container, stream, (start, end), scan)
    spans = damaged_spans(scan, start, end, matched=is_video)
    shown = [packet for packet in scan.packets if start <= packet.time < end]
    return {
        "errors": sum(packet.failed for packet in shown),
        "corrupt": sum(start <= time < end for time in scan.corrupt),
        "seconds": str(sum((last - first for first, last in spans), Fraction(0))),
        "spans": [[str(first), str(last)] for first, last in spans[:MAX_SPANS]],
    }


def _audio_step(stream: Any) -> Fraction | None:
    context = stream.codec_context
    samples = getattr(context, "frame_size", 0) if stream.type == "audio" else 0
    return Fraction(samples, context.sample_rate) if samples and context.sample_rate else None


def _decode_span(
    request: Request, container: InputContainer, stream: Any, span: tuple[Fraction, Fraction], scan: DecodeScan
) -> None:
    """Decode from the key frame before a span to the first packet after it."""
    base = time_base(stream)
    limit_decoder(request, stream)
    with suppress(FFmpegError):
        container.seek(int(span[0] / base), stream=stream)
    with av.logging.Capture(local=True) as log:
        for packet in _all_packets(container, stream):
            timestamp = packet.dts if packet.pts is None else packet.pts
            near_error = any(name == container.format.name for _, name, _ in log)
            log.clear()
            failed = _decode_packet(packet, scan, base)
            if timestamp is not None and packet.size:
                scan.packets.append(ScannedPacket(timestamp * base, failed, near_error))
            if packet.dts is not None and packet.dts * base >= span[1]:
                break
        _decode_packet(stream, scan, base)


def _all_packets(container: InputContainer, stream: Any) -> Iterator[Any]:
    """Yield all packets of a stream, including those after damage that the demuxer has to skip."""
    for _ in range(MAX_RESYNCS):
        try:
            yield from container.demux(stream)
        except DemuxerBlocked:
            continue
        except (FFmpegError, LookupError):  # PyAV does not know streams that begin in the middle of a file
            return
        return


def _decode_packet(source: Any, scan: DecodeScan, base: Fraction) -> bool:
    """Record the frames of a packet, or the remaining ones of a stream; return whether the decoder rejected it."""
    frames = decode(source)
    for frame in frames or ():
        if frame.pts is not None:
            (scan.corrupt if frame.is_corrupt else scan.good).append(frame.pts * base)
    return frames is None


def damaged_spans(
    scan: DecodeScan, start: Fraction, end: Fraction, *, matched: bool
) -> list[tuple[Fraction, Fraction]]:
    """Return the spans between two times in which a stream is damaged, in order.

    Damage is a packet that the decoder rejected, a frame with concealed errors, and, if frames can be `matched` to
    packets by time, a packet without a frame. A gap between packets is damage if a packet beside it is damaged or the
    demuxer met an error there; any other gap is a pause of the source.
    """
    good, corrupt = sorted(scan.good), sorted(scan.corrupt)
    packets = sorted(scan.packets, key=lambda packet: packet.time)
    bad = [
        packet.failed
        or _has_near(corrupt, packet.time, scan.step / 4)
        or (matched and not _has_near(good, packet.time, scan.step * 3 / 4))
        for packet in packets
    ]
    spans = [(packet.time, packet.time + scan.step) for packet, is_bad in zip(packets, bad, strict=True) if is_bad]
    for number, (earlier, later) in enumerate(pairwise(packets)):
        evidence = bad[number] or bad[number + 1] or earlier.near_error or later.near_error
        if evidence and later.time - earlier.time > scan.step * 3 / 2:
            spans.append((earlier.time + scan.step, later.time))
    return _merge(spans, start, end, scan.step / 2)


def _has_near(times: Sequence[Fraction], time: Fraction, distance: Fraction) -> bool:
    """Return whether one of the sorted times is within this distance."""
    index = bisect_left(times, time - distance)
    return index < len(times) and times[index] <= time + distance


def _merge(
    spans: Iterable[tuple[Fraction, Fraction]], start: Fraction, end: Fraction, tolerance: Fraction
) -> list[tuple[Fraction, Fraction]]:
    """Clip spans to two times, sort them, and join those that touch."""
    merged: list[tuple[Fraction, Fraction]] = []
    for first, last in sorted((max(first, start), min(last, end)) for first, last in spans):
        if last <= first:
            continue
        if merged and first - merged[-1][1] <= tolerance:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
