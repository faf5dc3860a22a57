"""The tree of errors is drawn in the docstring of its module; the drawing and the classes are the same tree."""

import inspect
import re

from reelstate.core import errors


def drawn() -> dict[str, str | None]:
    """Every error of the drawing with its parent."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"((?:[│ ]   )*)(├── |└── )?([A-Z]\w+)(?:  |$)", line)
        if match is None:
            continue
        depth = len(match[1]) // 4 + (1 if match[2] else 0)
        path[depth:] = [match[3]]
        parents[match[3]] = path[depth - 1] if depth else None
    return parents


def test_the_drawing_is_the_classes() -> None:
    classes = {
        name: each
        for name, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, errors.ReelstateError)
    }
    parents = {
        name: each.__base__.__name__ if each is not errors.ReelstateError and each.__base__ else None
        for name, each in classes.items()
    }
    assert len(parents) > 10
    assert drawn() == parents


def test_every_error_has_a_docstring() -> None:
    for name in drawn():
        assert inspect.getdoc(getattr(errors, name))


def test_an_error_has_a_hint() -> None:
    error = errors.ReelstateError("it broke", hint="repair it")
    assert (str(error), error.message, error.hint) == ("it broke (repair it)", "it broke", "repair it")
    assert str(errors.ReelstateError("it broke")) == "it broke"


def test_errors_carry_their_details() -> None:
    conflict = errors.IdempotencyConflict("k", 7)
    assert (conflict.field, conflict.key, conflict.job_id) == ("idempotency_key", "k", 7)
    large = errors.TooLarge("spec", 2_000, 1_000)
    assert "2,000" in str(large)
    missing = errors.NotFound("job", 7)
    assert (missing.entity, missing.key) == ("job", 7)
    version = errors.VersionConflict("job", 7, 1, 2)
    assert (version.expected, version.found) == (1, 2)
    pipeline = errors.UnknownPipeline("a", ["c", "b"])
    assert "b, c" in pipeline.hint
    illegal = errors.InvalidTransition("job", "completed", "pending", "user", key=7)
    assert "no actor" in illegal.hint
    assert "job 7: user may not change completed to pending" in str(illegal)
