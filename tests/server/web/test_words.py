"""What the pages call things."""

import pytest

from noughts_server.web.words import game


@pytest.mark.parametrize(
    "variant, words",
    [
        ("tictactoe", "Noughts and crosses"),
        ("connect4", "Connect Four"),
        ("mnk:30,30,5", "30x30, 5 in a row"),
        ("gomoku:exact:20", "Gomoku, exactly five in a row, 20x20"),
        ("gomoku20+swap2", "Gomoku, 20x20, swap2 opening"),
        ("mnk:19,19,5+pro", "19x19, 5 in a row, pro opening"),
        ("reversi", "reversi"),
    ],
)
def test_variants_have_plain_names(variant: str, words: str) -> None:
    assert game(variant) == words
