"""Finished games as rows of the table `games`."""

from noughts_referee.work_units import FinishedGame

COLUMNS = (
    "tournament_id",
    "ordinal",
    "attempt",
    "first_entry",
    "second_entry",
    "result",
    "termination",
    "moves",
    "times",
    "fault",
    "opening_plies",
    "allowances",
    "scores",
    "comments",
    "thoughts",
    "time_factor",
)
"""All columns but `ended_at`."""


def finished_row(game: FinishedGame) -> tuple[int | float | bytes | str | None, ...]:
    """Return the values of `COLUMNS` for a game."""
    return (
        game.tournament,
        game.ordinal,
        game.attempt,
        game.first,
        game.second,
        # sqlite3 would search adapters for members of enumerations, so they become plain numbers: `+` is faster than
        # int().
        +game.result,
        +game.termination,
        game.moves,
        game.times,
        game.fault or None,
        game.opening_plies,
        game.allowances,
        game.scores,
        game.comments,
        game.thoughts,
        game.time_factor,
    )
