"""Results from other machines: whatever a document contains, a record has allowed values, or is refused."""

import json
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reelstate.config import Settings
from reelstate.media.pipeline import transcode_pipeline
from reelstate.media.planning.grid import MAX_FRAMES, Chunk, Grid
from reelstate.media.planning.plan import Plan, make_plan
from reelstate.media.planning.profile import load_profile
from reelstate.media.records import MAX_NUMBER, MAX_TEXT, MalformedRecord
from reelstate.media.results import RESULTS, read_result
from reelstate.media.sources.facts import AudioFacts, SourceFacts, SubtitleFacts, VideoFacts
from reelstate.media.tools import MediaTools

Json = Any
VIDEO = VideoFacts(
    index=0, codec="hevc", width=1920, height=1080, rate=Fraction(25), duration=Fraction(60), transfer="smpte2084"
)
FACTS = SourceFacts(
    container="mov,mp4",
    size=1000,
    duration=Fraction(60),
    indexed=True,
    video=VIDEO,
    audio=(AudioFacts(index=1, codec="aac", channels=2, sample_rate=48000, duration=Fraction(60), language="eng"),),
    subtitles=(SubtitleFacts(index=2, codec="subrip", text=True),),
)
PLAN = make_plan(FACTS, load_profile("h264"))
FILE = {"key": "versions/1/encode/0/1/720p.mp4", "size": 9, "sha256": "0" * 64}
TRACK = {**FILE, "init_hash": "0" * 64, "timescale": 12800, "frames": 50, "segments": [[0, 9, 512, 3]], "init": FILE}
LABELS = {"number": 0, "language": "eng", "title": "", "default": True}
SPRITES = {"sheets": [FILE], "every": 1, "width": 160, "height": 90, "columns": 10, "rows": 10, "count": 60}
DOCUMENTS: dict[str, Json] = {
    "validate": {"profile": "h264", "size": 1000},
    "probe": FACTS.to_json(),
    "plan": PLAN.to_json(),
    "fetch": {
        "source": "0" * 64,
        "original": "0" * 64,
        "size": 1000,
        "facts": FACTS.to_json(),
        "plan": PLAN.to_json(),
        **PLAN.capabilities(),
        "chunks": [chunk.to_json() for chunk in PLAN.grid.chunks()],
        "audio": PLAN.to_json()["audio"],
        "captions": PLAN.to_json()["captions"],
    },
    "audio": {**TRACK, **LABELS, "samples": 96_000},
    "encode": {
        "chunk": 0,
        "rungs": {"720p": {**TRACK, "score": {"measure": "ssim", "mean": 0.9}}},
        "failed": {"360p": "it crashed"},
        "encoder": "5.1.9",
    },
    "thumbnails": {"poster": FILE, "sprites": SPRITES},
    "captions": {**FILE, **LABELS, "forced": False, "cues": 3},
    "package": {
        "manifest": FILE,
        "master": "versions/1/package/0/1/master.m3u8",
        "dash": "versions/1/package/0/1/manifest.mpd",
        "rungs": ["720p"],
        "frames": 50,
        "duration": 2.0,
        "scores": {"720p": {"ssim": 0.9}},
        "degraded": ["360p: it crashed"],
    },
    "verify": {"files": 3, "bytes": 9},
    "publish": {
        "master": "versions/1/master.m3u8",
        "dash": "versions/1/manifest.mpd",
        "manifest": "versions/1/manifest.json",
        "poster": None,
        "rungs": ["720p"],
        "duration": 2.0,
        "scores": {},
        "degraded": [],
    },
}
"""A result of every stage, as a worker sends it."""
HOSTILE: tuple[Json, ...] = (
    "1e3000000",
    "1/0",
    "9" * 5000,
    -1,
    2**64,
    10**400,
    1e308,
    float("nan"),
    True,
    None,
    "",
    "x" * 100_000,
    "\x00",
    "\ud800",
    "null,metadata=mode=print:file=/tmp/canary",
    "smpte2084:t=linear,drawtext=textfile=/etc/shadow",
    "../../../../tmp/canary",
    "-i",
    "file:/etc/passwd",
    [],
    {},
    [[]] * 2000,
    {"a": {}},
    [0] * 5,
)


def paths(value: Json, path: tuple[Json, ...] = ()) -> Iterator[tuple[Json, ...]]:
    """Yield the path to every value in a document, and to the document itself."""
    yield path
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(item, (*path, name))


def put(document: Json, path: tuple[Json, ...], value: Json) -> Json:
    """Return the document with another value at a path."""
    if not path:
        return value
    copied = json.loads(json.dumps(document))
    inner = copied
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return copied


def require_bounded(value: Any) -> None:
    """Require that every field of a record is within its limits."""
    if is_dataclass(value):
        for field in fields(value):
            require_bounded(getattr(value, field.name))
    elif isinstance(value, dict):
        for name, item in value.items():
            require_bounded(name)
            require_bounded(item)
    elif isinstance(value, tuple):
        for item in value:
            require_bounded(item)
    elif isinstance(value, str):
        assert len(value) <= 64 * 1024
        assert "\x00" not in value
        value.encode()
    elif value is not None:
        assert type(value) in (int, float, bool, Fraction)
        assert abs(value) <= MAX_NUMBER


