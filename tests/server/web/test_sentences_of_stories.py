"""The sentences of the story of a finished tournament do not repeat each other."""

from typing import Any

from noughts_server.web.documents import Document
from noughts_server.web.stories import sentences

GAME = {"first": "ann", "second": "bob", "result": "1-0"}


def finished(schedule: str, **story: Any) -> Document:
    """Return a finished tournament that ann won; all sentences with a board are about its first game."""
    fields = ("upset_game", "lead_game", "decided_game", "longest_game", "shortest_game")
    return {
        "schedule": schedule,
        "sprt": "",
        "games_done": 1,
        "standings": [{"label": label, "rank": rank} for rank, label in enumerate(("ann", "bob", "cy"), start=1)],
        "story": {
            **dict.fromkeys(fields, 1),
            "upset_winner": "ann",
            "upset_winner_place": 3,
            "upset_loser": "bob",
            "upset_loser_place": 2,
            "lead_changes": 0,
            "lead_round": 0,
            "decided_round": 0,
            "longest_moves": 9,
            "shortest_moves": 5,
            **story,
        },
    }


def test_sentence_about_a_lead_that_never_changed_has_no_board() -> None:
    def lead(changes: int) -> Document | None:
        told = sentences(finished("round_robin", lead_changes=changes), [], {1: GAME})
        return next(each.game for each in told if each.title == "The lead")

    assert lead(0) is None
    assert lead(1) == GAME


def test_upset_in_the_final_is_told_once() -> None:
    final = {
        "first": "ann",
        "second": "bob",
        "winner": "ann",
        "first_points": 2.0,
        "second_points": 0.0,
        "games": 2,
        "decision": "points",
    }

    def titles(loser: str) -> list[str]:
        return [each.title for each in sentences(finished("knockout", upset_loser=loser), [final], {1: GAME})]

    assert "Biggest upset" in titles("cy")
    assert "Biggest upset" not in titles("bob")
    assert "Decided in the final" in titles("bob")
