"""Expected outputs in files: a transcript for each command, which `pytest --update` writes and a person reviews.

A transcript has a section for each command line:

    $ noughts tournament create spring --repeat daily
    Error: --repeat 'daily': expected weekly

The names of folders and servers and times of day differ from run to run, so they are replaced: see `Golden.compare`.
"""

import re
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden"
_PROMPT = "$ noughts "
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?")
_SEVERAL_WRITERS = "golden files are written by one process: add `-n 0` to `--update`"


class Golden:
    """The transcripts of one run of the tests."""

    def __init__(self, *, update: bool, is_alone: bool) -> None:
        """`update`: write outputs instead of comparing them; `is_alone`: no other process runs tests."""
        assert is_alone or not update, _SEVERAL_WRITERS
        self._update = update
        self._written: dict[tuple[Path, str], str] = {}
        """The sections that this run has written."""

    def compare(self, line: str, output: str, commands: int, replaced: Mapping[str, str]) -> None:
        """Compare the output of a command line with its transcript; with `--update`, write it there.

        Args:
            commands: how many words of the line name the command; they name the file.
            replaced: texts that differ from run to run, and what stands for them in the transcript.
        """
        file = FOLDER / f"{'-'.join(line.split()[:commands])}.txt"
        for text, replacement in replaced.items():
            line, output = line.replace(text, replacement), output.replace(text, replacement)
        line, output = (_ADDRESS.sub("HOST:PORT", text) for text in (line, output))
        output = _TIME.sub("DATE TIME", output)
        sections = _sections(file)
        if self._update:
            written = self._written.setdefault((file, line), output)
            assert written == output, f"{line} has two outputs; give other names to what it reads"
            sections[line] = output
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(_section(*section) for section in sorted(sections.items())), encoding="utf-8")
            return
        assert line in sections, f"{file} has no section for this line: run pytest -n 0 --update, and review the diff"
        assert output.rstrip("\n") == sections[line].rstrip("\n"), f"{file} differs; if it should, pytest -n 0 --update"


def _sections(file: Path) -> dict[str, str]:
    """Return the outputs of a transcript by command line."""
    if not file.exists():
        return {}
    parts = re.split(rf"(?m)^{re.escape(_PROMPT)}", file.read_text(encoding="utf-8"))[1:]
    lines_and_outputs = (part.partition("\n") for part in parts)
    return {line: output for line, _, output in lines_and_outputs}


def _section(line: str, output: str) -> str:
    stripped = output.rstrip("\n")
    return f"{_PROMPT}{line}\n{stripped}\n"
