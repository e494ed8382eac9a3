"""Games, names and dates for tests with hypothesis, and a function that writes games."""

from __future__ import annotations

from hypothesis import strategies as st

from noughts_referee.rules import Draws, Result
from noughts_server.records.formats import writing_games
from noughts_server.records.recorded_game import variant_of
from noughts_server.tables.recorded_game import RecordedGame

FLAT_VARIANTS = (
    "tictactoe",
    "gomoku",
    "gomoku:exact",
    "gomoku20",
    "renju",
    "caro:exact:20",
    "connect4",
    "mnk:9,7,4",
    "mnk:30,2,3",
)

LAYERED_VARIANTS = ("qubic", "tictactoe3d")

NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12) | st.sampled_from(
    ["threats", "a]b", "back\\slash", "semi;colon", "(", "=x:y", "Ω [1]", "a,b", '"quoted"']
)

HOSTILE_NAMES = (
    NAMES
    | st.text(max_size=6)
    | st.from_regex(r"-?[0-9]{1,3}(,[0-9]{1,3}){0,3}", fullmatch=True)
    | st.sampled_from(
        ["", " ", "-1", "0", "8,9", "8,9,3", "a\nb", "\ufeffa", "white", "[White]", "(;", ")", "Piskvorky 15x15"]
    )
)

DATES = st.dates().map(str) | st.sampled_from(["2026", "2026-11"])

EVENTS_AND_DATES = st.fixed_dictionaries({}, optional={"event": NAMES.filter(lambda name: name != "?"), "date": DATES})

MICROSECONDS = st.integers(0, 10**10).map(lambda microseconds: microseconds / 1000)


@st.composite
def played_games(draw: st.DrawFn, variants: tuple[str, ...] = FLAT_VARIANTS) -> RecordedGame:
    """Generate games of random legal moves that end in any way."""
    name = draw(st.sampled_from(variants))
    variant, draws = variant_of(name), Draws(draw(st.integers(0, 2**64 - 1)), 0)
    longest = draw(st.integers(0, 60))
    moves: list[int] = []
    own = opponent = 0
    outcome = None
    while outcome is None and len(moves) < longest:
        side = len(moves) & 1
        cell = draws.choice(variant.legal_cells(own, opponent, side))
        own |= 1 << cell
        outcome = variant.outcome(own, opponent, cell, side)
        moves.append(cell)
        own, opponent = opponent, own
    if outcome is None:
        to_move = len(moves) & 1
        loss_of_mover = Result.SECOND_WINS if to_move == 0 else Result.FIRST_WINS
        ending = draw(st.sampled_from(["timeout", "resigned", "illegal_move", "crashed", "adjudicated", "void"]))
        result = {"adjudicated": Result.DRAW, "void": Result.VOID}.get(ending, loss_of_mover)
    else:
        result, ending = outcome.result, str(outcome.termination)
    beyond = 1 if ending in ("timeout", "resigned", "illegal_move") else 0
    times = draw(st.just([]) | st.lists(MICROSECONDS, min_size=len(moves) + beyond, max_size=len(moves) + beyond))
    own_times = draw(st.booleans())
    return RecordedGame(
        variant=name,
        first=draw(NAMES),
        second=draw(NAMES),
        result=str(result),
        moves=tuple(moves),
        termination=ending,
        seed=draw(st.none() | st.integers(0, 2**64 - 1)),
        opening_plies=draw(st.integers(0, max(0, len(moves) - 1))) if moves else 0,
        times_ms=tuple(times),
        first_time="60+0.5" if own_times else "",
        second_time="1/move" if own_times else "",
        fault="was too slow: 1 s" if ending == "timeout" else "",
        more=draw(EVENTS_AND_DATES),
    )


def write_all(file: str, games: list[RecordedGame]) -> None:
    with writing_games(file) as write:
        for game in games:
            write(game)
