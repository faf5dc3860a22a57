from reelstate.worker.pace import Pace

CUT, PLAN = ("video", "cut"), ("video", "plan")


def test_nothing_is_prefetched_before_a_stage_is_known_to_be_short() -> None:
    pace = Pace(concurrency=4, max_prefetch=100)
    pace.record_claim({CUT})
    assert (pace.is_short(CUT), pace.prefetch) == (False, 0)


def test_the_prefetch_of_short_tasks_doubles_up_to_its_maximum() -> None:
    pace = Pace(concurrency=4, max_prefetch=35)
    pace.record_run(CUT, 0.001)
    seen = []
    for _ in range(4):
        pace.record_claim({CUT})
        seen.append(pace.prefetch)
    assert seen == [10, 20, 35, 35]


def test_prefetched_tasks_take_no_more_than_a_quarter_second_of_work() -> None:
    pace = Pace(concurrency=4, max_prefetch=500)
    pace.record_run(CUT, 0.1)
    for _ in range(10):
        pace.record_claim({CUT})
    assert pace.prefetch == 10  # 4 at once, 0.1 s each: a quarter of a second


def test_a_stage_that_may_be_long_ends_the_prefetch() -> None:
    pace = Pace(concurrency=4, max_prefetch=500)
    pace.record_run(PLAN, 0.001)
    pace.record_claim({PLAN})
    assert pace.prefetch == 10
    pace.record_claim({PLAN, CUT})
    assert pace.prefetch == 0


def test_an_empty_claim_changes_nothing() -> None:
    pace = Pace(concurrency=4, max_prefetch=500)
    pace.record_run(CUT, 0.001)
    pace.record_claim({CUT})
    pace.record_claim(set())
    assert pace.prefetch == 10
