"""What becomes of child players that misbehave: the right loser, a reason, and nothing left of them."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from noughts_referee.children.life import ChildSettings
from noughts_server.launching import Locking
from noughts_server.store.database import Store
from noughts_server.store.notes import notes_of

from .field import QUICK, Field, endings, losses


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path)


SLUG = "SELECT slug FROM tournaments"


class Fault(NamedTuple):
    """A habit, and what must come of it in four games against a bot that plays on."""

    habit: str
    termination: str
    reason: str = ""
    """A part of what the owner reads; empty: the process lives on."""
    time: str = "none"


FAULTS = (
    Fault("crash", "crashed", "ended with exit code 3"),
    Fault("segfault", "crashed", "was ended by signal 11 (SIGSEGV)"),
    Fault("leaves after a move", "crashed", "ended with exit code 0"),
    Fault("endless frames", "crashed", "sent 1,001 frames that nobody asked for"),
    Fault("50 MB", "crashed", "announced too large a message: got 50000000 bytes, expected at most 2097152"),
    Fault("no frame", "crashed", "sent 5 bytes that are no PlayRequest"),
    Fault("text", "crashed", "announced too large a message: got 1830844749"),
    Fault("half a frame", "crashed", "ended with exit code 0"),
    Fault("closes its input", "crashed", "closed its standard input"),
    Fault("leaves a process", "crashed", "ended with exit code 4"),
    Fault("off the board", "illegal_move"),
    Fault("occupied", "illegal_move"),
    Fault("stop", "crashed", "silent for 1 s while it owed an answer"),
    Fault("hang", "crashed", "silent for 1 s while it owed an answer"),
    Fault("hang", "timeout", "hung: while it owed no answer", time="0.2/move"),
    Fault("hang, ignoring SIGTERM", "timeout", "hung: while it owed no answer", time="0.2/move"),
    Fault("stop", "timeout", "hung: while it owed no answer", time="0.2/move"),
    Fault("late", "timeout", time="0.2/move"),
    Fault("dies at once", "crashed", "ended with exit code 9"),
    Fault("no hello", "crashed", "sent another first frame"),
    Fault("old protocol", "crashed", "said a wrong hello"),
)


@pytest.mark.parametrize(
    "fault, locking",
    # The lock is the usual case; without it the verdicts are the same code, and some rows show it.
    [*((fault, Locking.REQUIRED) for fault in FAULTS), *((fault, Locking.OFF) for fault in FAULTS[::4])],
    ids=lambda given: given if isinstance(given, Locking) else f"{given.habit} {given.time}",
)
async def test_who_misbehaves_loses_every_game_for_a_reason_and_leaves_nothing(
    field: Field, fault: Fault, locking: Locking
) -> None:
    field.locking = locking
    outcome = await field.play(field.player(fault.habit), "first-free", games=4, time=fault.time)
    assert endings(outcome) == {fault.termination: 4}
    assert losses(field.games, "bad") == 4
    reasons = [found.reason for found in outcome.faults]
    assert [fault.reason in reason for reason in reasons] == [True] * bool(fault.reason)
    assert field.survivors() == []


async def test_one_that_never_starts_is_benched_after_three_attempts_and_loses_without_waiting(field: Field) -> None:
    times = ChildSettings(start=0.4, stop=0.2)
    outcome = await field.play(field.player("never starts"), "first-free", games=300, concurrency=8, children=times)
    (fault,) = outcome.faults
    assert fault.reason == "did not say Hello within 0.4 s (see --start-timeout)"
    assert (fault.benched, fault.times, fault.games) == (True, 3, 300)
    assert endings(outcome) == {"crashed": 300}
    assert losses(field.games, "bad") == 300
    assert field.survivors() == []


async def test_of_two_benched_players_the_same_one_always_loses(field: Field) -> None:
    outcome = await field.play(field.player("dies at once"), field.player("dies at once", "worse"), games=20)
    assert endings(outcome) == {"crashed": 20}
    assert losses(field.games, "bad") == 20
    assert [fault.benched for fault in outcome.faults] == [True, True]
    assert outcome.faults[0].stderr == "no licence found\n"


async def test_a_slow_start_is_no_fault_within_its_time(field: Field) -> None:
    outcome = await field.play(field.player("slow start"), "first-free")
    assert endings(outcome) == {"line": 2}
    assert outcome.faults == ()


async def test_one_that_ignores_the_end_is_killed(field: Field) -> None:
    outcome = await field.play(field.player("ignores the end"), "first-free")
    assert (endings(outcome), outcome.faults) == ({"line": 2}, ())
    assert len(field.lives()) == 1
    assert field.survivors() == []


async def test_a_crash_loses_all_running_games_and_the_next_life_plays_the_others(field: Field) -> None:
    # Four games at once: the first crash takes the other three with it.
    outcome = await field.play(field.player("crash"), "first-free", games=8, concurrency=4)
    (fault,) = outcome.faults
    assert endings(outcome) == {"crashed": 8}
    assert fault.games == 8
    assert 2 <= fault.times < 8
    # The tournament may be over before another life begins.
    assert len(field.lives()) - fault.times in (0, 1)


async def test_the_end_of_what_it_wrote_to_stderr_is_kept_with_the_game(field: Field) -> None:
    outcome = await field.play(field.player("much to say"), "first-free", games=2)
    (fault,) = outcome.faults
    assert len(fault.stderr) == 64 * 1024
    assert fault.stderr.endswith("blah \nlast words\n")
    store = await Store.open(field.database)
    try:
        slug = await store.read(lambda connection: str(connection.exec_driver_sql(SLUG).scalar()))
        notes = [await store.read(partial(notes_of, slug=slug, ordinal=ordinal)) for ordinal in (1, 2)]
    finally:
        await store.close()
    # It moved first in game 1 and second in game 2.
    assert [list(note) for note in notes] == [[0], [1]]
    for side, note in enumerate(notes):
        assert note[side].startswith("it ended with exit code 1\n")
        assert note[side].endswith("last words\n")
        assert len(note[side]) <= 64 * 1024


@pytest.mark.parametrize("habits", [("crash",), ("hang", "50 MB")], ids=["one", "half"])
async def test_games_of_the_others_are_as_without_the_faults(tmp_path: Path, habits: tuple[str, ...]) -> None:
    honest = ["random", "Third=pascal:level=0"]
    labels = [f"bad{number}" for number in range(len(habits))]
    played = []
    for name, chosen in (("with", habits), ("without", ("honest",) * len(habits))):
        (tmp_path / name).mkdir()
        field = Field(tmp_path / name)
        bad = [field.player(habit, label) for habit, label in zip(chosen, labels, strict=True)]
        good = field.player("honest", "good")
        outcome = await field.play(*bad, *honest, good, games=4, time="0.3/move", concurrency=3)
        assert outcome.games == outcome.games_total
        assert field.survivors() == []
        played.append([game for game in field.games if not {game.first, game.second} & set(labels)])
    assert len(played[0]) == 12
    assert repr(played[0]).encode() == repr(played[1]).encode()
    assert QUICK.heartbeat < 1


async def test_same_games_at_any_concurrency(field: Field) -> None:
    specs = (field.player("honest", "one"), "random", field.player("honest", "two"))
    await field.play(*specs, games=20)
    alone = field.games
    await field.play(*specs, games=20, concurrency=32)
    assert field.games == alone
