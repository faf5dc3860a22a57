"""The grammar in which jobs are searched: `status:failed user:ada created:<7d error~"out of memory"`.

A search is terms between spaces, and every term must hold. A value with spaces, commas or quotes stands between double
quotes, in which a backslash protects the next character. `parse` and `str` are inverse to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from difflib import get_close_matches
from typing import Final, TypeAlias, TypeVar

from reelstate.core.errors import InvalidSearch
from reelstate.core.machine import ANY_PHASE, JobStatus, job_statuses
from reelstate.core.policy import HIGHEST_PRIORITY, LOWEST_PRIORITY

MAX_LENGTH: Final = 1000
MAX_TERMS: Final = 20
MAX_DEPTH: Final = 8
FIELDS: Final = {
    "status": "status:failed,quarantined",
    "pipeline": "pipeline:transcode",
    "user": "user:ada",
    "group": "group:nightly-2026-11-19",
    "schedule": "schedule:nightly",
    "key": "key:order-17",
    "created": "created:2026-11-01..2026-11-18",
    "finished": "finished:<2h",
    "priority": "priority:>=7",
    "error": 'error~"out of memory"',
    "spec": "spec.source~=s3://videos/",
}
"""The fields with an example of each."""
STATUS_NAMES: Final = (ANY_PHASE, *JobStatus)
NO_VALUES: Final[Mapping[str, Iterable[str]]] = {}
UNITS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
MIN_YEAR, MAX_YEAR = 1970, 9000
WhenType = TypeVar("WhenType", date, datetime)
_TERM: Final = re.compile(r"(?P<field>[A-Za-z_][\w.-]*)(?P<operator>~=|[:=~])", re.ASCII)
_BARE: Final = re.compile(r'[^\s,"]+')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NUMBER: Final = re.compile(r"(?:(>=|<=)?(\d{1,2}))|(?:(\d{1,2})\.\.(\d{1,2}))")
_AGE: Final = re.compile(r"([1-9]\d{0,4})(s|min|h|d|w)", re.ASCII)
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|\s|[^\s"]+', re.DOTALL)
_BEGINNINGS: Final = {field: {"error": "error~", "spec": "spec."}.get(field, f"{field}:") for field in FIELDS}
_SEGMENT: Final = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_PLAIN: Final = re.compile(r'[^\s,"=][^\s,"]*')
_OPERATORS: Final = {"error": ("~", "~="), "spec": ("=", "~", "~=")}


@dataclass(frozen=True, slots=True)
class Age:
    """So long ago."""

    amount: int
    unit: str

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"


When: TypeAlias = Age | date | datetime
"""An age, a day in UTC, or an instant."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Times from `start` until before `end`, or with a day until its end; None is open. An age counts from now."""

    start: When | None = None
    end: When | None = None

    def bounds(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        """Return the first instant and the one before which the times are."""
        return _instant(self.start, now, whole=False), _instant(self.end, now, whole=True)

    def __str__(self) -> str:
        """Return it as a value; an age is compared, so that less than two hours ago is `<2h`."""
        match self.start, self.end:
            case start, None if start is not None:
                return f"<{_when(start)}" if isinstance(start, Age) else f">={_when(start)}"
            case None, end if end is not None:
                return f">{_when(end)}" if isinstance(end, Age) else f"<={_when(end)}"
            case start, end if start == end and not isinstance(start, Age):
                return _when(start)
            case start, end:
                return f"{_when(start)}..{_when(end)}"


@dataclass(frozen=True, slots=True)
class SpecTerm:
    """A value in the spec: equal to a text, or with `part` containing it."""

    path: tuple[str, ...]
    text: str
    part: bool

    def __str__(self) -> str:
        return f"spec.{'.'.join(self.path)}{'~=' if self.part else '='}{_quoted(self.text)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A parsed search. A field that is left out selects all."""

    statuses: tuple[str, ...] = ()
    """Names of statuses; `running` is every phase."""
    pipelines: tuple[str, ...] = ()
    user: str | None = None
    group: str | None = None
    schedule: str | None = None
    key: str | None = None
    created: TimeRange | None = None
    finished: TimeRange | None = None
    priority: tuple[int, int] | None = None
    errors: tuple[str, ...] = ()
    spec: tuple[SpecTerm, ...] = ()

    @property
    def wanted(self) -> list[JobStatus] | None:
        """Return the statuses that it names; None for all."""
        return job_statuses(self.statuses) if self.statuses else None

    def __str__(self) -> str:
        return " ".join(self._terms())

    def _terms(self) -> Iterator[str]:
        if self.statuses:
            yield f"status:{','.join(self.statuses)}"
        if self.pipelines:
            yield f"pipeline:{','.join(map(_quoted, self.pipelines))}"
        for field, text in (("user", self.user), ("group", self.group), ("schedule", self.schedule), ("key", self.key)):
            if text is not None:
                yield f"{field}:{_quoted(text)}"
        for field, times in (("created", self.created), ("finished", self.finished)):
            if times is not None:
                yield f"{field}:{times}"
        if self.priority is not None:
            yield f"priority:{_interval(*self.priority)}"
        yield from (f"error~{_quoted(text)}" for text in self.errors)
        yield from map(str, self.spec)


def parse(text: str) -> Search:
    """Parse a search. Raises `InvalidSearch` with the position of the mistake."""
    if len(text) > MAX_LENGTH:
        raise InvalidSearch(f"longer than {MAX_LENGTH} characters", MAX_LENGTH, hint="search for less at once")
    found: dict[str, object] = {}
    terms: list[_Term] = []
    for term in _split(text):
        if len(terms) == MAX_TERMS:
            raise InvalidSearch(f"more than {MAX_TERMS} terms", term.position, hint="search for less at once")
        terms.append(term)
        if term.field not in {"error", "spec"} and term.name in found:
            raise InvalidSearch(f"{term.field} is named twice", term.position, hint="separate alternatives by commas")
        match term.field:
            case "status":
                found["statuses"] = tuple(dict.fromkeys(_status(value, place) for value, place in term.values))
            case "pipeline":
                found["pipelines"] = tuple(dict.fromkeys(value for value, _ in term.values))
            case "user" | "group" | "schedule" | "key":
                found[term.field] = term.single()
            case "created" | "finished":
                found[term.field] = _times(term)
            case "priority":
                found["priority"] = _priority(term)
            case "error":
                found["errors"] = (*found.get("errors", ()), term.single())  # type: ignore[misc]
            case _:
                spec = SpecTerm(term.path, term.single(), term.operator != "=")
                found["spec"] = (*found.get("spec", ()), spec)  # type: ignore[misc]
        if term.name not in found:
            found[term.name] = None
    return Search(**{name: value for name, value in found.items() if value is not None})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """How the last term of a search may go on."""

    text: str
    """The whole search with it."""
    shown: str
    """Its last term: a field that a value must follow, or a field with a value."""
    example: str
    """A whole term of this field."""


def suggestions(text: str, values: Mapping[str, Iterable[str]] = NO_VALUES) -> list[Suggestion]:
    """Return how the last term of a text may go on: a field, or a value of one. `values` are known values by field."""
    start = _last_term(text)
    head, term = text[:start], text[start:]
    field, colon, typed = term.partition(":")
    if colon:
        known = {"status": STATUS_NAMES, **values}.get(field.lower(), ())
        before, comma, last = typed.rpartition(",")
        begun = f"{field.lower()}:{before}{comma}"
        terms = [begun + _quoted(value) for value in known if value.startswith(last.lstrip('"')) and value != last]
        return [Suggestion(head + found, found, FIELDS[field.lower()]) for found in terms]
    return [
        Suggestion(head + begun, begun, FIELDS[name])
        for name, begun in _BEGINNINGS.items()
        if begun.startswith(term.lower())
    ]


def _last_term(text: str) -> int:
    """Return where the last term starts: after the last space that is not between double quotes."""
    start = 0
    for found in _PIECE.finditer(text):
        if found[0].isspace():
            start = found.end()
    return start


@dataclass(frozen=True, slots=True)
class _Term:
    field: str
    path: tuple[str, ...]
    operator: str
    values: tuple[tuple[str, int], ...]
    """Each with its position."""
    position: int

    @property
    def name(self) -> str:
        """Return the field of `Search` that it sets."""
        return {"status": "statuses", "pipeline": "pipelines", "error": "errors"}.get(self.field, self.field)

    def single(self) -> str:
        if len(self.values) > 1:
            raise InvalidSearch(
                f"{self.field} has one value", self.values[1][1], hint='write a value with a comma as "a,b"'
            )
        return self.values[0][0]


def _split(text: str) -> Iterator[_Term]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        found = _TERM.match(text, position)
        if found is None:
            word = text[position:].split(maxsplit=1)[0]
            hint = f"such as {FIELDS['status']}; fields: {', '.join(FIELDS)}"
            raise InvalidSearch(f"expected FIELD:VALUE, not {word[:50]!r}", position, hint=hint)
        field, path = _field(found["field"], position)
        if found["operator"] not in _OPERATORS.get(field, (":",)):
            raise InvalidSearch(
                f"{field} has no operator {found['operator']}", found.end("field"), hint=f"such as {FIELDS[field]}"
            )
        values, end = _values(text, found.end(), field)
        yield _Term(field, path, found["operator"], values, position)
        position = end


def _field(name: str, position: int) -> tuple[str, tuple[str, ...]]:
    field, *path = name.split(".")
    if field not in FIELDS or (field != "spec" and path):
        close = get_close_matches(field, FIELDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"fields: {', '.join(FIELDS)}"
        raise InvalidSearch(f"unknown field {name!r}", position, hint=hint)
    if field == "spec" and (not 0 < len(path) <= MAX_DEPTH or not all(map(_SEGMENT.fullmatch, path))):
        raise InvalidSearch(f"{name!r} names no value of a spec", position, hint=f"such as {FIELDS['spec']}")
    return field, tuple(path)


def _values(text: str, position: int, field: str) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the values that begin at a position, and where the next term begins."""
    values: list[tuple[str, int]] = []
    while True:
        if quoted := _QUOTED.match(text, position):
            values.append((re.sub(r"\\(.)", r"\1", quoted[1], flags=re.DOTALL), position))
            end = quoted.end()
        elif bare := _BARE.match(text, position):
            values.append((bare[0], position))
            end = bare.end()
        else:
            unclosed = text[position : position + 1] == '"'
            message = "the quote is not closed" if unclosed else f"{field} has no value"
            raise InvalidSearch(message, position, hint='close it with "' if unclosed else f"such as {FIELDS[field]}")
        if text[end : end + 1] != ",":
            break
        position = end + 1
    if end < len(text) and not text[end].isspace():
        raise InvalidSearch("expected a space between two terms", end, hint='write a value with quotes as "a\\"b"')
    return tuple(values), end


def _status(name: str, position: int) -> str:
    names = [*JobStatus, ANY_PHASE]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"statuses: {', '.join(names)}"
        raise InvalidSearch(f"unknown status {name[:50]!r}", position, hint=hint)
    return str(name)


def _priority(term: _Term) -> tuple[int, int]:
    text, position = term.single(), term.values[0][1]
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise InvalidSearch(f"{text[:50]!r} is no priority", position, hint="such as priority:>=7, 5 or 5..7")
    comparison, number, low, high = found.groups()
    if number is not None:
        low = LOWEST_PRIORITY if comparison == "<=" else number
        high = HIGHEST_PRIORITY if comparison == ">=" else number
    bounds = int(low), int(high)
    if not LOWEST_PRIORITY <= bounds[0] <= bounds[1] <= HIGHEST_PRIORITY:
        raise InvalidSearch(f"{text!r} selects nothing", position, hint="priorities are 0 to 10, the lower one first")
    return bounds


def _interval(low: int, high: int) -> str:
    if low == high:
        return str(low)
    if high == HIGHEST_PRIORITY:
        return f">={low}"
    return f"<={high}" if low == LOWEST_PRIORITY else f"{low}..{high}"


def _times(term: _Term) -> TimeRange:
    text, position = term.single(), term.values[0][1]
    first, dots, last = text.partition("..")
    if dots:
        times = TimeRange(_parse_when(first, position), _parse_when(last, position + len(first) + 2))
        if type(times.start) is type(times.end) and not isinstance(times.start, Age) and times.start > times.end:  # type: ignore[operator]
            raise InvalidSearch(f"{text!r} ends before it begins", position, hint="the earlier time comes first")
        if isinstance(times.start, Age) and times.start == times.end:
            raise InvalidSearch(f"{text!r} selects nothing", position, hint="the earlier time comes first")
        return times
    operator = next((each for each in (">=", "<=", ">", "<") if text.startswith(each)), "")
    when = _parse_when(text[len(operator) :], position + len(operator))
    if not operator:
        if isinstance(when, Age):
            raise InvalidSearch(
                f"{text!r} is neither < nor >", position, hint=f"<{text} is less than {text} ago, >{text} is more"
            )
        return TimeRange(when, when)
    # An age grows into the past: less than two hours ago is after the time of two hours ago.
    later = operator[0] == ("<" if isinstance(when, Age) else ">")
    if operator in {"<", ">"} and not isinstance(when, Age | datetime):
        when = when + timedelta(days=1 if later else -1)
    return TimeRange(when, None) if later else TimeRange(None, when)


def _parse_when(text: str, position: int) -> When:
    if found := _AGE.fullmatch(text):
        return Age(int(found[1]), found[2])
    try:
        if len(text) == len("2026-11-01"):
            return _in_range(date.fromisoformat(text))
        at = datetime.fromisoformat(text)
        return _in_range((at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        hint = "such as <2h, >7d, 2026-11-01, 2026-11-01..2026-11-18 or >=2026-11-01T12:30"
        raise InvalidSearch(f"{text[:50]!r} is no time", position, hint=hint) from None


def _in_range(when: WhenType) -> WhenType:
    if not MIN_YEAR <= when.year <= MAX_YEAR:
        raise ValueError(f"{when} is out of range")
    return when


def _when(when: When | None) -> str:
    if isinstance(when, datetime):
        return when.isoformat().replace("+00:00", "Z")
    return "" if when is None else str(when)


def _instant(when: When | None, now: datetime, *, whole: bool) -> datetime | None:
    match when:
        case None:
            return None
        case Age(amount, unit):
            return now - timedelta(seconds=amount * UNITS[unit])
        case datetime():
            return when + timedelta(microseconds=1) if whole else when
        case _:
            return datetime.combine(when + timedelta(days=1 if whole else 0), time(), UTC)


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
