"""Files of PGN: which tags begin a game."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noughts_server.records.pgn import read_pgn
from noughts_server.tables.recorded_game import RecordedGame
from tests.server.records.strategies import NAMES
from tests.support.settings import examples


@st.composite
def tag_sections(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    """Return the tags of a game in any order, and the text after them: blank lines or the game's moves."""
    tags = {"White": draw(NAMES), "Black": draw(NAMES), "Result": draw(st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"]))}
    more = draw(st.dictionaries(st.sampled_from(["Event", "Round", "Variant"]), st.just("gomoku")))
    if date := draw(st.none() | st.dates()):
        more["Date"] = str(date).replace("-", ".")
    names = draw(st.permutations(sorted(tags | more)))
    end = draw(st.sampled_from(["\n", "\n\n", f"\n{tags['Result']}\n\n", f"1. h8 {tags['Result']}\n"]))
    return {name: (tags | more)[name] for name in names}, end


@examples(80)
@given(games=st.lists(tag_sections(), max_size=5))
def test_a_pgn_file_has_a_game_for_each_tag_section(games: list[tuple[dict[str, str], str]]) -> None:
    escaped = str.maketrans({"\\": "\\\\", '"': '\\"'})
    text = ""
    for tags, end in games:
        text += "".join(f'[{name} "{value.translate(escaped)}"]\n' for name, value in tags.items())
        text += end
    expected = [
        RecordedGame(
            tags.get("Variant", ""),
            tags["White"],
            tags["Black"],
            tags["Result"],
            more={
                name.lower(): tags[name].replace(".", "-") if name == "Date" else tags[name]
                for name in ("Event", "Date", "Round")
                if name in tags
            },
        )
        for tags, _ in games
    ]
    assert [placed.game for placed in read_pgn(text.splitlines(keepends=True))] == expected


def test_pgn_tags_without_blank_lines_begin_a_game_with_the_next_white() -> None:
    tags = '[White "{}"]\n[Black "c"]\n[Result "1-0"]\n'
    placed_games = read_pgn((tags.format("a") + tags.format("b")).splitlines(keepends=True))
    assert [(placed.line, placed.game) for placed in placed_games] == [
        (1, RecordedGame("", "a", "c", "1-0")),
        (4, RecordedGame("", "b", "c", "1-0")),
    ]


def test_a_pgn_game_can_have_a_blank_line_among_its_tags() -> None:
    (placed,) = read_pgn(['[White "a"]\n', "\n", '[Black "b"]\n', '[Result "1-0"]\n'])
    assert placed == (1, RecordedGame("", "a", "b", "1-0"), "")
