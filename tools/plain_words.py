"""Find wording that is hard to understand in pages and programs; exit with 1 if there is any.

python -m tools.plain_words [FILE...]

Without files it reads README.md, CONTRIBUTING.md, the pages of docs/, the .proto files, the example bots with the C
header, the templates of new bots, and the docstrings and texts of the packages, the benchmarks and the tests. It skips
code: fenced blocks and text in backticks. A finding is a phrase of `BANNED`, with the words to use instead. `ALLOWED`
has exceptions. Names of tests have at most 70 characters.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "proto/**/*.proto",
    "bots/**/*.h",
    "bots/examples/*/*.*",
    "bots/examples/rust/src/*.rs",
    "server/**/*.template",
)
PROGRAMS = ("server/**/*.py", "referee/**/*.py", "bots/**/*.py", "benchmarks/**/*.py", "tests/**/*.py")

LONGEST_TEST_NAME = 70

BANNED = {
    r"(?:^|[.:;] )(?:Who|Whose|Whoever) [a-z]+(?![^.]*\?)": "a subject, e.g. `Anyone who`, `A bot that`",
    r"\b(?:is|are|was|were) (?:told|said)\b": "the active voice: report, return, send",
    r"\bwhoever\b|\bWhoever\b|\b[Ee]verybody\b|\b[Ss]omebody\b": "you, anyone, a user, a bot",
    r"\bgoes on\b|\bgo on\b|\banew\b": "continue, resume, restart",
    r"\b[Mm]end(?:s|ed)?\b": "fix",
    r"\bbeside\b": "next to, compared with",
    r"\bwhich is no\b|\bthat there (?:is|are) not\b": "is not a, unknown, missing",
    r"\blocked (?:in|child)\b|\bthe lock\b": "sandbox, sandboxed process",
    r"\b[Hh]and(?:s|ed|ing)? in\b": "submit",
    r"\bdial(?:s|led|ling)? in\b": "connect",
    r"\bby lot\b": "at random",
    r"\bin flight\b": "concurrent",
    r"\bin trouble\b": "unavailable",
    r"\btaken? in hand\b": "acknowledged",
    r"\btells? apart\b": "distinguish",
}
"""Patterns, and what to write instead."""
ALLOWED = {
    "sqlite.py": "the lock",
    "locked_file.py": "the lock",
    "test_dll.py": "beside",  # a field of the C header
    "noughts_bot.h": "beside",
    "reach.c": "beside",
    "engine.c": "beside",
    "abi.rs": "beside",
    "abi.rs.template": "beside",
    "abi.zig.template": "beside",
    "test_form_of_a_game.py": "Who moves",  # the label of a field
}
"""A phrase by file that means something else there."""
SKIPPED = {"test_plain_words.py"}
"""Files that quote banned wording."""


def main(arguments: Sequence[str]) -> int:
    """Print the findings of these files, or of all pages and programs. Return the exit code."""
    places = [Path(argument) for argument in arguments] or [
        place
        for pattern in PAGES + PROGRAMS
        for place in sorted(ROOT.glob(pattern))
        if "_pb2" not in place.name and place.name not in SKIPPED
    ]
    found = [finding for place in places for finding in findings(place.name, place.read_text(encoding="utf-8"))]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


def findings(name: str, text: str) -> Iterator[str]:
    """Yield `NAME:LINE: 'PHRASE'. Fix: ...` for each banned phrase outside of code."""
    for number, line in _texts_of_program(text) if name.endswith(".py") else _lines_of_page(text):
        prose = re.sub(r"`[^`]*`", "``", line)
        for pattern, instead in BANNED.items():
            for match in re.finditer(pattern, prose):
                if ALLOWED.get(name) != match[0]:
                    yield f"{name}:{number}: {match[0].strip()!r}. Fix: write {instead}."
    if name.endswith(".py"):
        yield from _long_names_of_tests(name, text)


def _long_names_of_tests(name: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            excess = len(node.name) - LONGEST_TEST_NAME
            if excess > 0:
                yield f"{name}:{node.lineno}: {node.name!r}. Fix: leave out {excess} characters."


def _lines_of_page(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _texts_of_program(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings and of strings with a space, which people read."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from enumerate(node.value.splitlines(), node.lineno)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
