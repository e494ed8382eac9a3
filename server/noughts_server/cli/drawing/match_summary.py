"""The result of a match between two bots, as JSON and as text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from noughts_referee.rules import in_words
from noughts_server.cli import printing
from noughts_server.cli.drawing.estimate_lines import decision_text, elo_line, llr_text, normalized_text
from noughts_server.cli.options.output import OutputOptions
from noughts_server.competition.score import Score
from noughts_server.statistics.estimate import Estimate, WinsDrawsLosses, estimate
from noughts_server.statistics.match_games import MatchStatistics
from noughts_server.statistics.sprt import Sprt
from noughts_server.tables.crosstable import Crosstable, PairRow, scores_of


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """The result of a match, without the results of its single games."""

    variant: str
    seed: int
    first: str
    second: str
    pairs: Iterable[PairRow]
    """The scores of the two bots, by the one that moved first."""
    terminations: dict[str, int]
    """The number of games by termination."""
    statistics: MatchStatistics | None = None
    """Statistics of the game pairs; None if only scores are known."""
    sprt: str = ""
    """The test, as `Sprt.parse` reads it; empty if there was none."""

    def show(self, output: OutputOptions, more: dict[str, Any]) -> None:
        """Print the summary; `more` is added to the document."""
        document = self._document() | more
        output.show(document, lambda: self._print(document))

    def _document(self) -> dict[str, Any]:
        scores = Crosstable((self.first, self.second), scores_of(self.pairs))
        total = scores.total(self.first, self.second)
        estimate = self._estimate(total)
        document: dict[str, Any] = {
            "games": sum(self.terminations.values()),
            "names": [self.first, self.second],
            "variant": self.variant,
            "seed": self.seed,
            "a": total.document(),
            "b": total.mirrored.document(),
            "a_first": scores.first(self.first, self.second).document(),
            "a_second": scores.second(self.first, self.second).document(),
            "terminations": self.terminations,
            "elo": {"value": estimate.value, "error95": estimate.error95, "los": estimate.los},
            "normalized_elo": {"value": estimate.normalized, "error95": estimate.normalized_error95},
            **printing.seed_document(self.seed),
        }
        if self.statistics is None:
            return document
        document["pentanomial"] = list(self.statistics.pentanomial)
        document["repeats"] = self.statistics.repeats
        if self.statistics.sprt is not None:
            document["sprt"] = self.statistics.sprt._asdict()
        return document

    def _estimate(self, total: Score) -> Estimate:
        if self.statistics is not None:
            return self.statistics.estimate
        return estimate(games=WinsDrawsLosses(total.wins, total.draws, total.losses))

    def _print(self, document: dict[str, Any]) -> None:
        console = printing.stdout()
        printing.heading(console, f"{self.first} - {self.second}: {self.variant}, seed {self.seed}")
        keys = {self.first: "a", "  moving first": "a_first", "  moving second": "a_second", self.second: "b"}
        scores = {name: Score(**document[key]) for name, key in keys.items()}
        rows = [
            (name, printing.points(score.points), score.wins, score.draws, score.losses)
            for name, score in scores.items()
        ]
        console.print(printing.table(("bot", ">points", ">wins", ">draws", ">losses"), rows))
        console.print()
        console.print(terminations_line(document["games"], document["terminations"]))
        estimate = self._estimate(Score(**document["a"]))
        for line in self._lines(estimate):
            console.print(printing.printable(line), soft_wrap=True)

    def _lines(self, estimate: Estimate) -> list[str]:
        """Return the lines about the strength of the bots, which a user often copies together."""
        statistics = self.statistics
        in_pairs = statistics is not None and statistics.pentanomial.pairs > 0
        lines = [elo_line(self.first, estimate, pairs=in_pairs)]
        if estimate.normalized_error95 is not None:
            lines.append(f"Normalized Elo: {normalized_text(estimate)}")
        if statistics is None:
            return lines
        if in_pairs:
            cells = zip(("LL", "LD", "WL+DD", "WD", "WW"), statistics.pentanomial, strict=True)
            counts = ", ".join(f"{name} {number:,}" for name, number in cells)
            lines.append(f"{printing.count(statistics.pentanomial.pairs, 'pair')} of games: {counts}")
        if statistics.repeats:
            lines.append(
                f"{statistics.repeats:,} of {printing.count(statistics.games, 'game')} were repeats and count once: "
                "both bots always played the same. --openings makes games differ."
            )
        if statistics.sprt is not None:
            lines.append(
                f"{llr_text(statistics.sprt)}: {decision_text(statistics.sprt)} after {statistics.games:,} games"
            )
            lines.append(f"Test: {Sprt.parse(self.sprt)}")
        return lines


def terminations_line(games: int, terminations: dict[str, int]) -> str:
    """Return e.g. `100 games: 97 won, 3 board full`."""
    words = {"line": "won"}
    endings = ", ".join(f"{number:,} {words.get(name, in_words(name))}" for name, number in terminations.items())
    return f"{printing.count(games, 'game')}: {endings}" if endings else "No games."
