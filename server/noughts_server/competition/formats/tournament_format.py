"""The interface of tournament formats.

A format has one of three shapes. The pairings of `FixedPairings` follow from the number of entries, so nothing is
stored. Those of `InRounds` follow from the results of earlier rounds, and those of `Endless` from all games so far.
They are stored as rows, in the transaction of the games from which they follow, and only ever appended.
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
    """A setting that the format cannot have: the given value, the possible ones, and why."""

    def __init__(self, setting: str, got: object, possible: str, why: str) -> None:
        super().__init__(f"{setting}: got {got}, expected {possible}: {why}")
        self.setting, self.got, self.why = setting, got, why
        self.expected = f"{possible}: {why}"


class LateEntries(StrEnum):
    """When bots can join a started tournament."""

    NEVER = "never"
    WHILE_PAUSED = "while it is paused"
    ALWAYS = "at any time"


OWN_SETTINGS = {
    "rounds": "number of rounds to choose",
    "stop_when_decided": "encounters to decide",
    "sprt": "test that ends it",
}
"""The settings that only some formats have (`TournamentFormat.own_settings`), with words for what the others lack."""


class TournamentFormat(ABC):
    """A way to make the pairings of a tournament."""

    number: ClassVar[int]
    """The value in the protocol and in the database."""
    title: ClassVar[str]
    """The displayed name, e.g. `Round robin`."""
    summary: ClassVar[str]
    """A short description that follows a colon."""
    own_settings: ClassVar[frozenset[str]] = frozenset()
    """The names in `OWN_SETTINGS` that it has."""
    late_entries: ClassVar[LateEntries] = LateEntries.NEVER
    follows_results: ClassVar[bool] = True
    """Whether pairings follow from results. Each encounter then has an even number of games."""
    endless: ClassVar[bool] = False
    """Whether it continues until it is stopped."""
    most_entries: ClassVar[int] = 4_096
    base: ClassVar[int | None] = None
    """The entry against which the others are compared: each commit counts their pairs of games (`StoredMatch`)."""
    most_tests: ClassVar[int] = 1
    """The number of tests that can share its alpha."""
    pairs_ahead: ClassVar[bool] = False
    """Whether pairings that follow from results are stored while earlier games are live, and end at last."""
    by_points: ClassVar[bool] = False
    """Whether it plays rounds for points, listed on its page: a bye counts as winning every game of an encounter."""
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
            why = (
                f"in each encounter of a {self} tournament both bots begin equally often, so their number must be even"
            )
            raise FormatError("games_per_pair", settings.games_per_pair, "an even number", why)

    def check_entries(self, entries: int, settings: FormatSettings) -> None:
        """Raise FormatError if so many entries cannot play a tournament with these settings."""
        return

    def caution(self, entries: int, settings: FormatSettings) -> str:
        """Return a warning, without its full stop, for so many entries; empty if there is none."""
        return ""

    def check_extension(self, entries: int, settings: FormatSettings, rounds: int) -> int:
        """Return the number of rounds after `rounds` more. Raise FormatError if that is not possible."""
        raise FormatError("rounds", rounds, "0", f"rounds cannot be added to a {self} tournament")

    @abstractmethod
    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        """Return the forecast for so many entries, 2 or more, none of them withdrawn."""

    def most_games(self, settings: FormatSettings, entries: int) -> int:
        """Return the maximal number of games; if it is endless, the games until all have played once."""
        forecast = self.forecast(settings, entries)
        return forecast.usual if forecast.most is None else forecast.most

    def bracket(self, read: Callable[[], Field]) -> tuple[BracketRound, ...]:
        """Return the bracket, round by round, of the tournament that `read` returns; empty if the format has none."""
        return ()


class FixedPairings(TournamentFormat):
    """A format whose pairings follow from the number of entries."""

    late_entries = LateEntries.WHILE_PAUSED
    follows_results = False

    @abstractmethod
    def schedule(self, entries: int, games_per_pair: int) -> Schedule:
        """Return all slots of a tournament of so many entries."""


class InRounds(TournamentFormat):
    """A format that pairs its rounds one after the other, each by the results of earlier ones."""

    @abstractmethod
    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the next encounters once all that were paired are over; None at the end of the tournament."""


class Endless(TournamentFormat):
    """A format that pairs bots as soon as they are free, until it is stopped."""

    late_entries = LateEntries.ALWAYS
    endless = True
