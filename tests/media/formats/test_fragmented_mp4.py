"""Fragmented MP4 files of every ffmpeg are parsed, and hostile bytes do no harm."""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import MAX_BOXES, BoxScanner, FragmentedMp4, parse_mp4
from tests.core.properties import quickly
from tests.media.streams import CHUNK_FRAMES, FRAMES, GRID, RATE, X264, builds, chunk, has_encoder, picture, run, sound

LOSSLESS = f"-c:v libx264 -preset ultrafast -bf 2 -qp 0 {GRID}"
HEVC = "-c:v libx265 -preset ultrafast -x265-params keyint=15:min-keyint=15:scenecut=0:open-gop=0:log-level=error"
AV1 = "-c:v libsvtav1 -preset 12 -g 15 -svtav1-params lp=1"
DECODE = """
import av, json, sys
with av.open(sys.argv[1]) as file:
    frames = [float(frame.pts * frame.time_base * 30000) for frame in file.decode(video=0)]
print(json.dumps(frames))
"""


@pytest.fixture(params=builds())
def build(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return chunk("wheel", tmp_path_factory.mktemp("small"), 1, size=(64, 36))


def join(files: list[bytes]) -> bytes:
    """Return the init of the first file and the segments of all."""
    parsed = [parse_mp4(data) for data in files]
    spans = [
        data[segment.offset : segment.end]
        for data, boxes in zip(files, parsed, strict=True)
        for segment in boxes.segments
    ]
    return parsed[0].init + b"".join(spans)


def test_a_chunk_is_parsed(build: str, tmp_path: Path) -> None:
    data = chunk(build, tmp_path, 1)
    boxes = parse_mp4(data)
    assert (boxes.track.kind, boxes.track.timescale) == ("video", 30000)
    assert (boxes.track.width, boxes.track.height) == (320, 180)
    assert boxes.track.codec.startswith("avc1.")
    assert [segment.decode_time for segment in boxes.segments] == [30030, 45045]
    assert [segment.samples for segment in boxes.segments] == [15, 15]
    assert {segment.step for segment in boxes.segments} == {1001}
    assert all(segment.starts_with_sync for segment in boxes.segments)
    assert (boxes.samples, boxes.duration, boxes.first_decode_time) == (30, 30030, 30030)
    assert data.startswith(boxes.init)
    assert boxes.segments[0].offset == len(boxes.init)
    assert boxes.segments[0].end == boxes.segments[1].offset


def test_a_file_is_parsed_without_reading_its_media_data(build: str, tmp_path: Path) -> None:
    data = chunk(build, tmp_path, 0)
    large = bytearray(data)
    first = parse_mp4(data).segments[0]
    media = data.index(b"mdat", first.offset)
    size = struct.unpack_from(">I", data, media - 4)[0]
    large[media - 4 : media] = struct.pack(">I", size + (1 << 24))
    path = tmp_path / "large.mp4"
    path.write_bytes(bytes(large[: first.end]) + bytes(1 << 24) + data[first.end :])
    boxes = parse_mp4(path)
    assert boxes.segments[0].size == first.size + (1 << 24)
    assert boxes == parse_mp4(path.read_bytes())


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_a_file_can_be_fed_in_pieces(block: int, small: bytes) -> None:
    walker = BoxScanner()
    for start in range(0, len(small), block):
        walker.feed(small[start : start + block])
    assert walker.close() == parse_mp4(small)


def test_the_first_chunk_can_be_joined_despite_its_edit_list(build: str, tmp_path: Path) -> None:
    first, second = (parse_mp4(chunk(build, tmp_path, number)) for number in range(2))
    assert first.init != second.init
    assert first.init_hash == second.init_hash
    assert (first.track.media_time, second.track.media_time) == (2002, 0)
    assert first.segments[0].composition == 2002


def test_chunks_of_other_settings_have_another_init_hash(build: str, tmp_path: Path) -> None:
    one = parse_mp4(chunk(build, tmp_path, 1))
    other = parse_mp4(chunk(build, tmp_path, 1, encoder=X264.replace("-bf 2", "-bf 0")))
    assert one.init_hash != other.init_hash


def test_the_bytes_up_to_the_key_size_decode_to_one_picture(build: str, tmp_path: Path) -> None:
    data = chunk(build, tmp_path, 0)
    boxes = parse_mp4(data)
    segment = boxes.segments[1]
    path = tmp_path / "key.mp4"
    path.write_bytes(boxes.init + data[segment.offset : segment.offset + segment.key_size])
    pictures = run(build, "-i", str(path), "-frames:v", "1", "-f", "rawvideo", "-")
    assert len(pictures) == 320 * 180 * 3 // 2


def test_joined_chunks_decode_to_every_frame_at_its_time(build: str, tmp_path: Path) -> None:
    path = tmp_path / "joined.mp4"
    path.write_bytes(join([chunk(build, tmp_path, number) for number in range(2)]))
    done = subprocess.run([sys.executable, "-c", DECODE, str(path)], check=True, capture_output=True)
    assert json.loads(done.stdout) == [1001.0 * number for number in range(FRAMES)]


def test_joined_chunks_decode_to_the_frames_of_the_source(build: str, tmp_path: Path) -> None:
    path = tmp_path / "joined.mp4"
    path.write_bytes(join([chunk(build, tmp_path, number, encoder=LOSSLESS) for number in range(2)]))
    source = ["-f", "lavfi", "-i", picture(), "-frames:v", str(FRAMES)]
    hashes = [
        [line.split(b",")[-1].strip() for line in lines.splitlines() if not line.startswith(b"#")]
        for lines in (
            run(build, *given_input, "-pix_fmt", "yuv420p", "-f", "framemd5", "-")
            for given_input in (source, ["-i", str(path)])
        )
    ]
    assert len(hashes[0]) == FRAMES
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("encoder, name", [(f"{HEVC} -tag:v hvc1", "hvc1.1.6.L"), (AV1, "av01.0.00M.08")])
def test_chunks_of_other_codecs_can_be_joined(encoder: str, name: str, build: str, tmp_path: Path) -> None:
    if not has_encoder(build, encoder.split()[1]):
        pytest.skip(f"NOT TESTED: the ffmpeg of {build} has no {encoder.split()[1]}")
    files = [chunk(build, tmp_path, number, encoder=encoder, size=(320, 180)) for number in range(2)]
    first, second = map(parse_mp4, files)
    assert first.init_hash == second.init_hash
    assert first.track.codec.startswith(name)
    path = tmp_path / "joined.mp4"
    path.write_bytes(join(files))
    done = subprocess.run([sys.executable, "-c", DECODE, str(path)], check=True, capture_output=True)
    assert json.loads(done.stdout) == [1001.0 * number for number in range(FRAMES)]


def test_audio_starts_after_its_priming_and_lasts_to_the_sample(build: str, tmp_path: Path) -> None:
    boxes = parse_mp4(sound(build, tmp_path, Fraction(2)))
    assert boxes.track.kind == "audio"
    assert (boxes.track.codec, boxes.track.channels, boxes.track.sample_rate) == ("mp4a.40.2", 2, 48000)
    assert boxes.first_decode_time == 0
    assert boxes.duration - boxes.track.media_time == 96000
    assert all(segment.starts_with_sync for segment in boxes.segments)


def test_mono_is_mono_although_its_sample_entry_has_two_channels(build: str, tmp_path: Path) -> None:
    """Ffmpeg 5 always writes 2 channels into the sample entry."""
    data = bytearray(sound(build, tmp_path, Fraction(1), channels=1))
    at = data.index(b"mp4a", data.index(b"stsd")) + 4 + 16
    struct.pack_into(">H", data, at, 2)
    assert parse_mp4(bytes(data)).track.channels == 1


def test_audio_before_zero_is_refused(build: str, tmp_path: Path) -> None:
    path = tmp_path / "early.mp4"
    run(
        build, *["-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac", "-f", "mp4", "-avoid_negative_ts", "disabled"],
        *["-movflags", "+delay_moov+default_base_moof+frag_discont", "-frag_duration", "500000"], str(path),
    )  # fmt: skip
    with pytest.raises(MalformedBoxes, match=r"starts before zero, at -1024 .*leave out frag_discont"):
        parse_mp4(path)


def test_a_segment_may_have_several_fragments(build: str, tmp_path: Path) -> None:
    path = tmp_path / "many.mp4"
    run(
        build, "-f", "lavfi", "-i", picture(frames=CHUNK_FRAMES), "-frames:v", str(CHUNK_FRAMES), *X264.split(),
        *["-pix_fmt", "yuv420p", "-f", "mp4", "-movflags", "+frag_keyframe+empty_moov+default_base_moof"],
        *["-video_track_timescale", "30000", "-frag_duration", "150000"], str(path),
    )  # fmt: skip
    boxes = parse_mp4(path)
    assert len(boxes.segments) > 4
    grouped = boxes.with_counts([15, 15])
    assert [segment.samples for segment in grouped.segments] == [15, 15]
    assert [segment.duration for segment in grouped.segments] == [15015, 15015]
    assert grouped.segments[0].end == grouped.segments[1].offset
    assert grouped.segments[0].key_size == boxes.segments[0].key_size
    assert grouped.duration == boxes.duration == CHUNK_FRAMES / RATE * 30000


@pytest.mark.parametrize(
    "counts, reason",
    [
        ([10, 20], "segment 0 needs 10 more samples of 10, but a fragment has 15"),
        ([15, 16], "segment 1 needs 1 more samples of 16, but the file ends"),
        ([15], "after the last segment"),
        ([15, 15, 0], "no samples"),
    ],
)
def test_a_file_off_the_grid_is_refused(counts: list[int], reason: str, small: bytes) -> None:
    with pytest.raises(MalformedBoxes, match=reason):
        parse_mp4(small).with_counts(counts)


def test_a_gap_inside_a_segment_is_refused(small: bytes) -> None:
    data = bytearray(small)
    at = data.rindex(b"tfdt") + 8
    data[at : at + 8] = struct.pack(">Q", 90000)
    with pytest.raises(MalformedBoxes, match="time gap"):
        parse_mp4(bytes(data)).with_counts([30])


def test_fragments_after_the_end_are_merged_into_the_last_segment(tmp_path: Path) -> None:
    boxes = parse_mp4(sound("wheel", tmp_path, Fraction(2)))
    starts = [Fraction(segment.decode_time, 48000) for segment in boxes.segments]
    cut = boxes.merge_after(starts[-2])
    assert [segment.decode_time for segment in cut.segments] == [segment.decode_time for segment in boxes.segments[:-2]]
    assert cut.duration == boxes.duration
    assert cut.segments[-1].end == boxes.segments[-1].end
    assert boxes.merge_after(Fraction(2)).segments == boxes.segments
    assert len(boxes.merge_after(Fraction(0)).segments) == 1


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(body), kind) + body


