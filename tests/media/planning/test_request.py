"""Specs of transcode jobs, and the hints of their errors."""

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Json
from reelstate.media.planning.request import TranscodeRequest


@pytest.mark.parametrize(
    "spec, field, hint",
    [
        ({"sorce": "/a.mp4"}, "spec.sorce", "did you mean source?"),
        ({"source": "/a.mp4", "profil": "av1"}, "spec.profil", "did you mean profile?"),
        ({"source": "/a.mp4", "zoom": 2}, "spec.zoom", "fields: source, profile, qualities, captions"),
        ({}, "spec.source", "/videos/a.mp4"),
        ([], "spec.source", "/videos/a.mp4"),
        ({"source": {"url": "/a.mp4"}}, "spec.source", "/videos/a.mp4"),
        ({"source": "a.mp4"}, "spec.source", "start it with /"),
        ({"source": "htps://example.com/a.mp4"}, "spec.source", "http(s)://"),
        ({"source": "/a.mp4", "profile": "h265"}, "profile", "profiles: av1"),
        ({"source": "/a.mp4", "qualities": ["720"]}, "qualities[0]", "720p"),
        ({"source": "/a.mp4", "captions": "dorp"}, "spec.captions", "expected keep or drop"),
        ({"source": "/a.mp4", "reuse_from": "7"}, "spec.reuse_from", "reel videos show"),
    ],
)
def test_an_invalid_spec_is_refused_with_its_field_and_a_hint(spec: Json, field: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        TranscodeRequest.check(spec)
    assert refused.value.field == field
    assert hint in refused.value.hint


def test_the_fields_of_a_version_are_accepted() -> None:
    spec = {"source": "/a.mp4", "profile": "h264", "qualities": ["720p"], "captions": "keep", "reuse_from": 7}
    assert TranscodeRequest.from_spec({**spec, "video_id": 8}).reuse_from == 7
    TranscodeRequest.check({"source": "/a.mp4", "captions": None, "reuse_from": None})
