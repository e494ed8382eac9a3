"""Tune numbers of a bot by games on this machine: each part of an iteration is a match between two sets of values."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from noughts_bots.reference.specs import BotSpec, parse_spec
from noughts_server.core.spec_template import SpecTemplate
from noughts_server.local.plan import LocalError, LocalFault, LocalPlan, LocalStop
from noughts_server.local.run import local_server
from noughts_server.statistics.spsa import Course, PlayedIteration, Tuning

PLUS, MINUS = "plus", "minus"
"""The labels of the bots with the two sets of values."""


class Part(NamedTuple):
    """Pairs of games of one iteration."""

    iteration: int
    plus: Mapping[str, float]
    """The values of the first bot, by the names of the parameters."""
    minus: Mapping[str, float]
    """The values of the second bot."""
    seed: int
    """The seed of all games of the iteration."""
    first_pair: int
    """The number of the first pair in the iteration, from 0."""
    pairs: int


class Parts(Protocol):
    """The source of the games to play, which also takes the results."""

    async def next(self, stop: LocalStop) -> Part | None:
        """Return the next games; None if all iterations are complete, or after `stop`."""

    def holding(self) -> AbstractAsyncContextManager[None]:
        """Keep the games for this machine inside the block, while they are played."""

    async def report(self, part: Part, result: PlayedIteration, lost_by_fault: int) -> None:
        """Take the result of the games, for the set `plus`."""

    async def leave(self) -> None:
        """End the work. Games that were not played to their ends are played again later."""


@dataclass(frozen=True, slots=True)
class WholeIterations:
    """Every iteration of a course as one part, for a tuning on this machine."""

    course: Course
    pairs: int
    """Pairs of games in an iteration."""
    on_iteration: Callable[[PlayedIteration], None]
    """Called after the result of an iteration was added to the course."""

    async def next(self, stop: LocalStop) -> Part | None:
        """See `Parts`."""
        if self.course.finished or stop.finishing.is_set():
            return None
        sets = self.course.next_pair()
        return Part(
            iteration=self.course.iteration,
            plus=sets.plus,
            minus=sets.minus,
            seed=self.course.tuning.seed_of_games(self.course.iteration),
            first_pair=0,
            pairs=self.pairs,
        )

    def holding(self) -> AbstractAsyncContextManager[None]:
        """See `Parts`."""
        return nullcontext()

    async def report(self, part: Part, result: PlayedIteration, lost_by_fault: int) -> None:
        """See `Parts`."""
        self.course.add(result)
        self.on_iteration(result)

    async def leave(self) -> None:
        """See `Parts`."""


async def play_parts(
    plan: LocalPlan,
    bot: SpecTemplate,
    parts: Parts,
    *,
    stop: LocalStop,
    on_note: Callable[[str], None],
    on_fault: Callable[[str, LocalFault], None],
) -> None:
    """Play all parts, or those before `stop`.

    `plan` is a match between two bots of this template. A part is this match with the bots, the seed and the pairs of
    the part. `on_fault` is called with the spec of a bot and a fault by which it lost games.

    Raises:
        LocalError: a bot that cannot play, or that could not be started.
        SandboxIncomplete: an incomplete sandbox, if the plan requires a complete one.
    """
    async with local_server(plan, on_note) as server:
        try:
            while (part := await parts.next(stop)) is not None:
                plan_of_part = replace(
                    plan,
                    specs=(spec_of(bot, part.plus, PLUS), spec_of(bot, part.minus, MINUS)),
                    settings=replace(plan.settings, games_per_pair=2 * (part.first_pair + part.pairs), seed=part.seed),
                    omitted_games=2 * part.first_pair,
                )
                async with parts.holding():
                    outcome = await server.play(plan_of_part, stop=stop)
                if outcome.interrupted:
                    return
                if outcome.disabled:
                    disabling_fault = next(fault for fault in outcome.faults if fault.disabled)
                    raise LocalError(
                        f"{_text_of(bot, part, disabling_fault)}: it {disabling_fault.reason} in iteration"
                        f" {part.iteration}",
                        "choose a range in which the bot works with all values",
                    )
                standing = next(row for row in outcome.standings if row.label == PLUS)
                for fault in outcome.faults:
                    on_fault(_text_of(bot, part, fault), fault)
                result = PlayedIteration(wins=standing.wins, draws=standing.draws, losses=standing.losses)
                await parts.report(part, result, sum(fault.games for fault in outcome.faults))
        finally:
            await parts.leave()


def first_specs(bot: SpecTemplate, tuning: Tuning) -> tuple[BotSpec, BotSpec]:
    """Return the bots of the first iteration. Raises BotSpecError."""
    pair = Course(tuning).next_pair()
    return spec_of(bot, pair.plus, PLUS), spec_of(bot, pair.minus, MINUS)


def spec_of(bot: SpecTemplate, values: Mapping[str, float], label: str) -> BotSpec:
    """Return the spec with these values. Raises BotSpecError."""
    return replace(parse_spec(bot.text_with(values)), label=label)


def _text_of(bot: SpecTemplate, part: Part, fault: LocalFault) -> str:
    """Return the spec of the bot that has this fault."""
    return bot.text_with(part.plus if fault.bot == PLUS else part.minus)
