"""`reel pause`, `reel paused` and `reel resume`."""

from reelstate.engine import Engine
from tests.cli.conftest import Reel


async def nothing(_: Engine) -> None:
    """The store exists after this."""


def test_a_pipeline_is_paused_listed_and_resumed(reel: Reel) -> None:
    reel.engine(nothing)
    assert reel("paused").text == "nothing is paused"
    said = reel("pause", "--pipeline", "simple", "--reason", "new driver").text
    assert said.startswith("pipeline simple is paused by ")
    assert said.endswith(': "new driver"')
    again = reel("pause", "--pipeline", "simple", "--reason", "another").text
    assert again.endswith(': "new driver" (already)')
    (listed,) = reel("paused", "--json").json
    assert (listed["scope"], listed["pipeline"], listed["reason"]) == ("pipeline", "simple", "new driver")
    assert reel("resume", "--pipeline", "simple").text == "pipeline simple: resumed"
    assert reel("paused").text == "nothing is paused"
    assert ", resumed " in reel("paused", "--lifted").text


def test_mistakes_say_what_to_do(reel: Reel) -> None:
    reel.engine(nothing)
    for arguments, hint in [
        (("pause",), "use one of --all"),
        (("pause", "--all", "--user", "ada"), "use one of --all"),
        (("pause", "--stage", "main"), "use one of --all"),
        (("pause", "--pipeline", "simpel"), "simple"),
        (("pause", "--pipeline", "simple", "--stage", "encode"), "one of main"),
        (("pause", "--worker", "nobody"), "reel workers"),
        (("resume", "--all"), "reel paused"),
    ]:
        result = reel(*arguments)
        assert result.code != 0
        assert hint in result.stderr, arguments
