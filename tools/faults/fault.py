"""A fault: a change of production code that the tests must notice."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that is put into one file by replacing a text."""

    name: str
    file: str
    """The path in the repository."""
    before: str
    """The text to replace. It must occur exactly once in the file."""
    after: str
    harm: str
    """The harm of the fault to users."""
    near: tuple[str, ...]
    """Tests to run first: files or folders near the code."""
    wider: tuple[str, ...]
    """Tests to run if those near the code pass."""

    def problem(self, root: Path) -> str:
        """Return why the fault cannot be put into this tree; empty if it can."""
        file = root / self.file
        count = file.read_text(encoding="utf-8").count(self.before) if file.is_file() else 0
        if count == 1:
            return ""
        return f"{self.name}: {self.file} has the text {count} times, expected once. Fix: renew the fault."

    def changed(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        return text.replace(self.before, self.after)


def present(root: Path, places: tuple[str, ...]) -> Iterator[str]:
    """Yield these paths; one that does not exist any more is replaced by the nearest folder above it."""
    for place in places:
        path = root / place
        while not path.exists():
            path = path.parent
        yield path.relative_to(root).as_posix()
