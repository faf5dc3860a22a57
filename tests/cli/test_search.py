"""`reel jobs` with a search."""

from reelstate.engine import Engine
from tests.cli.conftest import Reel


async def two_jobs(engine: Engine) -> list[int]:
    return [(await engine.submit("simple", {"source": f"{name} b.mov"}, user_id=name)).id for name in ("ada", "bob")]


def test_the_terms_of_a_search_are_arguments(reel: Reel) -> None:
    ada, bob = reel.engine(two_jobs)
    assert [job["id"] for job in reel("jobs", "user:ada", "--json").json] == [ada]
    assert [job["id"] for job in reel("jobs", "status:pending", 'spec.source~="B B"', "--json").json] == [bob]
    assert [job["id"] for job in reel("jobs", "status:pending", "--user", "bob", "--json").json] == [bob]
    assert reel("jobs", "user:eve").text == "no jobs found; `reel submit` submits one"


def test_mistakes_say_where_and_what_to_do(reel: Reel) -> None:
    reel.engine(two_jobs)
    for terms, message, hint in [
        (("user:ada", "statuz:failed"), "unknown field 'statuz' at character 10", "did you mean status?"),
        (("error~x",), "error alone would read every job", "created:<7d"),
        (("pipeline:simpel",), "unknown pipeline 'simpel'", "simple"),
    ]:
        result = reel("jobs", *terms)
        assert result.code != 0
        assert message in result.stderr
        assert hint in result.stderr