def texts_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if is_dataclass(value):
        for field in fields(value):
            yield from texts_of(getattr(value, field.name), field.name)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from texts_of(item, path)
    elif isinstance(value, str):
        yield path, value


@pytest.mark.parametrize("stage", RESULTS)
def test_a_result_as_a_stage_makes_it_is_read(stage: str) -> None:
    record = read_result(stage, json.loads(json.dumps(DOCUMENTS[stage])))
    require_bounded(record)
    assert read_result(stage, json.loads(json.dumps(record.to_json()))) == record


def test_every_stage_of_the_pipeline_has_a_record(tmp_path: Path) -> None:
    tools = MediaTools.from_settings(Settings(scratch=str(tmp_path), storage_url=str(tmp_path / "media")))
    assert list(RESULTS) == list(transcode_pipeline(tools).handlers)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_value_of_any_record_is_accepted_without_a_limit(data: st.DataObject) -> None:
    stage = data.draw(st.sampled_from(sorted(RESULTS)))
    path = data.draw(st.sampled_from(list(paths(DOCUMENTS[stage]))))
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
    value = data.draw(st.sampled_from(HOSTILE) | anything)
    try:
        record = read_result(stage, put(DOCUMENTS[stage], path, value))
    except MalformedRecord:
        return
    require_bounded(record)
    for name, text in texts_of(record):
        if name not in ("title", "language", "layout", "encoder", "warnings", "skipped", "needs", "wants", "degraded"):
            assert not set(text) & set(" =:;'\"\\[]\n"), (name, text)


def test_a_number_that_would_take_minutes_is_refused_before_it_is_computed() -> None:
    began = time.thread_time()
    for number in ("1e3000000", "1" * 10_000_000, "1/0", "0x10", " 1", "1_0", "٣"):
        with pytest.raises(MalformedRecord, match="origin"):
            Plan.from_json(put(PLAN.to_json(), ("grid", "origin"), number))
    assert time.thread_time() - began < 10


def test_a_number_that_no_float_can_hold_is_refused() -> None:
    path = ("rungs", "720p", "score", "mean")
    with pytest.raises(MalformedRecord, match=r"encode.rungs.720p.score.mean: is out of range"):
        read_result("encode", put(DOCUMENTS["encode"], path, 10**400))


def test_a_grid_of_too_many_chunks_is_refused_before_they_are_made() -> None:
    with pytest.raises(MalformedRecord, match="segments or chunks"):
        Plan.from_json(put(put(PLAN.to_json(), ("grid", "frames"), MAX_FRAMES), ("grid", "chunk_frames"), 1))


@pytest.mark.parametrize("field", ["tonemap", "primaries", "matrix"])
def test_a_picture_has_only_texts_of_the_list(field: str) -> None:
    text = "smpte2084:pin=input[a];movie=/etc/passwd"
    with pytest.raises(MalformedRecord, match=f"picture.{field}"):
        Plan.from_json(put(PLAN.to_json(), ("picture", field), text))


@pytest.mark.parametrize("name", ["../../x", "a/b", "-i", "A", "", "x" * 33, "720p\n"])
def test_a_rung_has_a_name_that_is_a_file_and_nothing_else(name: str) -> None:
    with pytest.raises(MalformedRecord, match=r"rungs\[0\].name"):
        Plan.from_json(put(PLAN.to_json(), ("rungs", 0, "name"), name))


def test_a_field_that_a_record_needs_must_be_there_and_one_that_it_lacks_must_not() -> None:
    with pytest.raises(MalformedRecord, match=r"encode.rungs.720p.frames: is missing"):
        read_result("encode", put(DOCUMENTS["encode"], ("rungs", "720p"), {"key": "a", "size": 1}))
    with pytest.raises(MalformedRecord, match=r"encode.extra: there is no such field"):
        read_result("encode", {**DOCUMENTS["encode"], "extra": 1})


def test_a_text_is_as_long_as_it_may_be() -> None:
    warned = replace(FACTS, warnings=("x" * MAX_TEXT,))
    assert SourceFacts.from_json(warned.to_json()) == warned
    with pytest.raises(MalformedRecord, match=r"warnings\[0\]"):
        SourceFacts.from_json(replace(FACTS, warnings=("x" * (MAX_TEXT + 1),)).to_json())


def test_chunks_and_grids_survive_json() -> None:
    for chunk in PLAN.grid.chunks():
        assert Chunk.from_json(json.loads(json.dumps(chunk.to_json()))) == chunk
    grid = Grid(rate=Fraction(25), frames=1000, segment_frames=50, chunk_frames=150, origin=Fraction(0))
    assert [grid.chunk(number) for number in range(7)] == list(grid.chunks())
