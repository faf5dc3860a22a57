import pytest

from reelstate.media.formats.language import language_name, language_tag


@pytest.mark.parametrize(
    "language, tag",
    [
        ("eng", "en"), ("ger", "de"), ("deu", "de"), ("ENG", "en"), ("en", "en"), ("pt-BR", "pt-BR"),
        ("por-BR", "pt-BR"),
        ("tlh", "tlh"), ("und", ""), ("", ""), ('x",URI="', ""), ("not a language", ""),
    ],
)  # fmt: skip
def test_a_language_has_its_shortest_tag(language: str, tag: str) -> None:
    assert language_tag(language) == tag


@pytest.mark.parametrize(
    "language, name",
    [
        ("eng", "English"), ("ger", "German"), ("deu", "German"), ("DE", "German"), ("nob", "Norwegian Bokmål"),
        ("pt-BR", "Portuguese (BR)"), ("por-br", "Portuguese (BR)"), ("zho-Hans", "Chinese (Simplified)"),
        ("zh-Hant-TW", "Chinese (Traditional, TW)"), ("es-419", "Spanish (Latin America)"), ("gsw", "Swiss German"),
        ("qaa", "qaa"), ("xyz-AB", "xyz-AB"), ("und", ""), ("UND", ""), ("", ""), ('x",URI="', ""),
    ],
)  # fmt: skip
def test_a_language_has_a_name_or_keeps_its_code(language: str, name: str) -> None:
    assert language_name(language) == name
