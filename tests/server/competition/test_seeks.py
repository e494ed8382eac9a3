"""Wishes for games, and which bots they pair."""

import pytest

from noughts_referee.clock import TimeControl
from noughts_server.competition.seeks import REMATCH_SECONDS, Seek, Seeker, SeekError, pair_seekers, parse_seek

FAST = Seek("connect4", TimeControl(move_us=1_000_000))


def seeker(version: int, *, seek: Seek = FAST, rating: float = 1500, last: int | None = None) -> Seeker:
    """A bot of its own owner; the lower its number, the longer it has waited."""
    return Seeker(
        version=version,
        bot=version,
        owner=version,
        seek=seek,
        rating=rating,
        since=float(version),
        last_opponent=last,
    )


def pairs(*seekers: Seeker, now: float = 100.0) -> list[tuple[int, int]]:
    return [(one.version, other.version) for one, other in pair_seekers(seekers, now)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("variant=connect4,time=1/move", FAST),
        ("time=1/move, variant=connect4", FAST),
        ("variant=mnk:7,7,5,time=60+0.5,rating=+-200", Seek("mnk:7,7,5", TimeControl(0, 60_000_000, 500_000), 200)),
        ("variant=connect4,time=1/move,rating=50", Seek("connect4", FAST.time, 50)),
    ],
)
def test_wishes_are_parsed(text: str, expected: Seek) -> None:
    assert parse_seek(text) == expected
    assert parse_seek(str(expected)) == expected


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "variant, time"),
        ("connect4", "variant, time"),
        ("variant=connect4", "variant and time"),
        ("variant=connect4,time=none", "with a clock"),
        ("variant=connect4,time=fast", "seconds per move"),
        ("variant=chess,time=1/move", "tictactoe"),
        ("variant=connect4,time=1/move,time=2/move", "variant, time"),
        ("variant=connect4,time=1/move,rating=+-0", "rating range"),
        ("variant=connect4,time=1/move,rating=+-99999", "rating range"),
        ("variant=connect4,time=1/move,colour=red", "variant, time"),
    ],
)
def test_wrong_wishes_are_refused(text: str, words: str) -> None:
    with pytest.raises(SeekError, match=words):
        parse_seek(text)


def test_the_longest_waiting_bot_gets_the_nearest_rating() -> None:
    assert pairs(seeker(1, rating=1500), seeker(2, rating=1900), seeker(3, rating=1550)) == [(1, 3)]


def test_only_equal_wishes_within_both_ranges_match() -> None:
    slow = Seek("connect4", TimeControl(move_us=2_000_000))
    assert pairs(seeker(1), seeker(2, seek=slow)) == []
    narrow = Seek(FAST.variant, FAST.time, 100)
    assert pairs(seeker(1, seek=narrow), seeker(2, rating=1601)) == []
    assert pairs(seeker(1), seeker(2, seek=narrow, rating=1600)) == [(1, 2)]


def test_bots_of_one_owner_do_not_meet() -> None:
    one = seeker(1)
    other = Seeker(version=2, bot=2, owner=1, seek=FAST, rating=1500, since=0)
    assert pairs(one, other) == []
    assert pairs(one, other, seeker(3)) == [(2, 3)]


def test_the_last_opponents_meet_again_only_after_a_while() -> None:
    one, other = seeker(1, last=2), seeker(2, last=1)
    assert pairs(one, other, now=other.since + REMATCH_SECONDS - 0.1) == []
    assert pairs(one, other, seeker(3), now=5.0) == [(1, 3)]
    assert pairs(one, other, now=other.since + REMATCH_SECONDS) == [(1, 2)]
