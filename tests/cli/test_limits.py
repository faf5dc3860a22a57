"""`reel limits`."""

from reelstate.engine import Engine
from tests.cli.conftest import Reel


async def nothing(_: Engine) -> None:
    """The store exists after this."""


def test_a_limit_is_set_listed_shown_and_removed(reel: Reel) -> None:
    reel.engine(nothing)
    assert reel("limits").text == "no limits; `reel limits set` sets one"
    command = ("limits", "set", "customers", "--per", "spec.customer", "--running", "4", "--starts", "100/1h")
    assert reel(*command).text == "customers: 4 running and 100 starts in 3600 s per spec.customer"
    (listed,) = reel("limits", "--json").json
    assert (listed["name"], listed["running"], listed["starts"], listed["period"]) == ("customers", 4, 100, 3600)
    assert "spec.customer" in reel("limits").text
    assert reel("limits", "show", "customers", "--json").json["uses"] == []
    assert reel("limits", "remove", "customers").text == "customers: removed"
    assert reel("limits").text == "no limits; `reel limits set` sets one"
    assert "removed" in reel("limits", "list", "--removed").text


def test_users_take_turns_with_weights(reel: Reel) -> None:
    reel.engine(nothing)
    made = reel("limits", "set", "turns", "--per", "user", "--weight", "ada=2", "--weight", "a=b=0.5", "--json").json
    assert made["weights"] == {"ada": 2, "a=b": 0.5}


def test_mistakes_say_what_to_do(reel: Reel) -> None:
    reel.engine(nothing)
    for arguments, hint in [
        (("set", "x"), "limits nothing"),
        (("set", "x", "--running", "0"), "pause"),
        (("set", "x", "--starts", "100"), "100/1h"),
        (("set", "x", "--starts", "100/1y"), "100/1h"),
        (("set", "x", "--per", "user", "--weight", "ada"), "KEY=NUMBER"),
        (("set", "x", "--running", "1", "--pipeline", "simpel"), "simple"),
        (("set", "x", "--running", "1", "--stage", "main"), "pipeline"),
        (("show", "x"), "reel limits"),
        (("remove", "x"), "reel limits"),
    ]:
        result = reel("limits", *arguments)
        assert result.code != 0
        assert hint in result.stderr, arguments
