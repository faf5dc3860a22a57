"""Names of tracks are unique and printable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.formats.labels import MAX_NAME, TrackLabel, printable, track_names
from tests.core.properties import quickly


def track(title: str = "", language: str = "", *, forced: bool = False, commentary: bool = False) -> TrackLabel:
    return TrackLabel(title=title, language=language, forced=forced, commentary=commentary)


@pytest.mark.parametrize(
    "tracks, names",
    [
        ([track(language="eng")], ["English"]),
        ([track("Director", "eng")], ["Director"]),
        ([track(language="eng"), track(language="en"), track(language="eng")], ["English", "English 2", "English 3"]),
        ([track("A"), track("A 2"), track("A")], ["A", "A 2", "A 3"]),
        ([track(language="deu"), track(language="deu", forced=True)], ["German", "German (forced)"]),
        ([track(language="fra", commentary=True)], ["French (commentary)"]),
        ([track(), track(" ", "und"), track(language="qaa")], ["Audio 1", "Audio 2", "qaa"]),
        ([track('x",URI="file:///\n#EXT-X-KEY')], ["x',URI='file:/// #EXT-X-KEY"]),
        ([track("a\u202eb\x00c\td")], ["a b c d"]),
    ],
)
def test_tracks_are_named(tracks: list[TrackLabel], names: list[str]) -> None:
    assert track_names(tracks, "Audio") == names


@quickly
@given(st.lists(st.tuples(st.text(), st.sampled_from(["", "eng", "und", "qaa", "pt-BR"])), max_size=8))
def test_names_are_unique_not_empty_and_safe_in_a_playlist(found: list[tuple[str, str]]) -> None:
    names = track_names([track(title, language) for title, language in found], "Audio")
    assert len(set(names)) == len(names)
    for name in names:
        assert name == printable(name)
        assert name.isprintable()
        assert '"' not in name
        assert 0 < len(name) <= MAX_NAME + 3
