import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import cycle, pairwise, product
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.acceptance import SourceRefused
from reelstate.media.planning.plan import Plan, make_plan, settle_plan
from reelstate.media.planning.profile import Profile, load_profile, profile_names
from reelstate.media.sources.facts import AudioFacts, SourceFacts, SubtitleFacts, VideoFacts

NTSC = Fraction(30000, 1001)
H264 = load_profile("h264")
SOUND = AudioFacts(index=1, codec="aac", channels=2, sample_rate=44100, duration=Fraction(60), language="eng")
HEIGHTS = sorted(
    {
        *range(1, 4401, 22),
        *(height + step for height in (16, 240, 360, 480, 720, 1080, 1440, 2160) for step in (-1, 0, 1)),
    }
)
ORIENTATIONS = [(0, Fraction(1)), (90, Fraction(1)), (180, Fraction(16, 15)), (270, Fraction(8, 9))]
SHAPES = [
    Fraction(16, 9),
    Fraction(4, 3),
    Fraction(1),
    Fraction(239, 100),
    Fraction(9, 16),
    Fraction(3, 5),
    Fraction(37, 23),
]
RATES = [
    Fraction(24000, 1001),
    Fraction(24),
    Fraction(25),
    NTSC,
    Fraction(30),
    Fraction(50),
    Fraction(60),
    Fraction(15),
    Fraction(1),
    Fraction(2997, 100),
]


def source(width: int = 1920, height: int = 1080, *, seconds: Fraction | int = 60, **changes: Any) -> SourceFacts:
    video = VideoFacts(index=0, codec="h264", width=width, height=height, rate=NTSC, duration=Fraction(seconds))
    whole = {name: changes.pop(name) for name in ("indexed", "audio", "subtitles", "streams") if name in changes}
    facts = SourceFacts(
        container="mov", size=1, duration=Fraction(seconds), indexed=True, video=replace(video, **changes)
    )
    return replace(facts, **whole)


def sources(heights: Iterable[int], orientations: Iterable[tuple[int, Fraction]]) -> Iterator[SourceFacts]:
    """Yield every height in every shape, each with the next of `orientations`."""
    for (short, shape), (rotation, aspect) in zip(product(heights, SHAPES), cycle(orientations), strict=False):
        long = round(short / min(shape, 1 / shape))
        width, height = (long, short) if shape >= 1 else (short, long)
        yield source(width, height, rotation=rotation, sample_aspect=aspect)


@pytest.mark.parametrize("name", profile_names())
def test_every_size_gets_a_valid_ladder(name: str) -> None:
    assert check_ladders(load_profile(name), sources(HEIGHTS, ORIENTATIONS)) > 1000


@pytest.mark.prove
@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("name", profile_names())
def test_every_height_in_every_orientation_gets_a_valid_ladder(name: str, orientation: tuple[int, Fraction]) -> None:
    assert check_ladders(load_profile(name), sources(range(1, 4401), [orientation])) > 25_000


def check_ladders(profile: Profile, candidates: Iterable[SourceFacts]) -> int:
    """Count the sources that get a ladder; the others must be refused for their size."""
    planned = 0
    for facts in candidates:
        assert facts.video is not None
        width, height = facts.video.width, facts.video.height
        if min(*facts.display_size, width, height) < 16 or width * height > 40_000_000:
            with pytest.raises(SourceRefused):
                make_plan(facts, profile)
            continue
        check_ladder(facts, make_plan(facts, profile))
        planned += 1
    return planned


