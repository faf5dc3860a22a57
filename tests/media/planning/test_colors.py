"""Colours survive the pipeline for a player that follows the tags of the stream."""

from pathlib import Path

import av
import pytest

from reelstate.core.machine import JobStatus
from reelstate.media.sources.errors import UnusableSource
from reelstate.media.sources.probe import probe
from tests.media.clips import ffmpeg
from tests.media.deployment import Stream, start_deployment
from tests.media.source_videos import BUILD, X264, make_video, profile

COLORS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "gray": (128, 128, 128), "white": (255,) * 3}
KR_KB = {1: (0.2126, 0.0722), 5: (0.299, 0.114), 6: (0.299, 0.114)}
"""The weights of red and blue by matrix: BT.709, and BT.601 twice."""
BT709 = 1
TOLERANCE = 6
RGB = "-c:v ffv1 -pix_fmt gbrp"
ONE_RUNG = profile(rungs=profile()["rungs"][:1], thumbnails=True)


def bars(path: Path, size: str, filters: str, options: str) -> Path:
    """Encode a still picture of the colours side by side."""
    width, height = map(int, size.split("x"))
    inputs = [
        argument for name in COLORS for argument in ("-f", "lavfi", "-i", f"color={name}:s={width // 5}x{height}:r=25")
    ]
    labels = "".join(f"[{number}]format=gbrp[c{number}];" for number in range(5))
    stack = f"{labels}{''.join(f'[c{number}]' for number in range(5))}hstack=5,{filters}[v]"
    ffmpeg(BUILD, *inputs, "-filter_complex", stack, "-map", "[v]", *options.split(), "-frames:v", "5", str(path))
    return path


def read_colors(path: Path) -> tuple[list[tuple[int, int, int]], tuple[int, int, int]]:
    """Return the colours of the bars of the first frame, converted by its tags, and the tags."""
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        context = container.streams.video[0].codec_context
        tags = (int(context.colorspace), int(context.color_primaries), int(context.color_trc))
        assert frame.format.name in ("yuv420p", "yuvj420p")
        planes = [(bytes(plane), plane.line_size) for plane in frame.planes]
        full = frame.format.name == "yuvj420p"
        matrix = 6 if full else int(frame.colorspace)  # JPEG is always BT.601
        width, row = frame.width, frame.height // 2
    found = []
    for number in range(5):
        column = (2 * number + 1) * width // 10
        y, u, v = (
            data[row // part * line + column // part] for (data, line), part in zip(planes, (1, 2, 2), strict=True)
        )
        found.append(to_rgb(y, u, v, matrix, full=full))
    return found, tags


def to_rgb(y: int, u: int, v: int, matrix: int, *, full: bool) -> tuple[int, int, int]:
    kr, kb = KR_KB[matrix]
    light = y / 255 if full else (y - 16) / 219
    blue, red = ((each - 128) / (255 if full else 224) for each in (u, v))
    r, b = light + 2 * (1 - kr) * red, light + 2 * (1 - kb) * blue
    g = (light - kr * r - kb * b) / (1 - kr - kb)
    return tuple(round(255 * min(max(each, 0), 1)) for each in (r, g, b))  # type: ignore[return-value]  # three


def join_chunks(stream: Stream, path: Path) -> Path:
    """Write the first rung of a stream as one file."""
    rung = stream.manifest["rungs"][0]
    parts = [rung["init"], *(chunk["key"] for chunk in rung["chunks"])]
    path.write_bytes(b"".join(stream.path(part).read_bytes() for part in parts))
    return path


def are_close(found: list[tuple[int, int, int]]) -> bool:
    pairs = zip(found, COLORS.values(), strict=True)
    return all(
        abs(one - other) <= TOLERANCE for color, expected in pairs for one, other in zip(color, expected, strict=True)
    )


@pytest.mark.parametrize(
    "size, filters, options, matrix",
    [
        ("1280x720", "null", RGB, 1),
        ("320x180", "null", RGB, 1),
        ("1280x720", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,setparams=colorspace=unknown", X264, 1),
        ("320x180", "scale=out_color_matrix=bt601:out_range=tv,format=yuv420p,setparams=colorspace=unknown", X264, 6),
        ("320x180", "scale=out_color_matrix=bt709:out_range=pc,format=yuv420p,setparams=colorspace=bt709", X264, 1),
    ],
    ids=["RGB", "small RGB", "untagged HD", "untagged SD", "full range"],
)
async def test_colours_are_preserved_for_players_that_follow_the_tags(
    tmp_path: Path, size: str, filters: str, options: str, matrix: int
) -> None:
    source = bars(tmp_path / "bars.mkv", size, filters, options)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        found, tags = read_colors(join_chunks(stream, tmp_path / "joined.mp4"))
        assert tags[0] == matrix
        assert 2 not in tags, "2 is unspecified"
        assert are_close(found), found
        poster, _ = read_colors(stream.path(stream.outputs["poster"]))
        assert are_close(poster), poster


DOLBY_VISION_5 = bytes([1, 0, 5 << 1, 6 << 3 | 0b101, 0]) + bytes(19)
DOLBY_VISION_8 = bytes([1, 0, 8 << 1, 6 << 3 | 0b101, 1 << 4]) + bytes(19)


def dolby_vision(path: Path, record: bytes) -> Path:
    """Encode an HEVC MP4 with a Dolby Vision configuration record and its index at the end."""
    make_video(path, 1, sound=False, options="-c:v libx265 -preset ultrafast -x265-params log-level=error -tag:v hvc1")
    data = bytearray(path.read_bytes())
    offset = data.index(b"hvcC") - 4
    offset += int.from_bytes(data[offset : offset + 4], "big")
    box = (8 + len(record)).to_bytes(4, "big") + b"dvcC" + record
    data[offset:offset] = box
    for name in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd", b"hvc1"):
        size = data.rindex(name, 0, offset) - 4
        data[size : size + 4] = (int.from_bytes(data[size : size + 4], "big") + len(box)).to_bytes(4, "big")
    path.write_bytes(data)
    return path


async def test_dolby_vision_without_a_compatible_layer_is_refused(tmp_path: Path) -> None:
    source = dolby_vision(tmp_path / "five.mp4", DOLBY_VISION_5)
    other = tmp_path / "five.mkv"
    ffmpeg(BUILD, "-i", str(source), "-c", "copy", "-strict", "unofficial", str(other))
    for path in (source, other):
        with pytest.raises(UnusableSource, match="Dolby Vision profile 5") as caught:
            await probe(path)
        assert caught.value.kind == "dolby_vision"
    async with start_deployment(tmp_path) as here:
        detail = await here.transcode(source, profile=ONE_RUNG)
        assert (detail.job.status, detail.job.error["stage"]) == (JobStatus.FAILED, "probe")
        assert "Dolby Vision profile 5" in detail.job.error["cause"]["message"]


async def test_dolby_vision_with_a_compatible_layer_is_accepted(tmp_path: Path) -> None:
    facts = await probe(dolby_vision(tmp_path / "eight.mp4", DOLBY_VISION_8))
    assert facts.video is not None
