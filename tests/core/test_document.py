"""Values from outside become JSON that both databases can hold, or an error that names the path."""

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.document import encode, encode_optional, plain_text, shorten, shorten_list
from reelstate.core.errors import InvalidRequest, TooLarge
from reelstate.core.model import Json
from tests.core.properties import quickly

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@quickly
@given(values)
def test_any_json_comes_back_as_it_was(value: Json) -> None:
    assert json.loads(encode("spec", value, 10**9)) == value


@quickly
@given(values)
def test_the_size_is_that_of_the_bytes(value: Json) -> None:
    size = len(encode("spec", value, 10**9).encode())
    assert encode("spec", value, size)
    with pytest.raises(TooLarge) as refused:
        encode("spec", value, size - 1)
    assert (refused.value.field, refused.value.size, refused.value.limit) == ("spec", size, size - 1)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        [-math.inf],
        {"a": object()},
        {"a": b"bytes"},
        {("a", "b"): 1},
        {1, 2},
        datetime(2026, 1, 1, tzinfo=UTC),
        "\ud800",
        {"a": ["\udfff"]},
        {"\ud800": 1},
    ],
)
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="is not JSON") as refused:
        encode("result", value, 10**6)
    assert refused.value.field == "result"
    assert refused.value.hint


def test_what_contains_itself_or_is_too_deep_is_refused() -> None:
    circle: list[Json] = []
    circle.append(circle)
    deep: list[Json] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(InvalidRequest, match="is not JSON"):
            encode("spec", value, 10**6)


@pytest.mark.parametrize(
    "value, field",
    [
        ("\x00", "spec"),
        ({"a": {"b": [1, "x\x00"]}}, "spec.a.b[1]"),
        ({"a\x00": 1}, "spec"),
        ([[], ["", "\x00"]], "spec[1][1]"),
        (("a", "\x00"), "spec[1]"),
    ],
)
def test_a_nul_is_refused_where_it_is(value: Json, field: str) -> None:
    with pytest.raises(InvalidRequest, match="NUL") as refused:
        encode("spec", value, 10**6)
    assert refused.value.field == field


@pytest.mark.parametrize("value", ["\\u0000", "\\\\u0000", {"\\u0000": "\\u0000"}, "\\x00"])
def test_what_only_looks_like_a_nul_is_accepted(value: Json) -> None:
    assert json.loads(encode("spec", value, 10**6)) == value


def test_nothing_stays_nothing() -> None:
    assert encode_optional("checkpoint", None, 1) is None
    assert encode_optional("checkpoint", 0, 1) == "0"


@quickly
@given(st.text(), st.integers(16, 200))
def test_a_shortened_text_is_short_enough_and_can_be_stored(given_text: str, limit: int) -> None:
    short = shorten(given_text, limit)
    assert len(short) <= limit
    assert "\x00" not in short
    assert short.encode().decode() == short


@quickly
@given(text, st.integers(16, 200))
def test_a_short_text_stays_as_it_is(given_text: str, limit: int) -> None:
    if len(given_text) <= limit:
        assert shorten(given_text, limit) == given_text


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    assert shorten("a" * 50 + "b" * 50, 25) == "a" * 10 + " ... " + "b" * 10


@quickly
@given(text)
def test_a_plain_text_is_kept_as_it_is_or_refused(given_text: str) -> None:
    size = len(given_text.encode())
    assert plain_text("name", given_text, size) == given_text
    with pytest.raises(TooLarge):
        plain_text("name", given_text + "x", size)


@pytest.mark.parametrize("value", ["a\x00", "\ud800"])
def test_a_plain_text_that_can_not_be_stored_is_refused(value: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        plain_text("name", value, 100)
    assert refused.value.field == "name"


@pytest.mark.parametrize("limit", [100, 1000, 16_384])
@pytest.mark.parametrize(
    "words", [[], ["a"], ["a", "b" * 50_000, "c"], ['\x01"' * 9_000] * 9, ["ü" * 700] * 90, ["-i"] * 9_000]
)
def test_a_list_of_arguments_is_cut_in_its_middle(words: list[str], limit: int) -> None:
    short = shorten_list(words, limit)
    assert len(json.dumps(short, ensure_ascii=False, separators=(",", ":")).encode()) <= limit
    assert "…" in short or len(short) == len(words)
    if len(words) == 9_000:
        assert short.index("…") == len(short) // 2 > 1
