"""What came of the games of two bots: for programs, and for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from noughts_server.cli import output
from noughts_server.cli.drawing.crosstable import Crosstable, PairRow
from noughts_server.cli.output import Format
from noughts_server.competition.score import Score


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """The games of two labels."""

    variant: str
    seed: int
    first: str
    second: str
    pairs: Iterable[PairRow]
    terminations: dict[str, int]
    """How many games ended in each way."""

    def show(self, output_format: Format, more: dict[str, Any] | None = None) -> None:
        """Prints it; `more` joins the document."""
        document = self._document() | (more or {})
        if output_format is Format.JSON:
            output.print_json(document)
        else:
            self._print(document)

    def _document(self) -> dict[str, Any]:
        from noughts_server.competition.elo import elo_estimate

        scores = Crosstable((self.first, self.second), self.pairs)
        total = scores.total(self.first, self.second)
        value, error95, los = elo_estimate(total.wins, total.draws, total.losses)
        return {
            "games": sum(self.terminations.values()),
            "variant": self.variant,
            "seed": self.seed,
            "a": total.document(),
            "b": total.mirrored.document(),
            "a_first": scores.first(self.first, self.second).document(),
            "a_second": scores.second(self.first, self.second).document(),
            "terminations": self.terminations,
            "elo": {"value": value, "error95": error95, "los": los},
            **output.seed_document(self.seed),
        }

    def _print(self, document: dict[str, Any]) -> None:
        console = output.stdout()
        output.heading(console, f"{self.first} - {self.second}: {self.variant}, seed {self.seed}")
        lines = (
            (self.first, "a"),
            ("  moving first", "a_first"),
            ("  moving second", "a_second"),
            (self.second, "b"),
        )
        rows = [_row(name, Score(**document[key])) for name, key in lines]
        console.print(output.table(("bot", ">points", ">wins", ">draws", ">losses"), rows))
        console.print()
        console.print(terminations_line(document["games"], document["terminations"]))
        console.print(elo_line(output.printable(self.first), **document["elo"]), soft_wrap=True)


def terminations_line(games: int, terminations: dict[str, int]) -> str:
    """`100 games: 97 line, 3 board full`."""
    endings = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in terminations.items())
    return f"{output.count(games, 'game')}: {endings}" if endings else "No games."


def _row(name: str, score: Score) -> tuple[object, ...]:
    return name, output.points(score.points), score.wins, score.draws, score.losses


def elo_line(first: str, value: float | None, error95: float | None, los: float | None) -> str:
    """`Elo difference: +89 ± 70 (95 %) with a likelihood of 99.4% that A is stronger`, of the bot `first`."""
    parts = ["no estimate from this score" if value is None else f"{value:+.0f}"]
    if error95 is not None:
        parts.append(f"± {error95:.0f} (95 %)")
    if los is not None:
        parts.append(f"with a likelihood of {los:.1%} that {first} is stronger")
    return f"Elo difference: {' '.join(parts)}"
