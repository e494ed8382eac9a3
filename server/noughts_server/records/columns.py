"""The columns of data sets: their order, their types in Parquet and what they mean."""

from typing import NamedTuple


class Column(NamedTuple):
    name: str
    type: str
    """Its type in Arrow."""
    meaning: str


GAMES_COLUMNS = (
    Column("number", "int64", "number of the game in the file, from 1"),
    Column("game", "string", "name of the game on its server, `tournaments/ID/games/NUMBER`"),
    Column("end_time", "string", "end of the game in UTC, as in ISO 8601"),
    Column("event", "string", "title of the tournament"),
    Column("date", "string", "date of the game: `2026-11-24`, `2026-11` or `2026`"),
    Column("variant", "string", "variant, as `noughts variants` lists it"),
    Column("first", "string", "player that moved first: X, or Black"),
    Column("second", "string", "player that moved second: O, or White"),
    Column("seed", "uint64", "seed of the game's random numbers"),
    Column("moves", "list<uint16>", "cells in playing order; cells are numbered from 0, row by row from the top"),
    Column("result", "string", "`1-0` (the first player won), `1/2-1/2`, `0-1`, or `*` for none"),
    Column("termination", "string", "how the game ended: `line`, `board_full`, `timeout` and so on"),
    Column("winning_cells", "list<uint16>", "cells of the winning lines"),
    Column("opening", "list<uint16>", "the first moves, if they were given"),
    Column("first_time", "string", "time control of the first player, if players have their own"),
    Column("second_time", "string", "time control of the second player, if players have their own"),
    Column(
        "times_ms",
        "list<double>",
        "time of each move in milliseconds; one more for a last answer that was not a move",
    ),
    Column("scores", "list<double>", "score of each move by its player, positive if good for that player"),
    Column("more", "string", "all other values of the game as a JSON object, e.g. `fault`, `comments`, `thoughts`"),
)

MOVES_COLUMNS = (
    Column("number", "int64", "number of the game, from 1"),
    Column("ply", "uint32", "number of the move in the game, from 0"),
    Column("variant", "string", "variant, as `noughts variants` lists it"),
    Column("player", "string", "player that has this side in the game"),
    Column("side", "string", "`X` moved first, `O` second"),
    Column("move", "uint16", "cell of the move; cells are numbered from 0, row by row from the top"),
    Column("chosen", "bool", "false if the move belongs to a given or agreed opening"),
    Column("time_ms", "double", "time of the move in milliseconds; null if it was not chosen"),
    Column("score", "double", "score of the move by its player, positive if good for that player"),
    Column(
        "depth",
        "uint32",
        "depth of the player's search in plies; null if it is unknown, like `nodes`, `search_ms`, `pv` and `comment`",
    ),
    Column("nodes", "uint64", "nodes of the search"),
    Column("search_ms", "double", "the search's own time in milliseconds"),
    Column("pv", "list<uint16>", "principal variation: cells that the player expected, beginning with its own move"),
    Column("comment", "string", "the player's comment on the move"),
    Column("result", "int8", "result for the player: 1 win, 0 draw, -1 loss"),
)

POSITIONS_COLUMNS = (
    Column("number", "int64", "number of the game, from 1"),
    Column("ply", "uint32", "number of moves before the position"),
    Column("variant", "string", "variant, as `noughts variants` lists it"),
    Column("position", "string", "the board, row by row from the top: `.` empty, `X`, `O`"),
    Column("side", "string", "side to move: `X` or `O`"),
    Column("move", "uint16", "cell that this side played; cells are numbered from 0, row by row from the top"),
    Column("result", "int8", "result for this side: 1 win, 0 draw, -1 loss"),
)
