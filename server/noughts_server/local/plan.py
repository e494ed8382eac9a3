"""The plan, the progress and the outcome of a tournament on this machine. It loads nothing of the server."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from noughts_bots.reference.specs import BotSpec, unique_labels
from noughts_bots.sdk.errors import BotRefusal
from noughts_proto.errors import USAGE, ExplainedError, as_sentence
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.clock import ENGINE_MARGIN_US, MARGIN_US
from noughts_referee.rules import FAULTS, Outcome, Termination
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.launching.launcher import SandboxMode

if TYPE_CHECKING:
    from noughts_server.statistics.match_games import MatchStatistics
    from noughts_server.statistics.sprt import SprtState
    from noughts_server.store.games.standings import CrosstableCell as PairScore
    from noughts_server.tables.pairings import MatchRow
    from noughts_server.tables.standings import Standing
    from noughts_server.tables.table import Table


TOO_SLOW = Termination.TIMEOUT.deed
"""The reason of games that were lost on time."""


class LocalError(ExplainedError):
    """A bot that cannot play here, or whose process ends again and again. The text has the last lines that it wrote."""

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(text, as_sentence(advice))
        self.advice = advice
        """Advice for the user, a phrase."""


class VariantNotPlayed(LocalError):
    """A bot that does not play the variant, as it reports at its start."""


class SpecRefused(LocalError):
    """A bot that cannot be created as its spec says; the text is its host's message."""

    exit_code = USAGE

    def __init__(self, refusal: str, output: str) -> None:
        advice = BotRefusal(refusal).advice
        super().__init__(f"{refusal.removesuffix(f'; {advice}')}\n{output}".rstrip(), advice)


class FaultyGame(NamedTuple):
    """The first game that a bot lost through some fault."""

    ordinal: int
    """Its number in the tournament."""
    ply: int
    """The number of moves before it."""
    variant: str
    side: str
    """The bot's side: `first` or `second`."""
    details: str = ""
    """The details of this fault in the game, if they differ from game to game; a phrase that follows "it"."""
    moves: tuple[int, ...] = ()
    """The moves before it, if the bot crashed."""


@dataclass(frozen=True, slots=True)
class LocalFault:
    """A fault of one bot, with all its occurrences in the run."""

    bot: str
    """The label of the bot."""
    reason: str
    """A phrase that follows "it"."""
    times: int = 0
    """The number of occurrences. One crash or exit can lose several games."""
    games: int = 0
    """The number of games lost by this fault."""
    disabled: bool = False
    """Whether the bot could not be started again, so that it lost its remaining games as crashed."""
    stderr: str = ""
    """The last lines that a child player wrote to stderr; after its end, those of its last process."""
    first: FaultyGame | None = None
    """The first of the games; None without games."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """The bots, settings and limits of a local run."""

    specs: tuple[BotSpec, ...]
    settings: TournamentSettings
    margin_us: int | None = None
    """The time margin of all bots without their own; None: the default, which is longer for engines."""
    own_margins_us: Mapping[str, int] = field(default_factory=dict)
    """The margins of bots that have their own, by label."""
    database: str | None = None
    """None: a temporary file, which is deleted at the end unless the run is interrupted."""
    resumes: str = ""
    """The tournament to resume there, `ID` of `tournaments/ID`; empty: a new one."""
    omitted_games: int = 0
    """The number of games that are left out at the start of a new tournament, because another machine plays them."""
    children: ChildSettings = ChildSettings()  # noqa: RUF009  # immutable
    """Time limits of child players: programs, plugins and engines that the referee starts."""
    sandbox_mode: SandboxMode = SandboxMode.USUAL
    """The sandbox of programs and plugins."""
    processes: int = 0
    """The number of processes of each child player; 0: `processes_of` chooses it."""
    affinity: bool | None = None
    """Whether each process of a child player is bound to one core. None: see `cores_of_games`."""
    memory_bytes: int = 0
    """The memory limit of each process of a child player; 0: the default of its kind."""
    all_memory_bytes: int = 0
    """The memory limit of all processes of child players together; 0: three quarters of the machine's memory."""
    log: Path | None = None
    """A folder that gets a file for each game with the dialogue of the engines."""
    messages: Path | None = None
    """A file that gets a line for each message of an engine besides its moves."""
    fatal: bool = False
    """Whether the first fault of a bot ends the run: no new game begins, and running ones are finished."""

    @property
    def margins_us(self) -> dict[str, int]:
        """Return the time margin of each bot, by label."""
        margins = {}
        for label, spec in zip(unique_labels(self.specs), self.specs, strict=True):
            keeps_clock = spec.child_kind is not None and spec.child_kind.keeps_clock
            default = ENGINE_MARGIN_US if keeps_clock else MARGIN_US
            margins[label] = self.own_margins_us.get(label, default if self.margin_us is None else self.margin_us)
        return margins

    def processes_of(self, spec: BotSpec) -> int:
        """Return the number of this bot's processes.

        An engine plays one game at a time, so it gets a process for each game, but not more than there are cores: more
        processes would take time from each other. Other kinds play many games in one process.
        """
        kind = spec.child_kind
        if kind is None or (self.processes == 0 and kind.speaks_frames):
            return 1
        return min(self.processes or len(os.sched_getaffinity(0)), self.settings.concurrency)

    @property
    def _engines(self) -> list[BotSpec]:
        return [spec for spec in self.specs if spec.is_engine]

    @property
    def cores_of_games(self) -> int:
        """Return the number of concurrent games that get their own core, which both engines share; 0 if none does.

        No game gets one if `affinity` is set, if an engine has several threads, or if there are more games than cores.
        """
        games = self.settings.concurrency
        engines = self._engines
        if len(self.specs) == 2:
            games = min(map(self.processes_of, engines), default=games)
        has_threads = any(spec.options.get("threads", "1") != "1" for spec in engines)
        fits = games <= len(os.sched_getaffinity(0))
        return games if self.affinity is None and engines and fits and not has_threads else 0

    @property
    def engine_note(self) -> str:
        """Return a line for the user about concurrent games and cores, if there are engines."""
        concurrency = self.settings.concurrency
        notes = []
        most = min(map(self.processes_of, self._engines), default=concurrency)
        if not self.processes and most != concurrency:
            games = f"{most} game{'s' if most > 1 else ''} at once"
            engines = "" if len(self.specs) == 2 else " of each engine"
            notes.append(f"{games}{engines}, one for each core (--processes {concurrency} for more)")
        if self.cores_of_games:
            notes.append("both engines of a game share a core (--no-affinity: the system places them)")
        return "; ".join(notes)

    @property
    def has_children(self) -> bool:
        """Return whether any of the bots is started by the referee."""
        return any(spec.child_kind for spec in self.specs)


