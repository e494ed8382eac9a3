"""Replay a recorded game according to the rules, and report the errors of the record."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from noughts_bots.language_models.answers import wrong_verdicts
from noughts_referee.clock import TimeControlError, parse_time_control
from noughts_referee.rules import FAULTS, Outcome, Result, Termination, Variant, cell_name, placed_wrongly
from noughts_server.records.recorded_game import (
    PlacedGame,
    RecordError,
    comments_by_ply,
    margin_columns,
    score_column,
    thoughts_by_ply,
    variant_of,
)
from noughts_server.tables.about import read_file_facts
from noughts_server.tables.recorded_game import RecordedGame, occasion

if TYPE_CHECKING:
    from noughts_server.store.games.exports import ExportedGame
    from noughts_server.store.tournaments.tournaments import Tournament

MOST_REMEMBERED = 5_000_000
"""Limit of the games among which duplicates are found, so that memory stays bounded."""

_RESULTS = {str(result): result for result in Result}
_TERMINATIONS = {str(termination): termination for termination in Termination}
_BY_SIDE_TO_MOVE = frozenset({Termination.ILLEGAL_MOVE, Termination.TIMEOUT, Termination.RESIGNED})
"""Terminations by which the side to move has lost."""
_LONGEST_AGREEMENT = 5
"""The most stones of an agreement on an opening.

A player can lose while it chooses. Therefore, with so few stones, the loser can be either side.
"""
_LONGEST_JSON = 200
"""Characters of JSON in an error."""


class Finding(NamedTuple):
    """An error of a record, with its place."""

    line: int
    error: str
    file: str = ""


def check_games(games: Iterable[PlacedGame], *, with_moves: bool = True) -> Iterator[tuple[Finding, ...]]:
    """Yield the errors of each game in turn.

    If `with_moves` is false, only the players and the seeds of games without moves are checked.
    """
    seen: set[int] = set()
    for line, game, file in games:
        if isinstance(game, RecordError):
            errors = [f"{game}. Fix: {game.fix}" if game.fix else str(game)]
        else:
            errors = record_errors(game) if with_moves or game.moves else []
            if game.first and game.first == game.second:
                errors.append(f"players: got {game.first!r} against itself, expected two")
            if game.seed is not None and len(seen) < MOST_REMEMBERED:
                # A game's seed follows from the tournament's seed and the game's number, so each seed occurs only once.
                key = hash((game.variant, game.first, game.second, game.seed))
                if key in seen:
                    errors.append(f"seed: got {game.seed}, which a game of the same two had before, expected each once")
                seen.add(key)
        yield tuple(Finding(line, error, file) for error in errors)


def record_errors(record: RecordedGame) -> list[str]:
    """Return the errors of the record in the order in which they are found."""
    return list(_errors(record))


def errors_of_stored_game(game: "ExportedGame") -> list[str]:
    return record_errors(stored_record(game))


def stored_record(game: "ExportedGame", *, times: bool = True) -> RecordedGame:
    """Return a stored game as a record. If `times` is false, it has no times of moves."""
    more: dict[str, Any] = {}
    if game.agreement:
        more["opening"] = game.agreement._asdict()
    if game.time_factor is not None:
        more["time_factor"] = game.time_factor
    if times and game.margins_us:
        more |= margin_columns(game.margins_us, game.late_moves)
    more |= score_column(game.scores, len(game.moves))
    more |= comments_by_ply(game.comments) | thoughts_by_ply(game.thoughts, times=times)
    if game.adjudication:
        more["adjudication"] = game.adjudication
    if game.round:
        more["round"] = game.round
    if game.tournament:
        more["tournament"] = game.tournament
    return RecordedGame(
        variant=game.variant,
        first=game.first,
        second=game.second,
        result=game.result,
        moves=tuple(game.moves),
        termination=game.termination,
        opening_plies=game.opening_plies,
        seed=game.seed,
        times_ms=tuple([time / 1000 for time in game.times_us]) if times else (),
        first_time=game.first_time,
        second_time=game.second_time,
        fault=game.fault,
        more=more,
    )


def archive_record(game: "ExportedGame", tournament: "Tournament") -> RecordedGame:
    """Return the record of a game with its name, its end time and its tournament's title, as a server reports them."""
    record = stored_record(game)
    end = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=game.ended_at)
    end_time = end.isoformat(timespec="microseconds")
    origin = {"game": f"{tournament.name}/games/{game.ordinal}", "end_time": end_time}
    origin |= occasion(tournament.settings.title or tournament.slug, end_time)
    return replace(record, more={**record.more, **origin})


