"""Files of positions that commands write: one JSON document per line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from noughts_server.cli.errors import Problem, problems_with
from noughts_server.cli.printing import compact_json
from noughts_server.records.formats import replacing


def write_positions(file: Path, documents: Iterable[dict[str, Any]]) -> int:
    """Write one document per line, and return their number. If that fails, an existing file is unchanged.

    Raises Problem.
    """
    count = 0
    with problems_with(f"--output {file}", OSError, raises=Problem), replacing(file) as target:
        for document in documents:
            target.write(compact_json(document) + "\n")
            count += 1
    return count