@dataclass(frozen=True, slots=True)
class LocalProgress:
    """The progress of a local run."""

    bots_online: int
    bots_expected: int
    games_done: int
    games_total: int
    plies: int
    standings: "tuple[Standing, ...]"
    sprt: "SprtState | None" = None
    """The state of the test of a match, if there is one."""


class PlayedGame(NamedTuple):
    """A stored game with the labels of its bots."""

    number: int
    """In the tournament, from 1."""
    first: str
    """The label of the bot that moved first."""
    second: str
    """The label of the other bot."""
    outcome: Outcome
    fault: str = ""
    """The loser's fault, a phrase that follows "it", if it was known when the game was stored."""
    is_earlier: bool = False
    """Whether it was stored before this run, which resumes the tournament."""

    @property
    def is_fault(self) -> bool:
        """Whether the loser broke a rule or crashed."""
        return self.outcome.termination in FAULTS

    @property
    def loser(self) -> str:
        """The label of the loser; empty if there is none."""
        side = self.outcome.loser
        return "" if side is None else (self.first, self.second)[side]


@dataclass(frozen=True, slots=True)
class LocalOutcome:
    """The outcome of a local run."""

    games: int
    games_total: int
    interrupted: bool
    standings: "tuple[Standing, ...]"
    pairs: "tuple[PairScore, ...]"
    terminations: dict[str, int]
    matches: "Sequence[MatchRow]" = ()
    """The pairings of a knockout, Swiss or Danish tournament, round by round."""
    faults: tuple[LocalFault, ...] = ()
    """The faults of bots, with the output of those that were started."""

    fatal: PlayedGame | None = None
    """The game whose fault has ended the run (see `LocalPlan.fatal`)."""
    endless: bool = False
    """Whether it is a ladder, which only ends when it is stopped."""
    kept: str = ""
    """The file of its database, if the run can be resumed; empty if it is not kept or nothing is left to play."""

    models: "Table | None" = None
    """The use of language models; without rows if there are none."""
    match: "MatchStatistics | None" = None
    """The statistics of a match of two bots."""
    exhausted: bool = False
    """Whether it was ended because its games only repeat each other, so that its test would never be decided."""

    @property
    def disabled(self) -> bool:
        """Whether a bot lost games only because it could not be started."""
        return any(fault.disabled for fault in self.faults)


class LocalStop:
    """The two stages of stopping, from any signal handler of the event loop."""

    def __init__(self) -> None:
        self.finishing = asyncio.Event()
        self.aborting = asyncio.Event()

    def finish(self) -> None:
        """Begin no new game, and finish the running ones."""
        self.finishing.set()

    def abort(self) -> None:
        """Stop at once; running games stay unplayed."""
        self.finishing.set()
        self.aborting.set()
