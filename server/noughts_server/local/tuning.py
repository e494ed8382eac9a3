"""Tune numbers of a bot on this machine: the iterations of SPSA, each a match between two sets of values."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from string import Template

from noughts_bots.reference.specs import BotSpec, parse_spec
from noughts_server.local.plan import LocalError, LocalFault, LocalPlan, LocalStop
from noughts_server.local.run import local_server
from noughts_server.statistics.spsa import Course, PlayedIteration, Tuning

PLUS, MINUS = "plus", "minus"
"""The labels of the bots with the two sets of values."""


@dataclass(frozen=True, slots=True)
class BotTemplate:
    """A bot spec with a `$name` for the value of each parameter."""

    text: str

    @property
    def names(self) -> set[str]:
        """Return the names of the parameters in the text."""
        return set(Template(self.text).get_identifiers())

    @property
    def is_valid(self) -> bool:
        """Return whether each `$` begins a name or is doubled."""
        return Template(self.text).is_valid()

    def spec(self, values: dict[str, float], label: str | None = None) -> BotSpec:
        """Return the spec with these values. Raises BotSpecError."""
        return replace(parse_spec(self.text_with(values)), label=label)

    def text_with(self, values: dict[str, float]) -> str:
        """Return the spec with these values as text."""
        return Template(self.text).substitute({name: value_text(value) for name, value in values.items()})


def value_text(value: float) -> str:
    """Return a value as the bot gets it: whole numbers with all digits, others with six significant ones."""
    return str(int(value)) if value == int(value) else f"{value:.6g}"


async def tune(
    plan: LocalPlan,
    bot: BotTemplate,
    course: Course,
    *,
    stop: LocalStop,
    on_note: Callable[[str], None],
    on_iteration: Callable[[PlayedIteration], None],
    on_fault: Callable[[str, LocalFault], None],
) -> None:
    """Play the remaining iterations of the course, or those before `stop`, and add their results to it.

    `plan` is a match between two bots of this template. An iteration is this match with the bots and the seed of the
    iteration. `on_iteration` is called after each, and before it `on_fault` with the spec of a bot and
    a fault by which it lost games.

    Raises:
        LocalError: a bot that cannot play, or that could not be started.
        SandboxIncomplete: an incomplete sandbox, if the plan requires a complete one.
    """
    async with local_server(plan, on_note) as server:
        while not course.finished and not stop.finishing.is_set():
            pair = course.next_pair()
            outcome = await server.play(
                replace(
                    plan,
                    specs=(bot.spec(pair.plus, PLUS), bot.spec(pair.minus, MINUS)),
                    settings=replace(plan.settings, seed=course.tuning.seed_of_games(course.iteration)),
                ),
                stop=stop,
            )
            if outcome.interrupted:
                return  # the iteration is played again from its beginning
            if outcome.disabled:
                fault = next(fault for fault in outcome.faults if fault.disabled)
                values = pair.plus if fault.bot == PLUS else pair.minus
                raise LocalError(
                    f"{bot.text_with(values)}: it {fault.reason} in iteration {course.iteration}",
                    "choose a range in which the bot works with all values",
                )
            standing = next(row for row in outcome.standings if row.label == PLUS)
            result = PlayedIteration(wins=standing.wins, draws=standing.draws, losses=standing.losses)
            for fault in outcome.faults:
                on_fault(bot.text_with(pair.plus if fault.bot == PLUS else pair.minus), fault)
            course.add(result)
            on_iteration(result)


def first_specs(bot: BotTemplate, tuning: Tuning) -> tuple[BotSpec, BotSpec]:
    """Return the bots of the first iteration. Raises BotSpecError."""
    pair = Course(tuning).next_pair()
    return bot.spec(pair.plus, PLUS), bot.spec(pair.minus, MINUS)
