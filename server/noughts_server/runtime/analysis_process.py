"""The process that analyses a game. It prints the document of the analysis and the processor time that it used."""

import json
import sys
import time
from typing import Any

from noughts_proto.interpreter import python
from noughts_referee.rules import parse_variant
from noughts_server.runtime.judging_process import limit_processor_time, take_lowest_priority
from noughts_server.store.games.analyses import GameToAnalyse
from noughts_server.tables.game_analysis import analysed

COMMAND = python("-m", "noughts_server.runtime.analysis_process")
_MOST_PROCESSOR_SECONDS = 180
"""Limit of the processor time of one analysis."""


def question(game: GameToAnalyse) -> list[Any]:
    """Return what the process reads."""
    return [game.variant, game.moves, game.first_chosen, game.counts]


def main() -> None:
    take_lowest_priority()
    limit_processor_time(_MOST_PROCESSOR_SECONDS)
    name, moves, first, counts = json.load(sys.stdin)
    analysis = analysed(parse_variant(name), moves, first, counts=counts)
    json.dump({"document": analysis.document(), "processor_seconds": time.process_time()}, sys.stdout)


if __name__ == "__main__":
    main()
