"""Damaged sources: what is found of the damage, what is published as degraded, and what fails."""

import random
from fractions import Fraction
from pathlib import Path

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.media.ffmpeg.command_run import ErrorCounter
from reelstate.media.ffmpeg.damage import Damage, describe, find_damage, total
from reelstate.media.sources.probe import WHOLE_FILE_LIMITS
from reelstate.media.sources.probe_child.damage import DecodeScan, ScannedPacket, damaged_spans
from tests.media.clips import ffmpeg
from tests.media.deployment import start_deployment
from tests.media.source_videos import BUILD, RATE, make_video, profile

STEP = Fraction(1, RATE)
SECONDS = 10
GOOD = "-c:v libx264 -preset ultrafast -bf 2 -g 25 -pix_fmt yuv420p"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("sources") / "good.mp4", SECONDS, options=GOOD)


def zeroed(source: Path, target: Path, first: float, last: float) -> Path:
    """The file with this part of it overwritten by zeros; of an mp4, the part of its media."""
    data = bytearray(source.read_bytes())
    start = max(data.find(b"mdat"), 0)
    end = data.find(b"moov") if data.find(b"moov") > start else len(data)
    begin, stop = (start + int((end - start) * share) for share in (first, last))
    data[begin:stop] = bytes(stop - begin)
    target.write_bytes(data)
    return target


def flipped(source: Path, target: Path, bits: int) -> Path:
    data = bytearray(source.read_bytes())
    start, end = data.find(b"mdat") + 2000, data.find(b"moov") - 8
    chosen = random.Random(7)
    for _ in range(bits):
        data[chosen.randrange(start, end)] ^= 1 << chosen.randrange(8)
    target.write_bytes(data)
    return target


def with_broken_table(source: Path, target: Path, table: str, value: int) -> Path:
    """The mp4 with the second half of a table of its index overwritten."""
    data = bytearray(source.read_bytes())
    at = data.index(table.encode(), data.index(b"moov"))
    size = int.from_bytes(data[at - 4 : at], "big")
    middle, end = at + size // 2, at + size - 4
    data[middle:end] = bytes([value]) * (end - middle)
    target.write_bytes(data)
    return target


def copied(source: Path, target: Path) -> Path:
    ffmpeg(BUILD, "-i", str(source), "-map", "0", "-c", "copy", str(target))
    return target


@pytest.mark.parametrize("container", ["mp4", "mkv", "ts"])
@pytest.mark.parametrize("chunk_seconds", [2, 600])
async def test_a_source_with_much_of_its_media_zeroed_fails_at_once_with_the_position(
    tmp_path: Path, good: Path, container: str, chunk_seconds: int
) -> None:
    whole = copied(good, tmp_path / f"whole.{container}")
    source = zeroed(whole, tmp_path / f"zeroed.{container}", 0.3, 0.7)
    async with start_deployment(tmp_path) as here:
        detail = await here.transcode(source, profile=profile(chunk_seconds=chunk_seconds))
        assert detail.job.status is JobStatus.FAILED, detail.job
        message = detail.job.error["cause"]["message"]
        assert "the source is damaged: " in message
        assert "max_damage" in message
        failed = [task for task in await here.tasks(detail.job.id) if task.status is TaskStatus.ERROR]
        assert {task.attempt for task in failed} == {1}


async def test_damage_that_the_profile_allows_is_published_as_degraded_with_where_and_how_much(
    tmp_path: Path, good: Path
) -> None:
    source = zeroed(good, tmp_path / "zeroed.mp4", 0.41, 0.43)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=profile(chunk_seconds=2, max_damage=0.5))
        (video, *_) = stream.detail.job.degraded
        assert video.startswith("video: ")
        assert f"s of {SECONDS}.00 s (" in video
        assert "damaged at 0:0" in video
        assert stream.outputs["degraded"] == stream.detail.job.degraded
        found = [task.result.get("damage") for task in await here.tasks(stream.detail.job.id, "encode")]
        assert len([each for each in found if each]) in (1, 2), "only the chunks that are damaged say so"


async def test_a_chunk_of_which_nothing_can_be_decoded_shows_the_last_picture_before_it(
    tmp_path: Path, good: Path
) -> None:
    source = zeroed(good, tmp_path / "zeroed.mp4", 0.3, 0.7)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=profile(chunk_seconds=2, max_damage=1))
        assert {rung: len(frames) for rung, frames in stream.decode_rungs().items()} == {
            "180p": SECONDS * RATE,
            "90p": SECONDS * RATE,
        }
        assert len(stream.detail.job.degraded) == 2


@pytest.mark.parametrize("chunk_seconds", [2, 600])
async def test_flipped_bits_are_reported_and_fail_a_job_without_tolerance(
    tmp_path: Path, good: Path, chunk_seconds: int
) -> None:
    source = flipped(good, tmp_path / "flipped.mp4", 12)
    async with start_deployment(tmp_path) as here:
        tolerant = await here.stream(source, profile=profile(chunk_seconds=chunk_seconds, max_damage=1))
        assert any(text.startswith("video: ") for text in tolerant.detail.job.degraded)
        strict = await here.transcode(source, profile=profile(chunk_seconds=chunk_seconds, max_damage=0))
        assert strict.job.status is JobStatus.FAILED


