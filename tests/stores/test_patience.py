from reelstate.connections.timeouts import LogThrottle


def test_what_was_just_said_is_no_news_and_other_words_are() -> None:
    is_news = LogThrottle(seconds=1000)
    assert [is_news(words) for words in ("full", "full", "read-only", "full")] == [True, False, True, False]


def test_after_a_while_the_same_words_are_news_again() -> None:
    is_news = LogThrottle(seconds=0)
    assert [is_news("full"), is_news("full")] == [True, True]
