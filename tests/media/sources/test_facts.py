import json
from dataclasses import replace
from fractions import Fraction

import pytest

from reelstate.media.sources.facts import AudioFacts, SourceFacts, SubtitleFacts, VideoFacts

NTSC = Fraction(30000, 1001)
VIDEO = VideoFacts(
    index=0, codec="h264", width=1920, height=1080, rate=NTSC, duration=Fraction(60), longest_gop=Fraction(25, 3)
)
SOUND = AudioFacts(index=1, codec="aac", channels=2, sample_rate=48000, duration=Fraction(60), language="eng")
CAPTIONS = SubtitleFacts(index=2, codec="subrip", text=True)
FACTS = SourceFacts(
    container="matroska",
    size=1000,
    duration=Fraction(60),
    indexed=True,
    video=VIDEO,
    audio=(SOUND,),
    subtitles=(CAPTIONS,),
)


def test_facts_survive_json() -> None:
    assert SourceFacts.from_json(json.loads(json.dumps(FACTS.to_json()))) == FACTS
    assert FACTS.to_json()["video"]["rate"] == "30000/1001"


def test_facts_without_video_survive_json() -> None:
    silent = replace(FACTS, video=None, audio=())
    assert SourceFacts.from_json(silent.to_json()) == silent
    assert silent.display_size == (0, 0)


def test_a_field_of_a_newer_version_is_ignored() -> None:
    assert SourceFacts.from_json(FACTS.to_json() | {"new_field": 1}) == FACTS


@pytest.mark.parametrize(
    "rotation, aspect, size",
    [
        (0, Fraction(1), (1920, 1080)),
        (90, Fraction(1), (1080, 1920)),
        (180, Fraction(1), (1920, 1080)),
        (270, Fraction(4, 3), (1080, 2560)),
        (0, Fraction(0), (1920, 1080)),
    ],
)
def test_the_display_size_is_upright_and_has_square_pixels(
    rotation: int, aspect: Fraction, size: tuple[int, int]
) -> None:
    assert replace(VIDEO, rotation=rotation, sample_aspect=aspect).display_size == size


def test_the_transfer_decides_about_hdr() -> None:
    assert not FACTS.hdr
    assert replace(FACTS, video=replace(VIDEO, transfer="smpte2084")).hdr