def _errors(record: RecordedGame) -> Iterator[str]:
    """Replay the game, and yield the errors of the record. An error of a move is the last one."""
    try:
        variant = variant_of(record.variant)
    except RecordError as error:
        yield f"{error.got}: expected {error.expected}"
        return
    termination = _TERMINATIONS.get(record.termination)
    if record.termination and termination is None:
        yield f"termination: got {record.termination!r}, expected one of {', '.join(_TERMINATIONS)}"
        return
    if record.opening_plies > len(record.moves):
        yield f"opening: got {record.opening_plies} plies, expected at most {len(record.moves)}, the number of moves"
        return
    outcome: Outcome | None = None
    own = opponent = 0
    for ply, cell in enumerate(record.moves):
        place = f"move {ply + 1} ({_cell(variant, cell)})"
        if outcome is not None:
            ended = f"the game ended with move {ply} ({outcome.termination})"
            yield f"{place}: got a move after the end, expected none: {ended}"
            return
        side = ply & 1
        if not variant.takes(cell, own | opponent) or (
            variant.forbids is not None and variant.forbids(own, opponent, cell, side) is not None
        ):
            wrong = placed_wrongly(variant, own, opponent, cell, side)
            yield f"{place}: {'XO'[side]} {wrong}, expected a legal move, or termination illegal_move without this move"
            return
        own |= 1 << cell
        outcome = variant.outcome(own, opponent, cell, side)
        if outcome is not None and ply < record.opening_plies:
            yield f"{place}: the opening ends the game ({outcome.termination}), expected one that leaves the game open"
            return
        own, opponent = opponent, own
    yield from _errors_of_ending(record, variant, termination, outcome)
    yield from _errors_of_other_fields(record, variant)


def _errors_of_ending(
    record: RecordedGame, variant: Variant, termination: Termination | None, outcome: Outcome | None
) -> Iterator[str]:
    """Yield the errors of the result and the termination. `outcome` is the one on the board after the last move."""
    result = _RESULTS[record.result]
    to_move = len(record.moves) & 1
    ended_in_agreement = variant.agreement and len(record.moves) <= _LONGEST_AGREEMENT
    if outcome is not None:
        if termination not in (None, outcome.termination):
            yield f"termination: got {termination}, expected {outcome.termination}: so the last move ends the game"
        if result is not outcome.result:
            yield f"result: got {record.result}, expected {outcome.result}: so the board shows"
        return
    if termination in (Termination.LINE, Termination.BOARD_FULL):
        yield f"termination: got {termination}, expected a different one: after the last move the game is still open"
    elif termination is Termination.VOID or (termination is None and result is Result.VOID):
        if result is not Result.VOID:
            yield f"result: got {record.result}, expected * of a void game"
    elif result is Result.VOID:
        yield f"result: got *, expected a winner or a draw with termination {termination}"
    elif termination in FAULTS | {Termination.RESIGNED} and result is Result.DRAW:
        yield f"result: got {record.result}, expected that one side lost by {termination}"
    elif termination in _BY_SIDE_TO_MOVE and result.loser != to_move and not ended_in_agreement:
        yield f"result: got {record.result}, expected that {'XO'[to_move]}, to move, lost by {termination}"


def _errors_of_other_fields(record: RecordedGame, variant: Variant) -> Iterator[str]:
    """Yield the errors of everything except the moves and the ending."""
    times = len(record.times_ms)
    moves = len(record.moves)
    # A last answer that was not a move can have a time. Choices of an agreement before the game have times, too.
    if times and not variant.agreement and times not in (moves, moves + 1):
        yield f"times_ms: got {times} of them, expected {moves}, one a move"
    if "winning_cells" in record.more:
        winning_cells = record.more["winning_cells"]
        expected = list(variant.won_with(record.moves))
        if winning_cells != expected:
            yield f"winning_cells: got {winning_cells}, expected {expected}"
    for name, time in (("first_time", record.first_time), ("second_time", record.second_time)):
        if time or record.first_time or record.second_time:
            try:
                parse_time_control(time)
            except TimeControlError as error:
                yield f"{name}: got {error.got!r}, expected {error.expected}"
    if "time_factor" in record.more and record.time_factor is None:
        yield f"time_factor: got {_short_json(record.more['time_factor'])}, expected a number above 0"
    if "fault" in record.more:
        yield from _errors_of_fault(record, record.more["fault"])
    for ply, question in record.questions.items():
        errors = wrong_verdicts(question, variant, record.moves[: ply + 1], ply, record.seed or 0)
        yield from (f"comment at ply {ply}: {error}" for error in errors)
    facts = record.more.get("tournament")
    if isinstance(facts, dict) and read_file_facts(facts) is None:
        yield f"tournament: got {_short_json(facts)}, expected what Noughts writes with the last game of a file"
    seed = record.seed
    text = record.more.get("seed_text")
    if text is not None and text != str(seed):
        yield f"seed_text: got {text!r}, expected the seed, {seed}"
    if seed is not None and not 0 <= seed < 1 << 64:
        yield f"seed: got {seed}, expected 0 to {(1 << 64) - 1}"


def _errors_of_fault(record: RecordedGame, fault: Any) -> Iterator[str]:
    """Yield the errors of the loser's fault in a line of JSON."""
    loser = _RESULTS[record.result].loser
    if loser is None:
        yield f"fault: got one in a game that ended {record.result}, expected none: nobody lost"
        return
    fields = fault if isinstance(fault, dict) else {}
    expected = record.lost_by(loser)
    if {name: fields.get(name) for name in expected} != expected or not isinstance(fields.get("reason"), str):
        yield f"fault: got {_short_json(fault)}, expected {_short_json({**expected, 'reason': '...'})}"


def _short_json(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_JSON else f"{text[:_LONGEST_JSON]}..."


def _cell(variant: Variant, cell: int) -> str:
    return cell_name(variant, cell) if 0 <= cell < variant.cells else f"cell {cell}"
