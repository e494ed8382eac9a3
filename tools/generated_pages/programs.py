"""Programs of the repository, whose text pages show."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).parents[2]
_LANGUAGES = {
    ".cs": "csharp",
    ".go": "go",
    ".java": "java",
    ".js": "javascript",
    ".py": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".sh": "sh",
}


def text_of(path: str) -> str:
    """Return a program as a block of code."""
    file = _ROOT / path
    return f"```{_LANGUAGES[file.suffix]}\n{file.read_text(encoding='utf-8').rstrip()}\n```"
