import pytest

from reelstate.media.language import language_tag


@pytest.mark.parametrize(
    "said, tag",
    [
        ("eng", "en"), ("ger", "de"), ("deu", "de"), ("ENG", "en"), ("en", "en"), ("pt-BR", "pt-BR"),
        ("por-BR", "pt-BR"),
        ("tlh", "tlh"), ("und", ""), ("", ""), ('x",URI="', ""), ("not a language", ""),
    ],
)  # fmt: skip
def test_a_language_is_told_by_its_shortest_tag(said: str, tag: str) -> None:
    assert language_tag(said) == tag
