"""The analysis of a game as pages show it."""

from collections.abc import Sequence

from starlette.requests import Request

from noughts_proto.v1 import games_pb2
from noughts_referee.rules import parse_variant
from noughts_server.core.messages import Language, in_language
from noughts_server.drawing.charts import value_line
from noughts_server.records.explaining import JudgedGame, better, continuation, effect, explained, found_wins, sentences
from noughts_server.records.server_games import judged_game
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.web.documents import Document, document
from noughts_server.web.rendering import Rendering
from noughts_server.web.upstream import Failure, Upstream

_BUSY = 429
_COSTLY = 3
"""Number of mistakes that are visible before the visitor opens the list of all."""
_MOST_DOTS = 10
"""If a game has more mistakes, the chart has dots only for those that are visible first."""


async def analysis_of(
    upstream: Upstream, rendering: Rendering, request: Request, game: Document, language: Language, *, start: bool
) -> Document | None:
    """Return the analysis of a finished game for its page; None for a live game. Raises Failure.

    If there is none, `start` has the server analyse the game.
    """
    if game["state"] != "ended" or game["board"] is None:
        return None
    get_analysis = games_pb2.GetAnalysisRequest(name=game["name"], stored_only=not start)
    try:
        answer = await upstream.call(upstream.games.GetAnalysis, get_analysis)
    except Failure as failure:
        if failure.status == _BUSY:
            return {"state": "busy"}
        return {"state": "unavailable", "reason": _in(language, failure.message)}
    if answer.state != games_pb2.ANALYSIS_STATE_DONE:
        return {"state": document(answer)["state"], "reason": _in(language, answer.reason)}
    # A game of 900 moves takes up to 40 ms.
    return await rendering.in_turn(request, "analysis", lambda: _translated(game, answer, language))


def _in(language: Language, reason: str) -> str:
    """Return the server's reason in the language, or in English if there is no translation."""
    return language.translations.gettext(reason) if reason else ""


def _translated(game: Document, answer: games_pb2.GetAnalysisResponse, language: Language) -> Document:
    with in_language(language):
        return _shown(game, answer)


def _shown(game: Document, answer: games_pb2.GetAnalysisResponse) -> Document:
    judged = judged_game(parse_variant(game["variant"]), answer)
    record = RecordedGame(
        variant=game["variant"],
        first=game["first"],
        second=game["second"],
        result=game["result"],
        moves=tuple(game["moves"]),
        termination=game["termination"],
        fault=game["fault"],
    )
    explanation = explained(record, judged)
    players = (record.first, record.second)
    decided = decisive(record, judged)
    rescued = stood_lost(record, judged)
    first_mistakes = shown_first(answer.mistakes, decided)
    has_all_dots = len(answer.mistakes) <= _MOST_DOTS
    dots = {mistake.ply for mistake in answer.mistakes if has_all_dots or mistake.ply in first_mistakes}
    return {
        "state": "done",
        "chart": value_line(course(judged), {ply + 1 for ply in dots}, len(record.moves), len(answer.mistakes)),
        "has_all_dots": has_all_dots,
        "sentences": sentences({**explanation, "turns": []}) if not explanation["turns"] else [],
        "sides": [(record.first, document(answer.first)), (record.second, document(answer.second))],
        "decided": None if decided is None else {"move": decided + 1, "bot": players[decided % 2]},
        "was_lost": "" if rescued is None else players[rescued],
        "counts": [
            (player, sum(mistake.ply % 2 == side for mistake in answer.mistakes)) for side, player in enumerate(players)
        ],
        "mistakes": [
            {
                **document(mistake),
                "effect": effect(turn),
                "bot": turn["bot"],
                "better_called": better(turn),
                "line_called": continuation(turn),
                "is_costly": mistake.ply in first_mistakes,
            }
            for mistake, turn in zip(answer.mistakes, explanation["turns"], strict=True)
        ],
        "found": [(ply, players[ply % 2], missed_after(judged, ply)) for ply in found_wins(judged)],
    }


def decisive(record: RecordedGame, judged: JudgedGame) -> int | None:
    """Return the ply of the loser's last mistake if the winner kept its win from there to the end."""
    last = judged.turns[-1] if judged.turns else None
    if last is None or record.by_fault or last.ply % 2 != record.loser or last.after.result != 1:
        return None
    return last.ply


def stood_lost(record: RecordedGame, judged: JudgedGame) -> int | None:
    """Return the side that was losing when the other one lost by a fault, e.g. on time; None if there is none."""
    loser, verdict = record.loser, judged.verdicts.get(len(record.moves))
    if loser is None or verdict is None or not record.by_fault:
        return None
    return 1 - loser if verdict.result == (1 if len(record.moves) % 2 == loser else -1) else None


def shown_first(mistakes: Sequence[games_pb2.Mistake], decided: int | None) -> set[int]:
    """Return the plies of the mistakes to show first: those that cost most, and the decisive one.

    If too many cost the same, only the decisive one is shown first, or without one the last.
    """
    ordered = sorted(mistakes, key=lambda mistake: (len(mistake.mark), mistake.ply), reverse=True)
    costly = {mistake.ply for mistake in ordered[:_COSTLY]}
    if len(ordered) > _COSTLY and ordered[_COSTLY].mark == ordered[0].mark:
        costly = {mistakes[-1].ply} if decided is None else set()
    return costly if decided is None else {*costly, decided}


def missed_after(judged: JudgedGame, found: int) -> int | None:
    """Return the ply at which the player missed the win again that it began to play; None if it kept it."""
    return next((turn.ply for turn in judged.turns if turn.ply > found and turn.ply % 2 == found % 2), None)


def course(judged: JudgedGame) -> list[tuple[int, int, int]]:
    """Return the number of moves before each known value, the value for the first player, and the plies to the end.

    If no search knows how far the end is, it is as far as the next known value says.
    """
    values: list[tuple[int, int, int]] = []
    for ply, verdict in sorted(judged.verdicts.items(), reverse=True):
        if verdict.result is None:
            continue
        distance = verdict.plies
        if distance is None and verdict.result and values:
            next_ply, _, after = values[-1]
            distance = after + next_ply - ply
        values.append((ply, -verdict.result if ply % 2 else verdict.result, distance or 0))
    return values[::-1]
