"""The interface of tournament formats.

A format has one of three shapes. The pairings of `FixedPairings` follow from the number of entries and are not stored.
The pairings of `InRounds` follow from the results of earlier rounds, and those of `Endless` from all games so far. The
store adds them as rows, in the transaction of the games from which they follow, and never changes such a row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Protocol

from noughts_server.competition.bracket import BracketRound
from noughts_server.competition.forecast import Forecast
from noughts_server.competition.pairing_batch import Field, PairingBatch
from noughts_server.competition.schedule import Schedule
from noughts_server.statistics.sprt import Sprt, SprtError


class FormatSettings(Protocol):
    """The settings of a tournament that concern its format; `TournamentSettings` documents them."""

    @property
    def games_per_pair(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def stop_when_decided(self) -> bool: ...
    @property
    def sprt(self) -> str: ...


class FormatError(ValueError):
    """A setting that the format cannot have: the given value, the possible values, and the reason."""

    def __init__(self, setting: str, got: object, possible: str, why: str, *, names_possible: bool = False) -> None:
        """`names_possible`: whether the reason itself names the possible values."""
        self.setting = setting
        self.got = got
        self.why = why
        self.expected = possible if names_possible else f"{possible}: {why}"
        super().__init__(f"{setting}: got {got}, expected {self.expected}")


class LateEntries(StrEnum):
    """When bots can join a started tournament."""

    NEVER = "never"
    WHILE_PAUSED = "while it is paused"
    ALWAYS = "at any time"


OWN_SETTINGS = {
    "rounds": "number of rounds to choose",
    "stop_when_decided": "pairings to decide",
    "sprt": "test that ends it",
}
"""The settings that only some formats have (`TournamentFormat.own_settings`).

Each has words for the error of the other formats, after "a ... tournament has no".
"""


class TournamentFormat(ABC):
    """A format of tournaments: its properties, the checks of its settings, and its forecast."""

    number: ClassVar[int]
    """The value in the protocol and in the database."""
    title: ClassVar[str]
    """The displayed name, e.g. `Round robin`."""
    summary: ClassVar[str]
    """A short description that follows a colon."""
    own_settings: ClassVar[frozenset[str]] = frozenset()
    """The settings of `OWN_SETTINGS` that the format has."""
    late_entries: ClassVar[LateEntries] = LateEntries.NEVER
    extended_setting: ClassVar[str] = ""
    """The setting that can be raised after the start, `games_per_pair` or `rounds`; empty if there is none."""
    follows_results: ClassVar[bool] = True
    """Whether pairings follow from results. Each pairing then has an even number of games."""
    endless: ClassVar[bool] = False
    """Whether a tournament continues until it is stopped."""
    most_entries: ClassVar[int] = 4_096
    base: ClassVar[int | None] = None
    """The entry with which the others are compared, so that each commit counts pairs of games; None: no comparison."""
    most_tests: ClassVar[int] = 1
    """The largest number of tests of one tournament, which share the alpha of its `sprt`."""
    pairs_ahead: ClassVar[bool] = False
    """Whether new pairings are stored while earlier games are live, in a tournament that ends."""
    by_points: ClassVar[bool] = False
    """Whether a tournament has rounds for points. A bye then counts as winning every game of a pairing."""
    places_by_bracket: ClassVar[bool] = False
    """Whether standings go by the reached round of the bracket, and only then by points."""

    @property
    def name(self) -> str:
        """Return the name in commands and documents, e.g. `round-robin`."""
        return self.title.lower().replace(" ", "-")

    @property
    def extendable(self) -> bool:
        """Return whether a finished tournament can be opened again."""
        return self.late_entries is not LateEntries.NEVER

    def __str__(self) -> str:
        return self.name

    def check(self, settings: FormatSettings) -> None:
        """Raise FormatError if the format cannot have these settings."""
        values = {
            "rounds": settings.rounds,
            "stop_when_decided": settings.stop_when_decided,
            "sprt": settings.sprt,
        }
        for setting, lacking in OWN_SETTINGS.items():
            value = values[setting]
            if value and setting not in self.own_settings:
                default = str(type(value)()).lower() or "none"
                raise FormatError(setting, str(value).lower(), default, f"a {self} tournament has no {lacking}")
        if settings.sprt:
            try:
                Sprt.parse(settings.sprt).of_each(self.most_tests)
            except SprtError as error:
                raise FormatError("sprt", settings.sprt, "a possible test", str(error)) from error
        if (self.follows_results or self.base is not None) and settings.games_per_pair % 2:
            why = f"in each pairing of a {self} tournament both bots begin equally often, so their number must be even"
            raise FormatError("games_per_pair", settings.games_per_pair, "an even number", why)

    def check_entries(self, entries: int, settings: FormatSettings) -> None:
        """Raise FormatError if this number of entries cannot play a tournament with these settings."""
        return

    def caution(self, entries: int, settings: FormatSettings) -> str:
        """Return a warning, without its full stop, for this number of entries; empty if there is none."""
        return ""

    def check_extension(self, entries: int, settings: FormatSettings, rounds: int) -> int:
        """Return the number of all rounds if `rounds` are added. Raise FormatError if that is not possible."""
        raise FormatError("rounds", rounds, "0", f"rounds cannot be added to a {self} tournament")

    @abstractmethod
    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        """Return the forecast for this number of entries, 2 or more, without withdrawals."""

    def most_games(self, settings: FormatSettings, entries: int) -> int:
        """Return the maximal number of games; for an endless format, the games until all entries have played once."""
        forecast = self.forecast(settings, entries)
        return forecast.usual if forecast.most is None else forecast.most

    def games_of_each(self, settings: FormatSettings, entries: int) -> int | None:
        """Return how many games each entry plays; None if that differs between entries or depends on results."""
        return None

    def bracket(self, read: Callable[[], Field]) -> tuple[BracketRound, ...]:
        """Return the bracket, round by round; empty if the format has none.

        A format with a bracket calls `read`, which reads the tournament's field from the database.
        """
        return ()


class FixedPairings(TournamentFormat):
    """A format whose pairings follow from the number of entries."""

    late_entries = LateEntries.WHILE_PAUSED
    extended_setting = "games_per_pair"
    follows_results = False

    @abstractmethod
    def schedule(self, entries: int, games_per_pair: int) -> Schedule:
        """Return the schedule of a tournament with this number of entries."""


class InRounds(TournamentFormat):
    """A format that pairs its rounds one after the other, each by the results of earlier ones."""

    @abstractmethod
    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the next wave, when all pairings so far are over; None at the end of the tournament."""


class Endless(TournamentFormat):
    """A format that pairs bots as soon as they are free, until the tournament is stopped."""

    late_entries = LateEntries.ALWAYS
    endless = True
