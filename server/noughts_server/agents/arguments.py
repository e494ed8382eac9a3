"""Types of the tools' arguments, each with the description that agents read."""

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from noughts_proto.v1 import tournaments_pb2, types_pb2
from noughts_server.web.documents import enum_words

BotName = Annotated[str, Field(min_length=1, max_length=68), AfterValidator(lambda name: name.removeprefix("bots/"))]
"""Add a description: `Annotated[BotName, Field(description=...)]`."""

UInt31: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]
UInt32: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]
UInt64: TypeAlias = Annotated[int, Field(ge=0, lt=2**64)]

State: TypeAlias = Literal[tuple(enum_words(tournaments_pb2.TournamentState.DESCRIPTOR))]  # type: ignore[valid-type]
Schedule: TypeAlias = Literal[tuple(enum_words(tournaments_pb2.Schedule.DESCRIPTOR))]  # type: ignore[valid-type]
Repeat: TypeAlias = Literal[tuple(enum_words(tournaments_pb2.Repeat.DESCRIPTOR))]  # type: ignore[valid-type]
GameResult: TypeAlias = Literal[tuple(enum_words(types_pb2.Result.DESCRIPTOR))]  # type: ignore[valid-type]
GameTermination: TypeAlias = Literal[tuple(enum_words(types_pb2.Termination.DESCRIPTOR))]  # type: ignore[valid-type]

Tournament = Annotated[
    str, Field(description="Name of the tournament or challenge, e.g. `spring` or `tournaments/spring`")
]
Test = Annotated[str, Field(description="Name of the test, e.g. `tests/mybot-2-vs-mybot-1`")]
Bot = Annotated[str, Field(description="Name of the bot, e.g. `mybot`")]
ConnectedBot = Annotated[BotName, Field(description="Name of your connected player")]
Variant = Annotated[
    str,
    Field(
        description=(
            "Name of the variant, e.g. `tictactoe`, `connect4`, `gomoku` or `mnk:7,6,4` (columns, rows, line length)"
        )
    ),
]
OptionalVariant = Annotated[str | None, Field(description="Name of the variant. Default: tictactoe")]
TimeClass = Annotated[str, Field(description="`untimed`, `bullet`, `blitz`, `rapid` or `classical`")]
Time = Annotated[
    str | None,
    Field(
        description=(
            "`60+0.5` (base time and increment in seconds), `1/move` (seconds per move) or `none`. Default: none"
        )
    ),
]

GameName = Annotated[
    str | None,
    Field(description="Name of the game, e.g. `tournaments/spring/games/7`; or give `tournament` and `number`"),
]
TournamentOfGame = Annotated[
    str | None, Field(description="Name of the tournament or challenge, e.g. `spring` or `tournaments/spring`")
]
NumberOfGame = Annotated[
    Annotated[int, Field(ge=0)] | None, Field(description="Number of the game in its tournament, from 1")
]

PageSize = Annotated[UInt31 | None, Field(description="Limit of rows in the answer, at most 1,000. Default: 50")]
PageToken = Annotated[str | None, Field(description="The `next_page_token` of the previous answer, for its next page")]
OwnerFilter = Annotated[str | None, Field(description="Only those of this owner")]
SearchFilter = Annotated[
    str | None, Field(description="Only those whose name or title contains this text, ignoring case")
]
StateFilter = Annotated[State | None, Field(description="Only those in this state. A stopped test is paused")]
OnlineFilter = Annotated[bool | None, Field(description="Only bots that are connected")]
RetiredIncluded = Annotated[bool | None, Field(description="Include retired bots")]
MinGames = Annotated[UInt64 | None, Field(description="Only bots with at least this number of rated games in the list")]
FaultsOnly = Annotated[
    bool | None,
    Field(description="Only games that a side lost by its own fault, e.g. by an illegal move or on time"),
]
ResultFilter = Annotated[
    GameResult | None,
    Field(description="Only games with this result: `1-0` is a win of the side that moved first, `*` no result"),
]
TerminationFilter = Annotated[GameTermination | None, Field(description="Only games that ended like this")]

Content = Annotated[str, Field(min_length=1, description="Python source, or a WebAssembly module as base64")]
Entry = Annotated[
    str,
    Field(pattern=r"^\w*$", description="Name of the bot's class in the Python source; required if it has several"),
]
Seconds = Annotated[int, Field(ge=0, le=60, description="Longest time to wait, in seconds")]
