"""The order of a film: what a spec may say, and what a slip of the pen is told."""

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Json
from reelstate.media.planning.request import TranscodeRequest


@pytest.mark.parametrize(
    "spec, field, hint",
    [
        ({"sorce": "/a.mp4"}, "spec.sorce", "did you mean source?"),
        ({"source": "/a.mp4", "profil": "av1"}, "spec.profil", "did you mean profile?"),
        ({"source": "/a.mp4", "wings": 2}, "spec.wings", "there are source, profile, qualities, captions"),
        ({}, "spec.source", "a path or an address"),
        ([], "spec.source", "a path or an address"),
        ({"source": {"url": "/a.mp4"}}, "spec.source", "a path or an address"),
        ({"source": "a.mp4"}, "spec.source", "begin with /"),
        ({"source": "htps://example.com/a.mp4"}, "spec.source", "http(s)://"),
        ({"source": "/a.mp4", "profile": "h265"}, "profile", "profiles: av1"),
        ({"source": "/a.mp4", "qualities": ["720"]}, "qualities[0]", "720p"),
        ({"source": "/a.mp4", "captions": "dorp"}, "spec.captions", "leave it out"),
        ({"source": "/a.mp4", "reuse_from": "7"}, "spec.reuse_from", "reel videos show"),
    ],
)
def test_what_can_not_be_is_refused_by_its_name_with_what_was_meant(spec: Json, field: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        TranscodeRequest.check(spec)
    assert refused.value.field == field
    assert hint in refused.value.hint


def test_what_a_version_of_a_video_says_is_known() -> None:
    spec = {"source": "/a.mp4", "profile": "h264", "qualities": ["720p"], "captions": "keep", "reuse_from": 7}
    assert TranscodeRequest.of({**spec, "video_id": 8}).reuse_from == 7
    TranscodeRequest.check({"source": "/a.mp4", "captions": None, "reuse_from": None})
