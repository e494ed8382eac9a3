"""Find wording in the documentation that is hard to understand; exit with 1 if there is any.

python -m tools.plain_words [FILE...]

Without files it reads README.md, CONTRIBUTING.md and docs/*.md. It skips code: fenced blocks and text in backticks. A
finding is a phrase of `BANNED`, with the words to use instead. `QUOTED` lists program output that the pages quote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]

BANNED = {
    r"(?:^|[.:;] )(?:Who|Whose|Whoever) [a-z]+(?![^.]*\?)": "a subject, e.g. `Anyone who`, `A bot that`",
    r"\b(?:is|are|was|were) (?:told|said)\b": "the active voice: report, return, send",
    r"\bwhoever\b|\beverybody\b|\bsomebody\b": "you, anyone, a user, a bot",
    r"\bgoes on\b|\bgo on\b|\banew\b": "continue, resume, restart",
    r"\bmend(?:s|ed)?\b": "fix",
    r"\bbeside\b": "next to, compared with",
    r"\bwhich is no\b|\bthat there (?:is|are) not\b": "is not a, unknown, missing",
    r"\blocked (?:in|child)\b|\bthe lock\b": "sandbox, sandboxed process",
    r"\bhand(?:s|ed|ing)? in\b": "submit",
    r"\bdial(?:s|led|ling)? in\b": "connect",
    r"\bby lot\b": "at random",
    r"\bin flight\b": "concurrent",
    r"\bin trouble\b": "unavailable",
    r"\btaken? in hand\b": "acknowledged",
    r"\btells? apart\b": "distinguish",
}
"""Patterns, and what to write instead."""
QUOTED = ("which is no PlayRequest",)
"""Output of programs."""


def main(arguments: Sequence[str]) -> int:
    """Print the findings of these files, or of all pages. Return the exit code."""
    pages = [Path(each) for each in arguments] or [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    found = [finding for page in pages for finding in findings(page.name, page.read_text(encoding="utf-8"))]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


def findings(name: str, text: str) -> Iterator[str]:
    """Yield `NAME:LINE: 'PHRASE'. Fix: ...` for each banned phrase outside of code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        prose = "" if fenced else re.sub(r"`[^`]*`", "``", line)
        for quoted in QUOTED:
            prose = prose.replace(quoted, "")
        for pattern, instead in BANNED.items():
            for match in re.finditer(pattern, prose):
                yield f"{name}:{number}: {match[0].strip()!r}. Fix: write {instead}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