def test_unknown_boxes_are_skipped(small: bytes) -> None:
    boxes = parse_mp4(small)
    at = boxes.segments[0].offset
    extra = box(b"styp", b"msdhmsdh") + box(b"sidx", bytes(24)) + struct.pack(">I4sQ", 1, b"free", 16)
    longer = parse_mp4(small[:at] + extra + small[at:] + box(b"skip", b""))
    assert longer.init == boxes.init
    assert [segment.size for segment in longer.segments] == [segment.size for segment in boxes.segments]
    assert longer.segments[0].offset == at + len(extra)


def put(kind: bytes, after: int, value: bytes) -> Callable[[bytes], bytes]:
    """Overwrite bytes after the name of the first box of a kind."""

    def change(data: bytes) -> bytes:
        at = data.index(kind) + 4 + after
        return data[:at] + value + data[at + len(value) :]

    return change


ODD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing": (lambda data: b"", "no moov box"),
    "text": (lambda data: b"#EXTM3U\n" * 100, "truncated"),
    "a box of size zero": (lambda data: b"\0\0\0\0free" + data, "has the size 0"),
    "a box of size four": (lambda data: b"\0\0\0\4free" + data, "has the size 4"),
    "a long box of size four": (lambda data: struct.pack(">I4sQ", 1, b"free", 4) + data, "has the size 4"),
    "half a header": (lambda data: data + b"\0\0", "truncated"),
    "half a long header": (lambda data: data + struct.pack(">I4sI", 1, b"free", 0), "truncated"),
    "an end inside of media data": (lambda data: data[: data.rindex(b"mdat") + 100], "truncated"),
    "a moof without media data": (lambda data: data[: data.rindex(b"mdat") - 4], "truncated"),
    "a huge moov": (lambda data: struct.pack(">I4sQ", 1, b"moov", 1 << 62), "claims"),
    "too many boxes": (lambda data: box(b"free", b"") * (MAX_BOXES + 1), "more than"),
    "a second moov": (lambda data: parse_mp4(data).init + data, "a second ftyp"),
    "media data alone": (lambda data: parse_mp4(data).init + box(b"mdat", bytes(9)), "without a moof"),
    "a moof before moov": (lambda data: data[parse_mp4(data).segments[0].offset :], "unexpected moof box"),
    "two moofs": (
        lambda data: data[: data.index(b"mdat") - 4] + data[data.index(b"moof") - 4 :],
        "unexpected moof box",
    ),
    "no ticks": (put(b"mdhd", 12, bytes(4)), "timescale of the mdhd box is 0"),
    "another kind of track": (put(b"hdlr", 8, b"text"), "unexpected track of kind 'text'"),
    "no track": (put(b"trak", -4, b"free"), "0 trak boxes"),
    "an unknown codec": (put(b"avc1", -4, b"vp09"), "unknown sample entry 'vp09'"),
    "a box that does not fit": (put(b"mdia", -8, b"\0\1\0\0"), "does not fit"),
    "a fragment of another track": (put(b"tfhd", 4, b"\0\0\0\7"), "track 7"),
    "absolute offsets": (put(b"tfhd", 0, b"\0\0\0\x39"), "offsets from the start"),
    "four billion samples": (put(b"trun", 4, b"\xff" * 4), "trun box .* is truncated"),
    "four billion samples without fields": (put(b"trun", 0, b"\0\0\0\1" + b"\xff" * 4), "not in its media data"),
    "no samples": (put(b"trun", 4, bytes(4)), "no samples"),
    "samples outside": (put(b"trun", 8, b"\x7f\0\0\0"), "not in its media data"),
    "samples before the media data": (put(b"trun", 8, b"\0\0\0\1"), "not in its media data"),
    "a time before zero": (put(b"tfdt", 4, b"\xff" * 8), "starts before zero, at -1"),
}


