"""Trials of submitted bots: a few games against random moves, and the steps of `noughts bot check`, in a sandbox."""

import asyncio
import os
import re
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.errors import BotError
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_referee.children.watch import nice_above_own
from noughts_referee.rules import VariantError, first_common, parse_variant
from noughts_server.bot_check.check_steps import run_steps
from noughts_server.bot_check.conformance import ConformancePlan, ConformanceReport, check
from noughts_server.bot_check.own_variants import declared_by
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.limits import Limits
from noughts_server.hosting.processor_time import ProcessorTime
from noughts_server.hosting.programs import FOLDER_PREFIX, Program, examine_and_place, program_folder
from noughts_server.runtime.hello import check_hello
from noughts_server.store.engine.database import Store
from noughts_server.store.people.submissions import Upload, newest_submission

_TRIAL_SECONDS = 90.0
"""Time limit of a whole trial, so that the owner gets an answer."""
_TRIAL_GAMES = 4
"""Two games on each side."""
_TRIALS_AT_ONCE = 4
"""Limit of the concurrent trials of all owners."""
_TRIAL_NICE = 10
"""The niceness of trials, so that games come first."""
_HOUR_SECONDS = 3600.0
_MOVE_SECONDS = 10.0
"""The longest wait for a move."""
_MOST_OUTPUT = 1_500
"""Characters at the end of a bot's output in an error."""
_DEFAULT_VARIANT = "tictactoe"


class Trials:
    """The trials of a server. Each owner has one trial at a time, and its processor time is charged to the owner."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        launcher: Launcher,
        packages: Sequence[str],
        folder: Path,
        processor_time: ProcessorTime,
    ) -> None:
        """`packages` are those that Python bots can import; the trials have folders of their own in `folder`."""
        self._store = store
        self._limits = limits
        self._launcher = launcher
        self._packages = packages
        self._folder = folder
        self._processor_time = processor_time
        self._child_settings = ChildSettings()
        self._turns = asyncio.Semaphore(_TRIALS_AT_ONCE)
        self._of_owner: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._attempts: dict[int, deque[float]] = {}
        """The start times of an owner's trials of the last hour."""

    async def try_out(self, upload: Upload, variant: str, owner: int) -> Upload:
        """Try an owner's upload in a variant (empty: one that the bot declares). Return the upload with all fields set.

        A program needs no trial if it was submitted for the same bot before.

        Raises InvalidArgument for an invalid bot, LimitReached for an owner with too many trials.
        """
        newest = await self._store.read(lambda connection: newest_submission(connection, upload.bot))
        is_same_program = newest is not None and (newest.hash, newest.kind) == (upload.hash, upload.kind)
        # Another class of the same file is another bot, with a trial of its own.
        if newest is not None and is_same_program and upload.entry in ("", newest.entry):
            variants = None if newest.variants is None else tuple(newest.variants)
            return upload._replace(
                entry=newest.entry, variants=variants, declines_challenges=newest.declines_challenges
            )
        await self._processor_time.save()  # also reads what the owner has used elsewhere
        self._count_trial(owner)
        launcher = _TrialLauncher(self._launcher)
        async with self._of_owner[owner], self._turns, program_folder(self._folder) as folder:
            progress = ["its start"]
            try:
                async with asyncio.timeout(_TRIAL_SECONDS):
                    program = Program(kind=upload.kind, entry=upload.entry, content=upload.content)
                    spec, entry = await examine_and_place(program, folder, launcher, self._packages)
                    report = await self._try(spec, variant, launcher, progress)
            except TimeoutError:
                got = f"its trial took longer than {_TRIAL_SECONDS:.0f} s; it had reached {progress[-1]}"
                hint = "Make it start and answer faster. Test it with: noughts bot check SPEC --time 0.1/move"
                agent_hint = "Make it start and answer faster. Test it with `check_bot`."
                raise _refusal(got, f"a trial of at most {_TRIAL_SECONDS:.0f} s", hint, agent_hint) from None
            finally:
                self._processor_time.charge(owner, launcher.processor_seconds)
                await self._processor_time.try_to_save()
        return upload._replace(
            entry=entry,
            variant=report.variant,
            variants=report.variants,
            declines_challenges=report.declines_challenges,
        )

    def _count_trial(self, owner: int) -> None:
        """Raise LimitReached for an owner with too many trials, or without processor time left for today."""
        limits = self._limits
        now = time.monotonic()
        latest = self._attempts.setdefault(owner, deque())
        while latest and latest[0] <= now - _HOUR_SECONDS:
            latest.popleft()
        limits.check("submissions", "bots that you submit within an hour", len(latest))
        self._processor_time.check(owner)
        latest.append(now)

    async def _try(self, spec: BotSpec, variant: str, launcher: Launcher, progress: list[str]) -> ConformanceReport:
        """Try a bot, add each step to `progress`, and return the report. Raises InvalidArgument with the output."""
        hint = "Test it on your own machine: noughts bot check SPEC"
        agent_hint = "Test it with `check_bot`."
        try:
            own_variant = variant or first_common([await declared_by(spec, launcher, self._child_settings)])
            board = parse_variant(own_variant or _DEFAULT_VARIANT)
            plan = ConformancePlan(
                variant=board,
                games=_TRIAL_GAMES,
                seed=1,
                move_seconds=_MOVE_SECONDS,
                times=self._child_settings,
                on_progress=lambda finished, total, next_part: progress.append(next_part),
            )
            report = await check(spec, plan, launcher)
        except VariantError as error:
            raise InvalidArgument.of("submission.variant", variant, error.expected) from None
        except BotError as error:
            raise _refusal(str(error), "one that plays", hint, agent_hint) from None
        steps = [] if report.faults else await run_steps(spec, launcher, plan)
        failed = [step for step in steps if step.outcome == "failed"]
        if failed:
            got = "; ".join(f"{step.name}: {step.detail}" for step in failed)
            advice = f"{failed[0].advice[0].upper()}{failed[0].advice[1:]}.{_output_sentence(failed[0].output)}"
            raise _refusal(got, "one that passes all steps of noughts bot check", advice)
        if report.faults:
            printed = _output_sentence(report.output)
            got = "; ".join(report.faults)
            expected = f"one that plays {board.name}"
            if printed:
                raise _refusal(got, expected, f"Correct the bot.{printed}")
            raise _refusal(got, expected, hint, agent_hint)
        check_hello(pb.Hello(protocol=PROTOCOL, variants=report.variants))
        return report


