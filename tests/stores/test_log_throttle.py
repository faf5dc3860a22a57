from reelstate.connections.timeouts import LogThrottle


def test_a_repeated_text_is_not_logged_and_another_is() -> None:
    should_log = LogThrottle(seconds=1000)
    assert [should_log(text) for text in ("full", "full", "read-only", "full")] == [True, False, True, False]


def test_after_a_while_the_same_text_is_logged_again() -> None:
    should_log = LogThrottle(seconds=0)
    assert [should_log("full"), should_log("full")] == [True, True]
