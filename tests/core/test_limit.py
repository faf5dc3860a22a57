"""allocate: the room of keys is shared by priority and turn, never more than there is."""

from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.limit import Grant, Limit, Room, WaitingQueue, allocate

LANE = 7


def queue(number: int, *keys: int, waiting: int = 3, turn: float = 0.0, priority: int = 5) -> WaitingQueue:
    return WaitingQueue(number, LANE, keys, turn, [priority] * waiting, more=False)


def granted(grants: list[Grant]) -> dict[int, int]:
    return {grant.queue: grant.tasks for grant in grants}


def test_a_key_gets_what_it_has_room_for() -> None:
    rooms = {1: Room(2, None), 2: Room(None, 5)}
    grants = allocate([queue(10, 1), queue(11, 2, waiting=9)], rooms, {}, most=100)
    assert granted(grants) == {10: 2, 11: 5}
    assert [grant.blocked_by for grant in grants] == [1, 2]


def test_queues_share_a_key_in_turns() -> None:
    grants = allocate([queue(10, 1, waiting=9), queue(11, 1, waiting=9)], {1: Room(6, None)}, {}, most=100)
    assert granted(grants) == {10: 3, 11: 3}


def test_a_smaller_share_comes_first() -> None:
    rooms = {1: Room(2, None)}
    assert granted(allocate([queue(10, 1, turn=5), queue(11, 1, turn=1)], rooms, {}, most=100)) == {10: 0, 11: 2}


def test_a_weight_gives_more_turns() -> None:
    rooms = {1: Room(6, None), 2: Room(None, None, weight=2.0), 3: Room(None, None)}
    queues = [queue(10, 1, 2, waiting=9), queue(11, 1, 3, waiting=9)]
    assert granted(allocate(queues, rooms, {}, most=100)) == {10: 4, 11: 2}


def test_the_more_urgent_queue_comes_first() -> None:
    rooms = {1: Room(3, None)}
    assert granted(allocate([queue(10, 1), queue(11, 1, priority=9)], rooms, {}, most=100)) == {10: 0, 11: 3}


def test_keys_without_a_number_get_what_a_worker_asks_for() -> None:
    rooms = {1: Room(None, None), 2: Room(None, None)}
    queues = [queue(10, 1, waiting=9), queue(11, 2, waiting=9)]
    assert granted(allocate(queues, rooms, {LANE: 4}, most=100)) == {10: 2, 11: 2}
    assert granted(allocate(queues, rooms, {LANE: 0}, most=100)) == {10: 0, 11: 0}


def test_a_queue_with_more_tasks_than_were_read_waits_on() -> None:
    long = WaitingQueue(10, LANE, [1], 0.0, [5, 5], more=True)
    (grant,) = allocate([long], {1: Room(9, None)}, {}, most=100)
    assert (grant.tasks, grant.waits, grant.blocked_by) == (2, True, None)
    (grant,) = allocate([queue(10, 1, waiting=2)], {1: Room(9, None)}, {}, most=100)
    assert (grant.tasks, grant.waits) == (2, False)


def test_a_limit_is_a_sentence() -> None:
    assert str(Limit("a", running=2)) == "a: 2 running"
    assert str(Limit("a", "p", "s", "ada", "job", 2, 5, 60.0)) == (
        "a: 2 running and 5 starts in 60 s per job in p.s for user ada"
    )
    assert str(Limit("a", per="user")) == "a: turns per user"


QUEUES = st.lists(
    st.tuples(
        st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True),
        st.lists(st.integers(0, 10), max_size=6),
        st.floats(0, 50),
    ),
    max_size=12,
)
ROOMS = st.dictionaries(
    st.integers(1, 5),
    st.builds(
        Room,
        st.none() | st.integers(-2, 6),
        st.none() | st.integers(-2, 6),
        st.floats(0.1, 10),
    ),
)


@given(QUEUES, ROOMS, st.integers(0, 20), st.integers(1, 30))
def test_no_key_gets_more_than_its_room_and_no_room_is_left_to_those_who_wait(
    drawn: list[tuple[list[int], list[int], float]], rooms: dict[int, Room], demand: int, most: int
) -> None:
    queues = [
        WaitingQueue(number, LANE, keys, turn, sorted(priorities, reverse=True), more=False)
        for number, (keys, priorities, turn) in enumerate(drawn, 100)
    ]
    grants = {grant.queue: grant for grant in allocate(queues, rooms, {LANE: demand}, most)}
    used = {key: sum(grants[each.id].tasks for each in queues if key in each.keys) for key in range(1, 6)}
    left = {key: room.left - used[key] for key, room in rooms.items() if room.left is not None}
    assert all(number >= 0 for number in left.values())
    total = sum(grant.tasks for grant in grants.values())
    assert total <= most
    for each in queues:
        grant = grants[each.id]
        assert grant.tasks <= len(each.priorities)
        if grant.tasks == len(each.priorities) or total == most:
            continue
        numbered = [key for key in each.keys if key in left]
        if numbered:
            assert grant.blocked_by in numbered
            assert left[grant.blocked_by] == 0, "it waits for a key that is full"
        else:
            unnumbered = [one for one in queues if not any(key in left for key in one.keys)]
            assert sum(grants[one.id].tasks for one in unnumbered) == demand
