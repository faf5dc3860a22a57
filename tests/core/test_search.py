"""The grammar of searches: what is parsed, that parsing and formatting are inverse, and where mistakes are."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reelstate.core.errors import InvalidSearch
from reelstate.core.machine import ANY_PHASE, PHASES, JobStatus
from reelstate.core.search import UNITS, Age, Search, SpecTerm, Suggestion, TimeRange, parse, suggestions

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple)
days = st.dates(date(1970, 1, 2), date(9000, 12, 31))
moments = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
ages = st.builds(Age, st.integers(1, 99_999), st.sampled_from(sorted(UNITS)))
segments = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_-]{0,8}\Z")
spec_terms = st.builds(SpecTerm, st.lists(segments, min_size=1, max_size=4).map(tuple), texts, st.booleans())
ranges = st.one_of(
    st.builds(TimeRange, st.one_of(days, moments, ages)),
    st.builds(TimeRange, st.none(), st.one_of(days, moments, ages)),
    st.tuples(days, days).map(sorted).map(lambda pair: TimeRange(*pair)),
    st.tuples(moments, moments).map(sorted).map(lambda pair: TimeRange(*pair)),
    st.builds(TimeRange, st.one_of(days, moments), ages),
    st.builds(TimeRange, ages, st.one_of(days, moments)),
)
searches = st.builds(
    Search,
    statuses=st.lists(st.sampled_from([*map(str, JobStatus), ANY_PHASE]), max_size=4, unique=True).map(tuple),
    pipelines=st.one_of(st.just(()), names),
    user=st.none() | texts,
    group=st.none() | texts,
    schedule=st.none() | texts,
    key=st.none() | texts,
    created=st.none() | ranges,
    finished=st.none() | ranges,
    priority=st.none() | st.tuples(st.integers(0, 10), st.integers(0, 10)).map(sorted).map(tuple),
    errors=st.lists(texts, max_size=3).map(tuple),
    spec=st.lists(spec_terms, max_size=3).map(tuple),
)


@given(searches)
@example(Search(errors=("=0",)))
def test_what_is_formatted_is_parsed_again(search: Search) -> None:
    assert parse(str(search)) == search


@given(st.text(st.sampled_from('status:faild,user=~"\\.<>.0123456789 spec.a created2026-11-0hd'), max_size=40))
def test_any_text_is_parsed_or_refused_with_a_position(text: str) -> None:
    refused: InvalidSearch | None = None
    try:
        assert parse(str(parse(text))) == parse(text)
    except InvalidSearch as error:
        refused = error
    assert refused is None or (refused.position is not None and 0 <= refused.position <= len(text))


def test_every_field() -> None:
    search = parse(
        "status:failed,quarantined pipeline:transcode user:ada schedule:nightly key:order-17"
        " created:2026-11-01..2026-11-18 finished:>2h error~\"out of memory\" spec.source~='x' priority:>=7"
    )
    assert search == Search(
        statuses=("failed", "quarantined"),
        pipelines=("transcode",),
        user="ada",
        schedule="nightly",
        key="order-17",
        created=TimeRange(date(2026, 11, 1), date(2026, 11, 18)),
        finished=TimeRange(None, Age(2, "h")),
        priority=(7, 10),
        errors=("out of memory",),
        spec=(SpecTerm(("source",), "'x'", part=True),),
    )
    assert parse("status:running").wanted == list(PHASES)
    assert parse("").wanted is None


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)),
        (
            "2026-11-01..2026-11-18",
            datetime(2026, 11, 1, tzinfo=UTC),
            datetime(2026, 11, 19, tzinfo=UTC),
        ),
        (">2026-11-01", datetime(2026, 11, 2, tzinfo=UTC), None),
        (">=2026-11-01", datetime(2026, 11, 1, tzinfo=UTC), None),
        ("<2026-11-01", None, datetime(2026, 11, 1, tzinfo=UTC)),
        ("<=2026-11-01", None, datetime(2026, 11, 2, tzinfo=UTC)),
        (">=2026-11-01T12:30+02:00", datetime(2026, 11, 1, 10, 30, tzinfo=UTC), None),
        ("<2h", NOW - timedelta(hours=2), None),
        (">2h", None, NOW - timedelta(hours=2)),
        ("7d..1d", NOW - timedelta(days=7), NOW - timedelta(days=1)),
    ],
)
def test_times(text: str, start: datetime | None, end: datetime | None) -> None:
    times = parse(f"created:{text}").created
    assert times is not None
    assert times.bounds(NOW) == (start, end)


@pytest.mark.parametrize(
    "text, character, hint",
    [
        ("statuz:failed", 1, "did you mean status?"),
        ("user:ada stats:failed", 10, "did you mean status?"),
        ("colour:red", 1, "fields: status, pipeline"),
        ("status:faild", 8, "did you mean failed?"),
        ("status:failed,pendin", 15, "did you mean pending?"),
        ("failed", 1, "such as status:failed"),
        ("user:", 6, "such as user:ada"),
        ("user:a,b", 8, 'as "a,b"'),
        ('user:"ada', 6, 'close it with "'),
        ('user:"ada"x', 11, "quotes"),
        ("user~ada", 5, "such as user:ada"),
        ("error:x", 6, "such as error~"),
        ("spec=1", 1, "such as spec.source"),
        ("spec.a.0=1", 1, "such as spec.source"),
        ("created:2026-11-31", 9, "2026-11-01"),
        ("created:2h", 9, "<2h is less than 2h ago"),
        ("created:2026-11-18..2026-11-01", 9, "earlier"),
        ("created:2026-11-01..x", 21, "2026-11-01"),
        ("created:0001-01-01", 9, "2026-11-01"),
        ("priority:high", 10, "priority:>=7"),
        ("priority:7..3", 10, "lower one first"),
        ("user:a user:b", 8, "commas"),
        (" ".join(["error~x"] * 21), 161, "less at once"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_a_hint(text: str, character: int, hint: str) -> None:
    with pytest.raises(InvalidSearch) as refused:
        parse(text)
    assert refused.value.position == character - 1
    assert f"at character {character}" in refused.value.message
    assert hint in refused.value.hint


def test_fields_are_suggested() -> None:
    assert suggestions("user:ada st") == [Suggestion("user:ada status:", "status:", "status:failed,quarantined")]
    assert shown("p") == ["pipeline:", "priority:"]
    assert shown("user:ada ")[0] == "status:"
    assert shown("ERR") == ["error~"]
    assert shown("spec") == ["spec."]
    assert shown("xyz") == []


def test_values_are_suggested() -> None:
    assert suggestions("user:ada status:fa") == [
        Suggestion("user:ada status:failed", "status:failed", "status:failed,quarantined")
    ]
    assert shown("Status:failed,c") == ["status:failed,completed", "status:failed,cancelled"]
    assert shown("status:failed") == []
    assert shown("status:run") == ["status:running"]
    assert shown("pipeline:", "thumbs", "two words") == ["pipeline:thumbs", 'pipeline:"two words"']
    assert shown('pipeline:"two w', "thumbs", "two words") == ['pipeline:"two words"']
    assert shown("user:", "thumbs") == []


@pytest.mark.parametrize("begun", ['error~"out of memory" st', 'error~"a \\" b" st', "created:<7d  st"])
def test_a_term_ends_at_a_space_outside_of_quotes(begun: str) -> None:
    (found,) = suggestions(begun)
    assert found.text == begun + "atus:"
    assert suggestions('error~"out st') == []


@given(st.text(max_size=60))
def test_a_suggestion_keeps_what_is_before_its_term(text: str) -> None:
    for each in suggestions(text, {"pipeline": ["a b", 'c"d']}):
        head = each.text.removesuffix(each.shown)
        assert text.startswith(head)
        assert str(parse(each.example))


def shown(text: str, *pipelines: str) -> list[str]:
    return [each.shown for each in suggestions(text, {"pipeline": pipelines})]
