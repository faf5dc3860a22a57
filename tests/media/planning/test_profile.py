import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.profile import SCHEMA, Profile, load_profile, parse_profile, profile_names
from reelstate.media.planning.request import TranscodeRequest

GOOD: dict[str, Any] = {
    "name": "mine",
    "rungs": [
        {"name": "720p", "height": 720, "crf": 22, "max_bitrate": 3_000_000},
        {"name": "480p", "height": 480, "crf": 23, "max_bitrate": 1_500_000, "required": False},
        {"name": "av1-480p", "height": 480, "codec": "av1", "crf": 40, "max_bitrate": 800_000},
    ],
    "audio": {"bitrate": 96_000},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the good profile with one value changed, by a path such as `rungs.2.crf`."""
    document = deepcopy(GOOD)
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    parent: Any = document
    for part in parents:
        parent = parent[part]
    parent[last] = value
    return document


@pytest.mark.parametrize("name", profile_names())
def test_every_built_in_profile_is_valid_and_has_the_name_of_its_file(name: str) -> None:
    assert load_profile(name).name == name


def test_the_default_is_an_h264_ladder_from_2160_to_240() -> None:
    assert [rung.height for rung in load_profile().rungs] == [2160, 1440, 1080, 720, 480, 360, 240]
    assert {rung.codec for rung in load_profile().rungs} == {"h264"}


@pytest.mark.parametrize("name", profile_names())
def test_every_built_in_profile_has_a_required_h264_rung(name: str) -> None:
    assert any(rung.codec == "h264" and rung.required for rung in load_profile(name).rungs)


def test_missing_fields_have_defaults() -> None:
    profile = parse_profile(GOOD)
    first, second, third = profile.rungs
    assert (first.codec, first.preset, first.buffer, first.required) == ("h264", "fast", 6_000_000, True)
    assert not second.required
    assert third.preset == "8"
    assert profile.audio is not None
    assert (profile.audio.bitrate, profile.audio.sample_rate) == (96_000, 48_000)
    assert (profile.segment_seconds, profile.gop_seconds, profile.chunk_seconds) == (4, 2, 30)


def test_the_defaults_of_the_schema_are_those_of_the_records() -> None:
    profile = parse_profile({"name": "mine", "rungs": GOOD["rungs"][:1]})
    for name, field in SCHEMA["properties"].items():
        if "default" in field:
            assert getattr(profile, name) == field["default"], name
    for name, field in SCHEMA["properties"]["audio"]["properties"].items():
        assert getattr(profile.audio, name) == field["default"], name


def test_audio_can_be_left_out() -> None:
    assert parse_profile({**GOOD, "audio": None}).audio is None


def test_json_and_yaml_files_are_equivalent(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(GOOD))
    (tmp_path / "b.yaml").write_text(
        "name: mine\n"
        "rungs:\n"
        "  - {name: 720p, height: 720, crf: 22, max_bitrate: 3000000}\n"
        "  - {name: 480p, height: 480, crf: 23, max_bitrate: 1500000, required: false}\n"
        "  - {name: av1-480p, height: 480, codec: av1, crf: 40, max_bitrate: 800000}\n"
        "audio: {bitrate: 96000}\n"
    )
    assert load_profile(str(tmp_path / "a.json")) == load_profile(tmp_path / "b.yaml") == parse_profile(GOOD)


def test_the_example_of_the_reference_is_a_profile(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs/reference/profiles.md"
    (tmp_path / "example.yaml").write_text(page.read_text().split("```yaml")[1].split("```")[0])
    assert [rung.name for rung in load_profile(tmp_path / "example.yaml").rungs] == ["1080p", "480p"]
    with pytest.raises(InvalidRequest) as caught:
        load_profile(changed("rungs.1.crf", 70))
    assert f"`{caught.value}`" in page.read_text()


def test_a_profile_survives_json() -> None:
    profile = load_profile("hevc")
    assert Profile.from_json(json.loads(json.dumps(profile.to_json()))) == profile


@pytest.mark.parametrize(
    "path, value, field",
    [
        ("rungs.2.crf", 64, "rungs[2].crf"),
        ("rungs.1.crf", 52, "rungs[1].crf"),
        ("rungs.1.crf", 0, "rungs[1].crf"),
        ("rungs.0.crf", "22", "rungs[0].crf"),
        ("rungs.0.crf", True, "rungs[0].crf"),
        ("rungs.0.height", 721, "rungs[0].height"),
        ("rungs.0.height", 4322, "rungs[0].height"),
        ("rungs.0.height", 720.0, "rungs[0].height"),
        ("rungs.0.colour", "red", "rungs[0].colour"),
        ("rungs.0.name", "480p", "rungs[1].name"),
        ("rungs.0.name", "../etc", "rungs[0].name"),
        ("rungs.0.name", "720p\n", "rungs[0].name"),
        ("rungs.0.codec", "magicyuv", "rungs[0].codec"),
        ("rungs.0.preset", "8", "rungs[0].preset"),
        ("rungs.2.preset", "fast", "rungs[2].preset"),
        ("rungs.0.preset", "fast -vf movie=/etc/passwd", "rungs[0].preset"),
        ("rungs.0.max_bitrate", 10**12, "rungs[0].max_bitrate"),
        ("rungs.0", [], "rungs[0]"),
        ("rungs", [], "rungs"),
        ("rungs", None, "rungs"),
        ("audio.channels", 6, "audio.channels"),
        ("audio.codec", "opus", "audio.codec"),
        ("audio", "aac", "audio"),
        ("segment_seconds", float("nan"), "segment_seconds"),
        ("chunk_seconds", 0, "chunk_seconds"),
        ("hdr", "keep", "hdr"),
        ("filter", "scale=1:1", "filter"),
    ],
)
def test_an_error_has_the_path_of_its_field(path: str, value: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load_profile(changed(path, value))
    assert caught.value.field == field
    assert caught.value.hint


@pytest.mark.parametrize("name", ["name", "height", "crf", "max_bitrate"])
def test_the_error_of_a_missing_field_has_its_path(name: str) -> None:
    document = deepcopy(GOOD)
    del document["rungs"][1][name]
    with pytest.raises(InvalidRequest, match=rf"rungs\[1\]\.{name}: is missing"):
        load_profile(document)


def test_the_error_of_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match="av1, fast, h264, hevc, small"):
        load_profile("h265")


@pytest.mark.parametrize("name", ["../h264", "", "profiles/h264"])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(InvalidRequest, match="there is no profile"):
        load_profile(name)


@pytest.mark.parametrize(
    "file, text",
    [("a.json", "{"), ("a.yaml", "a: ["), ("a.yaml", "!!python/object/apply:os.getcwd []"), ("a.json", "[" * 9000)],
)
def test_a_file_that_can_not_be_parsed_is_refused(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(InvalidRequest, match="can't be parsed"):
        load_profile(tmp_path / file)


def test_a_missing_or_too_large_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="can't be read"):
        load_profile(tmp_path / "none.json")
    (tmp_path / "large.yaml").write_text("#" * 300_000)
    with pytest.raises(InvalidRequest, match="too large"):
        load_profile(tmp_path / "large.yaml")


def test_a_document_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_profile(["720p"])
    assert caught.value.field == "profile"


@pytest.mark.parametrize("name", ["secret.yaml", "secret.json"])
def test_a_spec_can_not_name_a_file_of_the_worker(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[hunter2]")
    with pytest.raises(InvalidRequest, match="there is no profile") as refused:
        TranscodeRequest.from_spec({"source": "/a.mp4", "profile": str(tmp_path / name)})
    assert "hunter2" not in str(refused.value)
    (tmp_path / name).write_text(json.dumps(GOOD))
    with pytest.raises(InvalidRequest, match="there is no profile"):
        TranscodeRequest.from_spec({"source": "/a.mp4", "profile": str(tmp_path / name)})
    assert TranscodeRequest.from_spec({"source": "/a.mp4", "profile": GOOD}).profile == parse_profile(GOOD)
