"""A data set: games in files for programs that compute with tables, with a card that describes them."""

import json
from collections import Counter
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from noughts_server.core.version import software_version
from noughts_server.records.columns import GAMES_COLUMNS, MOVES_COLUMNS, POSITIONS_COLUMNS, Column
from noughts_server.tables.recorded_game import one_line

SCHEMA_VERSION = 1
"""Version of the columns: it changes if a column changes its type or its meaning, but not if one is added."""
READER_BYTES = 2 << 30
"""Limit of the memory of the process that parses a Parquet file."""


class Rows(StrEnum):
    """What one row of a data set is: a game, a move or a position."""

    GAMES = "games"
    MOVES = "moves"
    POSITIONS = "positions"

    @property
    def columns(self) -> tuple[Column, ...]:
        return {Rows.GAMES: GAMES_COLUMNS, Rows.MOVES: MOVES_COLUMNS, Rows.POSITIONS: POSITIONS_COLUMNS}[self]

    @property
    def columns_table(self) -> str:
        """Return the columns as a table in Markdown."""
        rows = (f"| `{column.name}` | {column.type} | {column.meaning} |" for column in self.columns)
        return "\n".join(("| column | type | meaning |", "|---|---|---|", *rows))


class DataSet(NamedTuple):
    """The facts for the card of a data set: what a row is, the licence if it is known, and the source of the games."""

    rows: Rows = Rows.GAMES
    license: str = ""
    source: str = ""

    def write_card(self, file: Path, rows: int, games: Counter[str], *, pattern: str = "") -> None:
        """Write README.md next to the file, or FILE.md if there is a README.md of something else.

        Args:
            file: the data set, after which the card is named.
            rows: the number of its rows.
            games: the number of games of each variant.
            pattern: the names of the files if the data set is a folder.
        """
        card = file.with_name("README.md")
        mark = f"# Written by Noughts for {json.dumps(file.name)}."
        if card.exists() and mark not in card.read_text("utf-8", errors="replace"):
            card = file.with_name(f"{file.name}.md")
        variants = ", ".join(f"{variant} {count:,}" for variant, count in games.most_common(20)) or "none"
        table_cells = {
            "name": file.name,
            "source": self.source,
            "licence": self.license or "not stated",
            "variants": variants,
            "games": f"{games.total():,}",
            "count": f"{rows:,}",
            "rows": self.rows,
        }
        escaped_cells = {
            name: one_line(text).replace("|", "\\|").replace("`", "'") for name, text in table_cells.items()
        }
        template = Template((files(__package__) / "card.md").read_text("utf-8"))
        text = template.substitute(
            escaped_cells,
            license=json.dumps(self.license.lower() or "unknown"),
            file=json.dumps(pattern or file.name),
            mark=mark,
            columns=self.rows.columns_table,
            version=f"{SCHEMA_VERSION}",
            software=software_version(),
        )
        card.write_text(text, "utf-8", errors="replace")