class _TrialLauncher:
    """A launcher for trials: its children have a lower priority than games, and it measures their processor time."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._children: list[Started] = []

    async def start(self, command: ChildCommand) -> Started:
        child = await self._launcher.start(command)
        self._children.append(child)
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, child.pid, nice_above_own(_TRIAL_NICE))
        return child

    async def close(self) -> None:
        """Do nothing: the other launcher is still needed."""

    @property
    def processor_seconds(self) -> float:
        """Return the processor time of all children that have ended."""
        return sum(child.processor_seconds for child in self._children)


def _output_sentence(output: str) -> str:
    """Return the end of what a bot has printed, each line once, as a sentence; empty if it has printed nothing."""
    lines = "\n".join(dict.fromkeys(output.strip().splitlines()))[-_MOST_OUTPUT:]
    return f" It printed:\n{lines}" if lines else ""


def _refusal(got: str, expected: str, hint: str, agent_hint: str = "") -> InvalidArgument:
    reason = _without_paths(got)
    hint = _without_paths(hint)
    message = f"The bot was not accepted: {reason}."
    return InvalidArgument.of("bot", reason, expected, hint=hint, agent_hint=agent_hint, message=message)


def _without_paths(text: str) -> str:
    """Return a text for the owner of a bot, without the server's parts of paths.

    It removes the folders of submitted programs, of sandboxes and of Python, the longest first.
    """
    text = re.sub(rf"{tempfile.gettempdir()}/noughts-(bots-\w+/{FOLDER_PREFIX}\w+(/bot)?|lock-\w+/\d+)/?", "", text)
    for folder in sorted((sys.prefix, sys.base_prefix, *sys.path), key=len, reverse=True):
        text = re.sub(rf"{re.escape(folder)}(/|(?![\w.-]))", "", text) if folder.startswith("/") else text
    return text
