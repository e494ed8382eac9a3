"""Explains a game: finds the moves that changed the result with best play, as a document and as sentences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from noughts_bots.reference.analysis import Turn
from noughts_bots.reference.exact import Verdict
from noughts_referee.rules import Variant, cell_name
from noughts_server.core.messages import _
from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.records.replay import record_errors
from noughts_server.tables.game_analysis import judged
from noughts_server.tables.recorded_game import RecordedGame

VALUES = {1: "win", 0: "draw", -1: "loss", None: "unknown"}
"""Results for the side to move, in words."""


class JudgedGame(NamedTuple):
    """The values of a game's positions, and its turning points."""

    variant: Variant
    verdicts: Mapping[int, Verdict]
    """The known values, by ply."""
    turns: Sequence[Turn]
    """The moves that made the value worse for their player."""


def judge(game: RecordedGame, show: Callable[[int, int], object] = lambda done, total: None) -> JudgedGame:
    """Return the values of a game's positions and the moves that made them worse.

    Raises RecordError for an invalid game.

    Args:
        show: called with the number of judged positions and the number of all positions.
    """
    if game.termination == "going_on":
        raise RecordError("a live game", "a game that has ended")
    if error := next(iter(record_errors(game)), None):
        raise RecordError(f"a game with an error ({error})", "a game that follows the rules")
    variant = variant_of(game.variant)
    verdicts, turns = judged(variant, game.moves, game.first_chosen, show)
    return JudgedGame(variant, verdicts, turns)


def explanation(game: RecordedGame, show: Callable[[int, int], object] = lambda done, total: None) -> dict[str, Any]:
    """Return the document that `noughts game explain` prints. Raises RecordError for an invalid game.

    Args:
        show: called with the number of judged positions and the number of all positions.
    """
    return explained(game, judge(game, show))


def explained(game: RecordedGame, judged_game: JudgedGame) -> dict[str, Any]:
    """Return the document about a game that was judged."""
    variant, verdicts, all_turns = judged_game

    def names(cells: tuple[int, ...]) -> list[str]:
        return [cell_name(variant, cell) for cell in cells]

    def value(verdict: Verdict, sign: int = 1) -> str:
        """Return the value in words; with sign -1, for the side that is not to move."""
        return VALUES[None if verdict.result is None else sign * verdict.result]

    turns = [
        {
            "ply": ply + 1,
            "side": "XO"[ply % 2],
            "bot": (game.first, game.second)[ply % 2],
            "move": cell_name(variant, game.moves[ply]),
            "before": value(before),
            "after": value(after, -1),
            "plies": after.plies,
            "exact": before.exact and after.exact,
            "better": names(before.best),
            "line": names(line),
        }
        for ply, before, after, line in all_turns
    ]
    known_plies = sorted(
        ply for ply, verdict in verdicts.items() if verdict.result is not None and ply < len(game.moves)
    )
    document: dict[str, Any] = {
        "result": game.result,
        "turns": turns,
        "known_from_ply": known_plies[0] + 1 if known_plies else None,
    }
    if game.by_fault and game.loser is not None:
        loser = (game.first, game.second)[game.loser]
        document["fault"] = {"bot": loser, "termination": game.termination, "reason": game.fault}
    return document


def found_wins(judged_game: JudgedGame) -> list[int]:
    """Return the plies at which a player began a forced win that a search has proven, and no exact solver.

    It leaves out a win in one move that the other side did not prevent.
    """
    verdicts, turns = judged_game.verdicts, {turn.ply for turn in judged_game.turns}
    won = [ply for ply, verdict in sorted(verdicts.items()) if verdict.result == 1 and not verdict.exact]
    is_kept = {ply: ply not in turns and ply + 1 in verdicts and verdicts[ply + 1].result == -1 for ply in won}
    began = [ply for ply in won if is_kept[ply] and not is_kept.get(ply - 2, False)]
    return [ply for ply in began if verdicts[ply].plies != 1]


def effect(turn: Mapping[str, Any]) -> str:
    """Return what a move of the document of `explanation` did, e.g. `turned a win into a draw`."""
    if not turn["exact"]:
        return _("allowed a forced win") if turn["after"] == "loss" else _("missed a forced win")
    if turn["before"] == "draw":
        return _("turned a draw into a loss")
    return _("turned a win into a draw") if turn["after"] == "draw" else _("turned a win into a loss")


def better(turn: Mapping[str, Any]) -> str:
    """Return the term for the better moves of a turning point in the document of `explanation`.

    In a position of unknown value they are only not known to lose.
    """
    return _("Perhaps better") if turn["before"] == VALUES[None] else _("Better")


def continuation(turn: Mapping[str, Any]) -> str:
    """Return the term for the line of a turning point in the document of `explanation`: best play after the move."""
    return _("After %(move)s, with best play", move=turn["move"])


def sentences(document: dict[str, Any]) -> list[str]:
    """Return the document of `explanation` as sentences, one a line."""
    lines = []
    if fault := document.get("fault"):
        reason = f"it {fault['reason']}" if fault["reason"] else fault["termination"].replace("_", " ")
        lines.append(_("%(bot)s lost through its own fault: %(reason)s.", bot=fault["bot"], reason=reason))
    if document["known_from_ply"] is None:
        reason = _("all positions have too many free cells to be solved, and no forced win was found.")
        if lines:
            return [*lines, _("The moves: cannot say: %(reason)s", reason=reason)]
        return [_("Cannot say: %(reason)s", reason=reason)]
    for turn in document["turns"]:
        lines.append(f"Ply {turn['ply']}: {turn['side']} ({turn['bot']}) played {turn['move']} and {effect(turn)}.")
        if turn["better"]:
            lines.append(f"  {better(turn)}: {' '.join(turn['better'])}")
        if turn["line"]:
            lines.append(f"  {continuation(turn)}: {' '.join(turn['line'])}")
    if not document["turns"]:
        ply = document["known_from_ply"]
        lines.append(_("No move from ply %(ply)s on changed who wins if both sides play best.", ply=ply))
    return lines