async def test_damaged_sound_is_reported(tmp_path: Path) -> None:
    good = tmp_path / "good.mkv"
    ffmpeg(BUILD, "-f", "lavfi", "-i", f"testsrc2=size=320x180:rate={RATE}", "-f", "lavfi", "-i", "anoisesrc=r=48000",
           *GOOD.split(), "-c:a", "aac", "-t", "4", str(tmp_path / "good.mp4"))  # fmt: skip
    sound = tmp_path / "sound.mp4"
    ffmpeg(BUILD, "-i", str(tmp_path / "good.mp4"), "-map", "0:a", "-c", "copy", str(sound))
    spoiled = flipped(sound, tmp_path / "spoiled.mp4", 40)
    ffmpeg(BUILD, "-i", str(tmp_path / "good.mp4"), "-i", str(spoiled), "-map", "0:v", "-map", "1:a", "-c", "copy",
           str(good))  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(good, profile=profile(max_damage=1))
        assert [text for text in stream.detail.job.degraded if text.startswith("audio 0: ")]


@pytest.mark.parametrize("table", ["stco", "stsz", "stsc", "ctts"])
@pytest.mark.parametrize("value", [0x00, 0xFF])
async def test_a_broken_index_is_never_encoded_twice(tmp_path: Path, good: Path, table: str, value: int) -> None:
    source = with_broken_table(good, tmp_path / "broken.mp4", table, value)
    async with start_deployment(tmp_path) as here:
        detail = await here.transcode(source, profile=profile(rungs=profile()["rungs"][1:], chunk_seconds=600))
        assert detail.job.status in (JobStatus.COMPLETED, JobStatus.FAILED)
        attempts = {task.stage_name: task.attempt for task in await here.tasks(detail.job.id) if task.attempt}
        assert set(attempts.values()) == {1}, detail.job.error


@pytest.mark.parametrize(
    "name, options",
    [
        ("open.mp4", "-c:v libx264 -preset ultrafast -bf 3 -g 25 -flags -cgop -x264-params open-gop=1:b-adapt=0"),
        ("hevc.mp4", "-c:v libx265 -preset ultrafast -g 25 -x265-params log-level=error:open-gop=1"),
        ("plain.mpg", "-c:v mpeg2video -q:v 5 -bf 2 -g 12"),
        ("plain.ts", GOOD),
        ("plain.avi", "-c:v mpeg4 -q:v 5 -bf 2 -g 12"),
    ],
)
async def test_an_undamaged_source_has_no_damage(tmp_path: Path, name: str, options: str) -> None:
    source = make_video(tmp_path / name, 4, options=f"{options} -pix_fmt yuv420p", sound=False)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=profile(max_damage=0))
        assert stream.detail.job.degraded is None
    whole = await find_damage(
        source, 0, start=Fraction(0), end=Fraction(4), origin=Fraction(0), step=STEP, limits=WHOLE_FILE_LIMITS
    )
    assert whole.seconds == 0, whole


def seen(times: list[int], *, failed: tuple[int, ...] = (), lost: tuple[int, ...] = ()) -> DecodeScan:
    """Return frames at these positions of a grid of one second; some are refused or missing."""
    result = DecodeScan(step=Fraction(1))
    for time in times:
        result.packets.append(ScannedPacket(Fraction(time), failed=time in failed))
        if time not in (*failed, *lost):
            result.good.append(Fraction(time))
    return result


def span(first: int, last: int) -> tuple[Fraction, Fraction]:
    return Fraction(first), Fraction(last)


def test_a_packet_of_which_no_frame_came_is_damage_from_its_time_to_the_next() -> None:
    spans = damaged_spans(seen([0, 1, 2, 3, 4], lost=(2, 3)), Fraction(0), Fraction(5), matched=True)
    assert spans == [span(2, 4)]


def test_a_pause_of_the_source_is_no_damage_but_a_gap_beside_damage_is() -> None:
    paused = seen([0, 1, 7, 8])
    assert damaged_spans(paused, Fraction(0), Fraction(9), matched=True) == []
    broken = seen([0, 1, 7, 8], failed=(7,))
    assert damaged_spans(broken, Fraction(0), Fraction(9), matched=True) == [span(2, 8)]
    skipped = seen([0, 1, 7, 8])
    skipped.packets[2].near_error = True
    assert damaged_spans(skipped, Fraction(0), Fraction(9), matched=True) == [span(2, 7)]


def test_damage_outside_of_the_requested_times_does_not_count() -> None:
    spans = damaged_spans(seen([0, 1, 2, 3], failed=(0, 3)), Fraction(1), Fraction(3), matched=True)
    assert spans == []


def test_spans_that_meet_at_the_join_of_two_chunks_are_one() -> None:
    one = Damage(errors=1, seconds=Fraction(1), spans=((Fraction(1), Fraction(2)),))
    two = Damage(corrupt=2, seconds=Fraction(2), spans=((Fraction(2), Fraction(4)),))
    both = total([one, two])
    assert both == Damage(errors=1, corrupt=2, seconds=Fraction(3), spans=(span(1, 4),))
    assert describe(both, Fraction(10), "video") == "video: 3.00 s of 10.00 s (30.0%) damaged at 0:01.00–0:04.00"


def test_errors_are_counted_over_the_whole_output_however_it_is_split() -> None:
    counter = ErrorCounter()
    for part in (b"[h264 @ 0x1] [err", b"or] bad\n[warning] fine\nx.mp4: corrupt decoded fra", b"me in stream 0\n"):
        counter.feed(part)
    assert counter.count == 2
