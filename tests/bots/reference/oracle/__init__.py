"""The players of the seed articles, transcribed a second time to be compared with the bots.

Nothing here shares code with the bots. Each module follows the printed program of its article line by line, with
the article's own names and loops, on a 3x3 board only; `fives`, whose article prints none, follows its text, on any
board. Simple and slow is intended: a reader with the article in one hand should be able to tick off every statement.

A position is a string of nine characters '.', 'X' and 'O', rows from top to bottom; `me` is the mark of the bot
that is asked for a move. The articles know one mark for their computer, so `me` takes the part of the computer's
mark and the other mark the part of the human's. Any board with a free cell is answered, also one that legal play
cannot reach: it gets what the statements of the article do with it.
"""

from collections.abc import Callable

from . import coursework, first_free, fives, minimax, nextstep, pascal, random_cell, three_stage
from .boards import Evaluation

__all__ = ["PLAYERS", "Evaluation"]

# The options differ from player to player (level, depth, faster), hence the open argument list.
PLAYERS: dict[str, Callable[..., Evaluation]] = {
    "random": random_cell.consider,
    "first-free": first_free.consider,
    "three-stage": three_stage.consider,
    "coursework": coursework.consider,
    "pascal": pascal.consider,
    "nextstep": nextstep.consider,
    "minimax": minimax.consider,
    "fives": fives.consider,
}
