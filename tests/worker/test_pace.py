from reelstate.worker.pace import Pace

CUT, PLAN = ("film", "cut"), ("film", "plan")


def test_nothing_is_fetched_ahead_of_what_is_not_known_to_be_short() -> None:
    pace = Pace(concurrency=4, most=100)
    pace.claimed({CUT})
    assert (pace.short(CUT), pace.ahead) == (False, 0)


def test_short_tasks_are_fetched_ahead_more_and_more_up_to_the_most() -> None:
    pace = Pace(concurrency=4, most=35)
    pace.ran(CUT, 0.001)
    seen = []
    for _ in range(4):
        pace.claimed({CUT})
        seen.append(pace.ahead)
    assert seen == [10, 20, 35, 35]


def test_no_more_waits_here_than_a_moments_work() -> None:
    pace = Pace(concurrency=4, most=500)
    pace.ran(CUT, 0.1)
    for _ in range(10):
        pace.claimed({CUT})
    assert pace.ahead == 10  # 4 at once, 0.1 s each: a quarter of a second


def test_one_stage_that_may_be_long_ends_it() -> None:
    pace = Pace(concurrency=4, most=500)
    pace.ran(PLAN, 0.001)
    pace.claimed({PLAN})
    assert pace.ahead == 10
    pace.claimed({PLAN, CUT})
    assert pace.ahead == 0


def test_an_empty_claim_says_nothing() -> None:
    pace = Pace(concurrency=4, most=500)
    pace.ran(CUT, 0.001)
    pace.claimed({CUT})
    pace.claimed(set())
    assert pace.ahead == 10
