"""The tables of a tournament, on this machine or on a server: standings, crosstable, bracket or rounds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from noughts_server.cli.drawing.crosstable import crosstable_table
from noughts_server.cli.drawing.rating_table import fit_of_pairs
from noughts_server.cli.drawing.tables import show_table
from noughts_server.cli.printing import heading, points, printable, rating, table
from noughts_server.tables.crosstable import Crosstable
from noughts_server.tables.pairings import MatchRow, pairings_document, pairings_table
from noughts_server.tables.standings import ON_REQUEST, PairScores, Standing, displayed_place, tie_notes

if TYPE_CHECKING:
    from noughts_server.statistics.batch_ratings import BatchRatings

_MOST_PAIRINGS = 64


class TournamentTables:
    """The tables of a tournament whose entries are ranked (`noughts_server.tables.standings`)."""

    def __init__(
        self, rows: Sequence[Standing], scores: PairScores, matches: Sequence[MatchRow], *, bracket: bool
    ) -> None:
        self.rows = rows
        self.crosstable = Crosstable((row.label for row in rows), scores)
        self.matches = matches
        self._bracket = bracket

    def fit(self) -> "BatchRatings":
        """Return the ratings from all games at once. Raises UsageProblem for too many entries."""
        return fit_of_pairs(self.crosstable.labels, self.crosstable.scores)

    def document(self) -> dict[str, Any]:
        """Return the tables for JSON.

        A missing rating is null, and so is a head-to-head score that does not count. "withdrawn" is the reason, and
        null for an active entry. "tie_break" is the criterion that ranks a tied entry below the one above, else null.
        """
        standings = [
            {
                "name": row.label,
                "wins": row.wins,
                "draws": row.draws,
                "losses": row.losses,
                "points": row.points,
                "rating": row.rating,
                "byes": row.byes,
                "withdrawn": None if row.withdrawn_at is None else row.withdrawn_reason or ON_REQUEST,
                "rank": row.rank or place,
                "head_to_head": row.head_to_head,
                "sonneborn_berger": row.sonneborn_berger,
                "tie_break": row.tie_break and row.tie_break.name.lower(),
            }
            for place, row in enumerate(self.rows, start=1)
        ]
        document = {"standings": standings, "crosstable": self.crosstable.document()}
        if self.matches:
            document["bracket" if self._bracket else "pairings"] = pairings_document(self.matches)
        return document

    def print_standings(self, console: Console) -> None:
        """Print the standings, and lines on tie-breaks, byes and withdrawn entries, which have no column."""
        columns = (">#", "bot", ">points", ">wins", ">draws", ">losses", ">rating")
        rows = (
            (
                displayed_place(row.entry, position) or "-",
                row.label,
                points(row.points),
                row.wins,
                row.draws,
                row.losses,
                rating(row.rating),
            )
            for position, row in enumerate(self.rows, start=1)
        )
        console.print(table(columns, rows))
        for note in tie_notes(row.entry for row in self.rows):
            console.print(f"Tie broken: {printable(note)}", highlight=False, markup=False)
        if byes := ", ".join(f"{printable(row.label)} {row.byes}" for row in self.rows if row.byes):
            console.print(f"Byes, each worth a win in all games of a pairing: {byes}", soft_wrap=True)
        for row in self.rows:
            if row.withdrawn_at is not None:
                reason = f", {printable(row.withdrawn_reason)}" if row.withdrawn_reason else ""
                console.print(f"Withdrawn: {printable(row.label)}{reason}", soft_wrap=True)

    def print_pairings(self, console: Console) -> None:
        show_table(console, pairings_table(self.matches, bracket=self._bracket, limit=_MOST_PAIRINGS))

    def print_crosstable(self, console: Console, limit: int | None = None) -> None:
        """Print the crosstable with its heading, unless it has more than `limit` entries."""
        heading(console, "Crosstable: points of each row against each column")
        count = len(self.crosstable.labels)
        if limit is None or count <= limit:
            console.print(crosstable_table(self.crosstable, console))
        else:
            console.print(f"{count:,} entries are too many for a terminal: see --format json.")