@pytest.mark.parametrize("case", ODD)
def test_invalid_boxes_are_refused_with_a_reason(case: str, small: bytes) -> None:
    change, reason = ODD[case]
    with pytest.raises(MalformedBoxes, match=reason):
        parse_mp4(change(small))


def test_a_box_that_ends_inside_the_header_of_another_is_refused(small: bytes) -> None:
    last = small.index(b"udta") - 4
    shorter = struct.pack(">I", struct.unpack_from(">I", small, last)[0] - 4)
    with pytest.raises(MalformedBoxes, match="moov box ends inside the header"):
        parse_mp4(small[:last] + shorter + small[last + 4 :])


def test_a_long_edit_list_can_delay_the_start(small: bytes) -> None:
    edits = struct.pack(">IIQqIQqI", 1 << 24, 2, 500, -1, 1 << 16, 0, 777, 1 << 16)
    track = _with_edits(small, edits).track
    assert (track.media_time, track.delay) == (777, Fraction(1, 2))


def test_an_edit_list_that_claims_too_many_entries_is_refused(small: bytes) -> None:
    with pytest.raises(MalformedBoxes, match="elst"):
        _with_edits(small, struct.pack(">IIIiI", 0, 1 << 31, 0, -1, 0))


def _with_edits(data: bytes, edits: bytes) -> FragmentedMp4:
    inserted = box(b"edts", box(b"elst", edits))
    grown = bytearray(data)
    at = data.index(b"mdia") - 4
    for name in (b"moov", b"trak"):
        place = data.index(name) - 4
        grown[place : place + 4] = struct.pack(">I", struct.unpack_from(">I", data, place)[0] + len(inserted))
    grown[at:at] = inserted
    return parse_mp4(bytes(grown))


def _metadata_offsets(data: bytes) -> list[int]:
    """Return the offsets of a file that are not media data."""
    boxes = parse_mp4(data)
    spans = [(0, len(boxes.init))]
    spans += [(segment.offset, data.index(b"mdat", segment.offset) + 4) for segment in boxes.segments]
    return [place for start, end in spans for place in range(start, end)]


@quickly
@given(st.data())
def test_changed_bytes_are_parsed_or_refused(small: bytes, data: st.DataObject) -> None:
    spoilt = bytearray(small)
    places = st.tuples(st.sampled_from(_metadata_offsets(small)), st.integers(0, 255))
    for place, value in data.draw(st.lists(places, min_size=1, max_size=6)):
        spoilt[place] = value
    cut = data.draw(st.integers(0, len(spoilt)) | st.just(len(spoilt)))
    try:
        boxes = parse_mp4(bytes(spoilt[:cut]))
    except MalformedBoxes:
        return
    assert all(0 < segment.key_size <= segment.size for segment in boxes.segments)
    assert all(segment.end <= cut for segment in boxes.segments)


@quickly
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedBoxes):
        parse_mp4(data)
