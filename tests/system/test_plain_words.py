"""The lint of the documentation's wording."""

from tools.plain_words import findings


def test_banned_wording_is_found_with_its_line_and_what_to_write() -> None:
    text = "# Title\n\nA bot that is told nothing.\nWho plays first wins.\nGames in flight go on."
    assert [found.split(". Fix: ")[0] for found in findings("page.md", text)] == [
        "page.md:3: 'is told'",
        "page.md:4: 'Who plays'",
        "page.md:5: 'go on'",
        "page.md:5: 'in flight'",
    ]


def test_code_and_quoted_output_may_have_any_wording() -> None:
    text = "The column `in flight`.\n\n```\nWho plays is told.\n```\n\n| crash: *which is no PlayRequest in JSON* |"
    assert list(findings("page.md", text)) == []
