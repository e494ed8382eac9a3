"""The contract of play over HTTP: addresses, fields and answers, for the website and for the OpenAPI document."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from noughts_proto.v1 import types_pb2
from noughts_referee.rules.thoughts import LARGEST_DEPTH, LARGEST_NODES, LONGEST_PV
from noughts_server.web.documents import Document, enum_words

PLAY = "/play"
"""The address, beneath that of the API, at which bots open sessions."""
LONGEST_WAIT_SECONDS = 25.0
"""The longest wait of a request for turns."""
MOST_GAMES = 64
"""Limit of the concurrent games of a bot that plays over HTTP."""
_LONGEST_NAME = 100
_LONGEST_TEXT = 4_096
_MOST_VARIANTS = 100
_LARGEST_TURN = 2**53 - 1
_LARGEST_CELL = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a JSON object."""

    name: str
    schema: Document
    """The JSON schema of a value: `type` with limits of numbers, texts and lists."""
    expected: str
    """The value in words, for errors."""
    required: bool = False
    default: Any = None

    @property
    def documented(self) -> Document:
        """The schema with the description and the default."""
        default = {} if self.default is None else {"default": self.default}
        return {**self.schema, "description": self.expected, **default}


NEW_SESSION = (
    Field(
        name="bot",
        schema={"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME},
        expected="the name of the bot",
        required=True,
    ),
    Field(
        name="version",
        schema={"type": "string", "maxLength": _LONGEST_NAME},
        expected="the version of the bot",
        default="1",
    ),
    Field(
        name="variants",
        schema={
            "type": "array",
            "items": {"type": "string", "maxLength": _LONGEST_NAME},
            "maxItems": _MOST_VARIANTS,
        },
        expected="a list of the variants that the bot plays; empty: all",
        default=[],
    ),
    Field(
        name="capacity",
        schema={"type": "integer", "minimum": 1, "maximum": MOST_GAMES},
        expected=f"the largest number of concurrent games, 1 to {MOST_GAMES}",
        default=1,
    ),
    Field(
        name="accepts_challenges",
        schema={"type": "boolean"},
        expected="true or false: whether bots of other owners can challenge the bot",
        default=True,
    ),
    Field(
        name="seek",
        schema={"type": "string", "maxLength": _LONGEST_TEXT},
        expected="the rated games that the bot seeks, e.g. variant=connect4,time=1/move,rating=+-200; empty: none",
        default="",
    ),
)
MOVE = (
    Field(
        name="turn",
        schema={"type": "integer", "minimum": 1, "maximum": _LARGEST_TURN},
        expected="the number of the turn",
        required=True,
    ),
    Field(
        name="move",
        schema={"type": "integer", "minimum": 0, "maximum": _LARGEST_CELL},
        expected="the number of a cell; left out to resign",
    ),
    Field(
        name="resign",
        schema={"type": "string", "maxLength": _LONGEST_TEXT},
        expected="the reason of a resignation, which can be empty; left out to move",
    ),
    Field(
        name="score",
        schema={"type": "number"},
        expected="a finite number: the value of the position after the move; higher is better for the bot",
    ),
    Field(
        name="comment",
        schema={"type": "string", "maxLength": _LONGEST_TEXT},
        expected=f"a text of at most {_LONGEST_TEXT:,} characters for the record of the game",
    ),
    Field(
        name="depth",
        schema={"type": "integer", "minimum": 0, "maximum": LARGEST_DEPTH},
        expected="the depth of the search in plies",
    ),
    Field(
        name="nodes",
        schema={"type": "integer", "minimum": 0, "maximum": LARGEST_NODES},
        expected="the nodes of the search",
    ),
    Field(
        name="pv",
        schema={
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": _LARGEST_CELL},
            "maxItems": LONGEST_PV,
        },
        expected=f"a list of at most {LONGEST_PV} cells that the bot expects, beginning with its move",
    ),
)
MOVES = (
    Field(
        name="moves",
        schema={
            "type": "array",
            "items": {"$ref": "#/components/schemas/PlayMove"},
            "maxItems": MOST_GAMES,
        },
        expected=f"a list of at most {MOST_GAMES} moves; it can be empty",
        required=True,
    ),
)


def schema_of(fields: Iterable[Field]) -> Document:
    """Return the JSON schema of an object with these fields."""
    properties = {field.name: field.documented for field in fields}
    required = [field.name for field in fields if field.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


# Answers.

_INTEGER: Document = {"type": "integer", "minimum": 0}
_INTEGER_OR_NULL: Document = {"type": ["integer", "null"], "minimum": 0}
_TEXT: Document = {"type": "string"}
_TEXT_OR_NULL: Document = {"type": ["string", "null"]}
_CELLS: Document = {"type": "array", "items": _INTEGER}
_TIME: Document = {"$ref": "#/components/schemas/TimeControl"}


def _answer(**properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list_of(schema: str) -> Document:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{schema}"}}


def _described(schema: Document, description: str) -> Document:
    return {**schema, "description": description}


_GAME: Document = {
    "page": _described(_TEXT, "the address of the game's page"),
    "game": _described(_TEXT, "tournaments/ID/games/NUMBER"),
    "variant": _TEXT,
    "side": {"enum": enum_words(types_pb2.Side.DESCRIPTOR), "description": "the bot's side: `first` moves first"},
    "opponent": _TEXT,
}
_REPORT: Document = {
    "next": _described(_INTEGER, "send it as `after` to wait for what is newer"),
    "turns": _described(_list_of("PlayTurn"), "all open questions"),
    "started": _list_of("PlayStart"),
    "ended": _list_of("PlayEnd"),
    "connected": {"type": "boolean", "description": "whether the website has its connection to the server"},
}
SCHEMAS: Document = {
    "PlayNewSession": schema_of(NEW_SESSION),
    "PlayMove": schema_of(MOVE),
    "PlayMoves": schema_of(MOVES),
    "PlaySession": _answer(
        session=_described(_TEXT, "the id of the session, a secret"),
        bot=_described(_TEXT, "bots/NAME"),
        version=_described(_TEXT, "bots/NAME/versions/VERSION"),
        page=_described(_TEXT, "the address of the bot's page"),
        capacity=_described(_INTEGER, "the largest number of concurrent games"),
        keep_alive_seconds={"type": "number", "description": "send a request at least this often"},
        longest_wait_seconds={"type": "number", "description": "the largest `wait`"},
        reconnect_seconds={"type": "number", "description": "the time to open a session again before games are lost"},
        margin_us=_described(_INTEGER, "how far a move can exceed its limit"),
        network_cap_us=_described(_INTEGER, "how much network time of a move is not charged"),
        comment_bytes=_described(_INTEGER, "the longest comment that is kept"),
        waits_for=_described(
            {"type": "array", "items": _TEXT}, "tournaments that another version of this bot has entered"
        ),
    ),
    "PlayReport": _answer(**_REPORT),
    "PlayMovesReport": {
        "type": "object",
        "properties": {"moves": _list_of("PlayMoveResult"), **_REPORT},
        "required": ["moves"],
    },
    "PlayTurn": _answer(
        turn=_described(_INTEGER, "the number of the question in this session"),
        **_GAME,
        ply=_described(_INTEGER, "the number of moves made before"),
        position=_described(_TEXT, "the board row by row, layer by layer, then the side to move: `X...O...X O`"),
        legal=_described(_CELLS, "the cells that the bot can play"),
        moves=_described(_CELLS, "all moves so far, as cells"),
        seed={"type": "string", "pattern": "^[0-9]+$", "description": "for the bot's random numbers"},
        own_clock_us=_INTEGER_OR_NULL,
        opponent_clock_us=_INTEGER_OR_NULL,
        left_us=_described(_INTEGER_OR_NULL, "the time left for this move; null without a clock"),
        deadline={"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    ),
    "PlayStart": _answer(**_GAME, time=_TIME, opponent_time=_TIME),
    "PlayEnd": _answer(
        **_GAME,
        result={"enum": [*enum_words(types_pb2.Result.DESCRIPTOR), None]},
        points={"enum": [1, 0.5, 0, None], "description": "of the bot; null for a game without a result"},
        termination={"enum": [*enum_words(types_pb2.Termination.DESCRIPTOR), None]},
        plies=_INTEGER_OR_NULL,
        fault=_described(_TEXT_OR_NULL, "what the bot did wrong, if it lost by that"),
    ),
    "PlayMoveResult": _answer(
        turn=_INTEGER,
        status={"enum": ["accepted", "late", "conflict"]},
        message=_described(_TEXT, "why the move was not accepted"),
    ),
}
"""The schemas of requests and answers, by name."""

AFTER: Document = {
    "name": "after",
    "in": "query",
    "description": "`next` of an earlier answer: wait for newer turns, starts and ends",
    "schema": {"type": "integer", "minimum": 0, "maximum": _LARGEST_TURN},
}
WAIT: Document = {
    "name": "wait",
    "in": "query",
    "description": "seconds to wait until there is a turn, a start or an end",
    "schema": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_SECONDS},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayRoute:
    """An address of play over HTTP."""

    name: str
    method: str
    path: str
    summary: str
    parameters: tuple[Document, ...] = ()
    body: str = ""
    """The schema of the request; empty if it has no body."""
    status: int = 200
    response: str = ""
    """The schema of the answer; empty if it has no body."""


OPEN = PlayRoute(
    name="open_play_session",
    method="POST",
    path=PLAY,
    summary="Open a session of a bot, or resume its games in a new session.",
    body="PlayNewSession",
    status=201,
    response="PlaySession",
)
TURNS = PlayRoute(
    name="wait_for_turns",
    method="GET",
    path=f"{PLAY}/{{session}}/turns",
    summary="The open questions of all games, and the games that began or ended.",
    parameters=(WAIT, AFTER),
    response="PlayReport",
)
ANSWER = PlayRoute(
    name="send_moves",
    method="POST",
    path=f"{PLAY}/{{session}}/moves",
    summary="Answer one or many questions. With `wait`, the answer also has the next questions.",
    parameters=(WAIT, AFTER),
    body="PlayMoves",
    response="PlayMovesReport",
)
LEAVE = PlayRoute(
    name="leave_play_session",
    method="DELETE",
    path=f"{PLAY}/{{session}}",
    summary="End the session.",
    status=204,
)
PLAY_ROUTES = (OPEN, TURNS, ANSWER, LEAVE)
"""In the order of the documentation."""
