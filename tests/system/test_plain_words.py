"""The check of the wording of documentation and programs."""

from tools.plain_words import findings


def test_banned_wording_is_found_with_its_line_and_a_fix() -> None:
    text = "# Title\n\nA bot that is told nothing.\nWho plays first wins.\nGames in flight go on."
    assert [finding.split(". Fix: ")[0] for finding in findings("page.md", text)] == [
        "page.md:3: 'is told'",
        "page.md:4: 'Who plays'",
        "page.md:5: 'go on'",
        "page.md:5: 'in flight'",
    ]


def test_code_may_have_any_wording() -> None:
    text = "The column `in flight`.\n\n```\nWho plays is told.\n```\n"
    assert list(findings("page.md", text)) == []


def test_names_of_tests_have_at_most_70_characters() -> None:
    text = f"def test_{'a' * 65}() -> None: ...\nasync def test_{'b' * 67}() -> None: ...\n"
    assert list(findings("test_names.py", text)) == [
        f"test_names.py:2: 'test_{'b' * 67}'. Fix: leave out 2 characters."
    ]


def test_docstrings_and_texts_of_a_program_are_read_but_not_its_names() -> None:
    text = 'def anew():\n    """Play until told.\n\n    The bot goes on.\n    """\n    print(f"{anew} hand in {1}")\n'
    assert [finding.split(". Fix: ")[0] for finding in findings("bot.py", text)] == [
        "bot.py:4: 'goes on'",
        "bot.py:6: 'hand in'",
    ]