def check_ladder(facts: SourceFacts, plan: Plan) -> None:
    video = facts.video
    assert video is not None
    wide, high = facts.display_size
    assert plan.rungs, "an accepted source has at least one rung"
    for rung in plan.rungs:
        assert rung.width % 2 == rung.height % 2 == 0
        assert 16 <= rung.width <= wide, "never scaled up"
        assert 16 <= rung.height <= high, "never scaled up"
        short, long = sorted((rung.width, rung.height))
        aspect = max(video.display_aspect, 1 / video.display_aspect)
        assert abs(short - long / aspect) <= 2, "the aspect of the source, to the nearest even side"
        assert (rung.width >= rung.height) == (video.display_aspect >= 1) or rung.width == rung.height
    planned, skipped = {rung.name for rung in plan.rungs}, {name for name, _ in plan.skipped}
    profile = {rung.name: rung for rung in plan.profile.rungs}
    fitting = {name for name, rung in profile.items() if rung.height <= top_height(plan.profile, wide, high)}
    tiny = {name for name, reason in plan.skipped if reason.startswith("too small")}
    assert planned == fitting - tiny or (not fitting and planned == {f"{min(wide, high) // 2 * 2}p"})
    assert skipped == (set(profile) - fitting) | tiny
    if fits_a_rung(max(rung.height for rung in plan.profile.rungs), wide, high):
        even = (wide // 2 * 2, high // 2 * 2)
        assert even in {(rung.width, rung.height) for rung in plan.rungs}, "the top rung is as large as the source"
    by_height = sorted(plan.rungs, key=lambda rung: (rung.codec, min(rung.width, rung.height)))
    for lower, higher in pairwise(by_height):
        if lower.codec == higher.codec:
            assert lower.width * lower.height < higher.width * higher.height
            assert lower.max_bitrate < higher.max_bitrate


def fits_a_rung(height: int, wide: int, high: int) -> bool:
    """Return whether a source fits the 16:9 box of a rung, within 5 %."""
    return 20 * min(wide, high) <= 21 * height and 20 * max(wide, high) <= 21 * box_width(height)


def box_width(height: int) -> int:
    return 2 * round(height * 8 / 9)


def top_height(profile: Profile, wide: int, high: int) -> int:
    """Return the height of the smallest rung that a source fits; 0 if it is smaller than all boxes."""
    heights = sorted(rung.height for rung in profile.rungs)
    if min(wide, high) < heights[0] and max(wide, high) < box_width(heights[0]):
        return 0
    return next((height for height in heights if fits_a_rung(height, wide, high)), heights[-1])


@pytest.mark.parametrize(
    "size, ladder",
    [
        ((1920, 1080), ["1080p 1920x1080", "720p 1280x720", "480p 854x480", "360p 640x360", "240p 426x240"]),
        ((1920, 800), ["1080p 1920x800", "720p 1280x534", "480p 854x356", "360p 640x266", "240p 426x178"]),
        ((800, 1920), ["1080p 800x1920", "720p 534x1280", "480p 356x854", "360p 266x640", "240p 178x426"]),
        ((1920, 1088), ["1080p 1920x1088", "720p 1270x720", "480p 848x480", "360p 636x360", "240p 424x240"]),
        ((1440, 1080), ["1080p 1440x1080", "720p 960x720", "480p 640x480", "360p 480x360", "240p 320x240"]),
        ((1000, 600), ["720p 1000x600", "480p 800x480", "360p 600x360", "240p 400x240"]),
        ((1284, 722), ["720p 1284x722", "480p 854x480", "360p 640x360", "240p 426x240"]),
        ((540, 1200), ["720p 540x1200", "480p 384x854", "360p 288x640", "240p 192x426"]),
        ((426, 160), ["240p 426x160"]),
        ((400, 160), ["160p 400x160"]),
    ],
)  # fmt: skip
def test_the_top_rung_of_a_crop_has_the_size_of_the_source(size: tuple[int, int], ladder: list[str]) -> None:
    plan = make_plan(source(*size), H264)
    assert [f"{rung.name} {rung.width}x{rung.height}" for rung in plan.rungs] == ladder


def test_a_rung_has_the_same_size_whichever_are_requested() -> None:
    """A rung that is encoded again later is published beside the earlier ones."""
    whole = make_plan(source(1000, 600), H264)
    assert make_plan(source(1000, 600), H264, qualities=["720p"]).rungs == whole.rungs[:1]


@pytest.mark.parametrize("rate", [Fraction(24000, 1001), Fraction(24), Fraction(25), NTSC, Fraction(50), Fraction(60)])
def test_segments_of_four_seconds_have_two_key_frames_by_default(rate: Fraction) -> None:
    grid = make_plan(source(rate=rate, seconds=600), H264).grid
    assert (grid.segment_frames, grid.gop_frames) == (round(4 * rate), round(2 * rate))
    assert grid.chunk_frames % grid.segment_frames == 0
    assert grid.time(grid.chunk_frames) <= 30


@pytest.mark.parametrize(
    "segment, gop, frames",
    [
        (6, 2, (150, 50)), (2, 2, (50, 50)), (1, 2, (25, 25)), (3, 2, (75, 25)), (4, 1, (100, 25)), (6, 6, (150, 150)),
        (9.56, 2, (239, 239)),
    ],
)  # fmt: skip
def test_a_segment_is_a_whole_number_of_groups_of_pictures(segment: float, gop: float, frames: tuple[int, int]) -> None:
    """239 is prime: such a segment has one key frame."""
    grid = make_plan(source(rate=Fraction(25)), replace(H264, segment_seconds=segment, gop_seconds=gop)).grid
    assert (grid.segment_frames, grid.gop_frames) == frames


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("segment", [1, 2, 4, 6, 6.4, 10])
def test_chunks_and_segments_contain_every_frame_exactly_once(rate: Fraction, segment: float) -> None:
    for frames in [*range(1, 400, 7), 1799, 1800, 1801, 5400, 40_001]:
        for workers in (1, 3, 50):
            profile = replace(H264, segment_seconds=segment, chunk_seconds=12)
            facts = source(seconds=frames / rate, rate=rate, frames=frames)
            check_grid(make_plan(facts, profile, workers_hint=workers), frames)


def check_grid(plan: Plan, frames: int) -> None:
    grid, chunks = plan.grid, plan.grid.chunks()
    assert grid.frames == frames == sum(chunk.frames for chunk in chunks)
    assert grid.chunk_frames % grid.segment_frames == 0
    assert grid.frame_ticks * grid.rate == grid.timescale, "a frame is a whole number of ticks"
    assert abs(grid.segment_frames / grid.rate - Fraction(str(plan.profile.segment_seconds))) <= 1 / grid.rate
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    for chunk in chunks:
        assert sum(chunk.segments) == chunk.frames
        assert all(count == grid.segment_frames for count in chunk.segments[:-1])
        assert chunk.last or chunk.segments[-1] == grid.segment_frames
        assert grid.anchor(chunk) <= chunk.first_frame
    for before, after in pairwise(chunks):
        assert before.first_frame + before.frames == after.first_frame


@pytest.mark.parametrize(
    "rate, variable, expected",
    [
        (NTSC, False, NTSC),
        (Fraction(2997, 100), False, NTSC),
        (Fraction(19001, 634), False, NTSC),
        (Fraction(15), False, Fraction(15)),
        (Fraction(1), False, Fraction(1)),
        (Fraction(120), False, Fraction(60)),
        (Fraction(240), False, Fraction(60)),
        (Fraction(100), False, Fraction(50)),
        (Fraction(120000, 1001), False, Fraction(60000, 1001)),
        (Fraction(27), True, Fraction(25)),
        (Fraction(7), True, Fraction(24000, 1001)),
        (Fraction(48), True, Fraction(50)),
        (Fraction(90), True, Fraction(60)),
    ],
)
def test_the_rate_is_that_of_the_source_or_the_nearest_standard_one(
    rate: Fraction, variable: bool, expected: Fraction
) -> None:
    assert make_plan(source(rate=rate, variable_rate=variable), H264).grid.rate == expected


@pytest.mark.parametrize("max_rate, expected, missing", [(120, 100, 0), (60, 60, 7), (30, 30, 90), (15, 15, 400)])
def test_a_variable_rate_becomes_the_allowed_one_that_hides_fewest_frames(
    max_rate: int, expected: int, missing: int
) -> None:
    rates = {30: 90, 60: 7, 25: 120, 50: 8, 100: 0, 120: 0, 15: 400, 12: 500}
    facts = source(
        rate=Fraction(27), variable_rate=True, frames=1620,
        rates=tuple((Fraction(rate), hidden) for rate, hidden in rates.items()),
    )  # fmt: skip
    plan = settle_plan(make_plan(facts, replace(H264, max_rate=max_rate)), facts)
    assert plan.grid.rate == expected
    reason = (
        f"{missing} of 1,620 frames are not shown: they come faster than {expected} frames/s, which the profile allows"
    )
    assert plan.degraded == ((reason,) if missing else ())


def test_settling_takes_the_rate_from_the_file_that_is_cut() -> None:
    joined = source(rate=Fraction(50), variable_rate=True)
    assert settle_plan(make_plan(joined, H264), source(rate=Fraction(25))).grid.rate == 25


def test_a_rate_of_large_terms_is_rounded_to_fit_a_timescale() -> None:
    grid = make_plan(source(rate=Fraction(123_456_789, 4_567_891)), H264).grid
    assert grid.timescale < 2**31
    assert abs(grid.rate - Fraction(123_456_789, 4_567_891)) < Fraction(1, 1000)


def test_frames_are_counted_if_all_are_kept_and_otherwise_computed() -> None:
    assert make_plan(source(frames=1799), H264).grid.frames == 1799
    assert make_plan(source(rate=Fraction(120), frames=7200), H264).grid.frames == 3600
    assert make_plan(source(frames=1500), H264).grid.frames == round(60 * NTSC)
    assert (
        make_plan(source(frames=1500, rate=Fraction(25), variable_rate=True, seconds=62), H264).grid.frames == 62 * 25
    )


@pytest.mark.parametrize(
    "seconds, workers, gop, indexed, expected",
    [
        (59, 2, None, True, 1),
        (120, 2, None, True, 15),
        (120, 1, None, True, 10),
        (3600, 10, None, True, 129),
        (3600, 10, Fraction(20), True, 60),
        (3600, 10, Fraction(1300), True, 1),
        (3600, 10, None, False, 1),
    ],
)
def test_the_chunk_length_depends_on_workers_and_key_frames(
    seconds: int, workers: int, gop: Fraction | None, indexed: bool, expected: int
) -> None:
    facts = source(seconds=seconds, rate=Fraction(25), longest_gop=gop, indexed=indexed)
    assert len(make_plan(facts, H264, workers_hint=workers).grid.chunks()) == expected


def test_requested_qualities_are_planned_and_the_others_skipped() -> None:
    plan = make_plan(source(), H264, qualities=["480p", "2160p"])
    assert [rung.name for rung in plan.rungs] == ["480p"]
    assert dict(plan.skipped)["720p"] == "not requested"
    assert "larger than the source" in dict(plan.skipped)["2160p"]


@pytest.mark.parametrize("qualities, field", [(["720p", "721p"], r"qualities\[1\]"), ([], "qualities")])
def test_the_error_of_an_unknown_quality_lists_the_known_ones(qualities: list[str], field: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{field}: .*2160p, 1440p, 1080p"):
        make_plan(source(), H264, qualities=qualities)


def test_a_source_below_every_rung_keeps_its_own_size() -> None:
    plan = make_plan(source(175, 99), H264)
    assert [(rung.name, rung.width, rung.height, rung.required) for rung in plan.rungs] == [("98p", 174, 98, True)]
    assert len(plan.skipped) == 7


def test_hdr_is_mapped_or_refused_as_the_profile_says() -> None:
    facts = source(transfer="smpte2084", primaries="bt2020", matrix="unknown", bits=10)
    picture = make_plan(facts, H264).picture
    assert (picture.tonemap, picture.primaries, picture.matrix) == ("smpte2084", "input", "2020_ncl")
    with pytest.raises(SourceRefused, match="high dynamic range"):
        make_plan(facts, replace(H264, hdr="refuse"))


def test_chunks_of_interlaced_sources_have_a_pre_roll() -> None:
    plan = make_plan(source(interlaced=True), H264)
    assert plan.picture.deinterlace
    assert plan.grid.pre_roll > 0
    assert not make_plan(source(), H264).picture.deinterlace


@pytest.mark.parametrize(
    "facts, field",
    [
        (replace(source(), video=None), "source.video"),
        (source(seconds=36_000, frames=2, rate=Fraction(2, 36_000)), "source.rate"),
        (source(seconds=36_000, frames=2), "source.frames"),
        (source(frames=50_000), "source.frames"),
        (source(16_000, 16_000), "source.size"),
        (source(1920, 2), "source.size"),
        (source(0, 0), "source.size"),
        (source(seconds=13 * 3600), "source.duration"),
        (source(seconds=0), "source.duration"),
        (source(rate=Fraction(1000)), "source.rate"),
        (source(rate=Fraction(0)), "source.rate"),
        (source(codec="magicyuv"), "source.codec"),
        (source(streams=65), "source.streams"),
    ],
)
def test_a_source_beyond_the_limits_is_refused_with_a_reason(facts: SourceFacts, field: str) -> None:
    with pytest.raises(SourceRefused) as caught:
        make_plan(facts, H264)
    assert caught.value.field == field
    assert caught.value.hint


def test_a_source_too_small_for_the_only_codec_is_refused() -> None:
    profile = replace(load_profile("av1"), rungs=load_profile("av1").rungs[:1])
    with pytest.raises(SourceRefused, match="too small for av1"):
        make_plan(source(100, 50), profile)


def test_audio_is_as_long_as_the_picture_to_the_sample() -> None:
    plan = make_plan(source(frames=1799, audio=(SOUND, replace(SOUND, index=2, codec="cook"))), H264)
    assert [(track.number, track.index, track.language) for track in plan.audio] == [(0, 1, "eng")]
    assert plan.audio[0].samples == round(1799 / NTSC * 48_000)
    assert plan.degraded == ("audio stream 2 (cook) is left out: its codec is not supported",)


def test_cut_audio_is_degraded() -> None:
    early = source(audio=(replace(SOUND, start=Fraction(-2), duration=Fraction(62)),))
    assert "2.0 s before the picture" in settle_plan(make_plan(early, H264), early).degraded[0]
    late = source(audio=(replace(SOUND, duration=Fraction(90)),))
    assert "s after the picture" in settle_plan(make_plan(late, H264), late).degraded[0]


def test_text_becomes_captions_and_bitmaps_are_left_out() -> None:
    text = SubtitleFacts(index=2, codec="subrip", text=True, language="deu", forced=True)
    bitmap = SubtitleFacts(index=3, codec="hdmv_pgs_subtitle", text=False)
    plan = make_plan(source(subtitles=(bitmap, text)), H264)
    assert [(track.number, track.index, track.language, track.forced) for track in plan.captions] == [
        (0, 2, "deu", True)
    ]
    assert plan.degraded == ("subtitle stream 3 (hdmv_pgs_subtitle) is left out: it is not text",)
    assert make_plan(source(subtitles=(text,)), replace(H264, captions=False)).captions == ()


@pytest.mark.parametrize("seconds", [1, 5, 99, 100, 101, 5000, 43_200])
def test_sprites_cover_the_whole_time(seconds: int) -> None:
    sprites = make_plan(source(seconds=seconds, rate=Fraction(25)), H264).sprites
    assert sprites is not None
    assert (sprites.count - 1) * sprites.every < seconds <= sprites.count * sprites.every
    assert (sprites.sheets - 1) * 100 < sprites.count <= sprites.sheets * 100


def test_a_plan_survives_json_and_keeps_its_id() -> None:
    plan = make_plan(source(audio=(SOUND,)), load_profile("hevc"))
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    assert again.id == plan.id == plan.to_json()["id"]
    assert make_plan(source(audio=(SOUND,)), load_profile("hevc"), qualities=["720p"]).id != plan.id


def test_settling_takes_frames_start_and_streams_from_the_file_that_is_cut() -> None:
    before = source(seconds=600, indexed=False, audio=(SOUND,))
    plan = make_plan(before, H264)
    assert len(plan.grid.chunks()) == 1
    remuxed = source(
        seconds=600, index=1, start=Fraction(7, 5), frames=17_980, audio=(replace(SOUND, index=0, language=""),)
    )
    settled = settle_plan(plan, remuxed)
    assert settled.settled
    assert (settled.grid.frames, settled.grid.origin, settled.picture.index) == (17_980, Fraction(7, 5), 1)
    assert (settled.audio[0].index, settled.audio[0].language) == (0, "eng")
    assert settled.audio[0].samples == round(17_980 / NTSC * 48_000)
    assert len(settled.grid.chunks()) > 10
    assert settled.rungs == plan.rungs


def test_settling_keeps_a_file_without_an_index_in_one_piece() -> None:
    plan = make_plan(source(seconds=600), H264)
    assert len(settle_plan(plan, source(seconds=600, indexed=False)).grid.chunks()) == 1


def test_settling_refuses_what_only_the_frame_count_shows() -> None:
    plan = make_plan(source(seconds=600), H264)
    with pytest.raises(SourceRefused, match="has 2 frames"):
        settle_plan(plan, source(seconds=600, frames=2))
