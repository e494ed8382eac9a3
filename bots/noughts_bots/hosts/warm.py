"""Imports the modules that children of plugins need, for a process that forks them: forked children start at once."""

import io
import sys

from noughts_bots.connection.dialogue import software_version
from noughts_bots.connection.pipe_session import play_on_pipes
from noughts_bots.hosts import bot_for
from noughts_bots.hosts import dll as dll
from noughts_bots.hosts import main as main
from noughts_bots.hosts import py as py
from noughts_bots.sdk.bot import Bot
from noughts_proto.pipes import packed
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import OWN_NAMES, Position, parse_variant


class Rehearsal(Bot):
    """The bot of `rehearse`."""

    def choose(self, position: Position) -> int:
        return position.free[0]


def rehearse() -> None:
    """Load a bot and let it answer one question from memory, so that all code that a child runs first is loaded."""
    path = sys.path[:]  # Loading a bot adds folders to `sys.path`.
    bot = bot_for("py", f"{__name__}:Rehearsal", {})
    sys.path[:] = path
    play_on_pipes(bot, io.BufferedReader(io.BytesIO(packed(_QUESTION))), io.BytesIO(), name="rehearsal")


def _question() -> bytes:
    frame = pb.PlayResponse(frame=1)
    frame.starts.add(
        variant="tictactoe", game=[1], number=[1], side=[1], seed=[1], opponent=[0], opponents=["o"], move_count=[0]
    )
    frame.turns.game.append(1)
    frame.turns.ply.append(0)
    frame.turns.cell.append(0)
    frame.ends.game.append(1)
    return frame.SerializeToString()


_QUESTION = _question()
software_version()  # This caches the version for the hello.
for _name in OWN_NAMES:
    parse_variant(_name)
