"""The child players of a local tournament, and their connections to the server."""

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from noughts_bots.gomocup.protocol import VARIANTS_IN_WORDS
from noughts_bots.reference.specs import BotSpec
from noughts_proto.child_kinds import ChildKind
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_player import MOST_STARTS, ChildPlayer, Fault
from noughts_referee.children.dialled_frames import Carry, DialInvitation
from noughts_referee.children.forfeiting_players import ForfeitingPlayers
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import Death, NotStarted, start_child
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.game import LostGame
from noughts_referee.rules import covers, parse_variant
from noughts_server.engines.engine_connection import EngineConnection, terms_of
from noughts_server.engines.game_cores import GameCores
from noughts_server.engines.seat import FORMS_OF_SWAP2, EngineRefused, EngineSeat
from noughts_server.engines.transcript import Transcripts
from noughts_server.launching.command import child_command, engine_command
from noughts_server.local.faults import LocalFaults
from noughts_server.local.plan import LocalError, LocalPlan, SpecRefused, VariantNotPlayed
from noughts_server.local.tournament import LocalTournament
from noughts_server.runtime.sessions import OnlineBot
from noughts_server.server import Server, bare_errors


class LocalChildren:
    """Starts the child players of a local tournament, and counts their faults."""

    def __init__(
        self, server: Server, tournament: LocalTournament, plan: LocalPlan, launcher: Launcher, transcripts: Transcripts
    ) -> None:
        self._server = server
        self._tournament = tournament
        self._plan = plan
        self._variant = plan.settings.variant
        self._launcher = launcher
        self._times = plan.children
        cores = [(core,) for core in sorted(os.sched_getaffinity(0))] if plan.affinity else [()]
        self._cores: Iterator[tuple[int, ...]] = itertools.cycle(cores)
        """The cores of the next processes, in turn."""
        self._game_cores = GameCores(plan.cores_of_games) if plan.cores_of_games else None
        self._transcripts = transcripts
        self._forfeiting_players = ForfeitingPlayers(server.referee)
        self.faults = LocalFaults(server, plan, self._stderr_of)
        """The faults of all bots of the tournament."""
        self._welcomed: set[str] = set()
        """The labels of the bots that have sent a correct hello."""
        self._stderr: dict[str, Callable[[], str]] = {}
        """The output of the running processes of a bot, by label."""
        self._disabled: set[str] = set()
        """The labels of the bots that could not be started again."""
        self._engines: dict[str, list[EngineConnection]] = {}
        """The connections of each engine, by label."""

    async def play(self, label: str, spec: BotSpec) -> None:
        """Play the bot of this label until cancelled.

        Raise LocalError if it does not play the variant, SpecRefused if it cannot be started as its spec says.
        """
        assert spec.child_kind is not None
        if spec.child_kind.speaks_frames:
            await self._play_frames(label, spec, spec.child_kind)
        else:
            await self._play_engine(label, spec)

    async def _play_frames(self, label: str, spec: BotSpec, kind: ChildKind) -> None:
        version = self._tournament.bots[label].id
        wires = self._server.sessions.team_wires(version, self._plan.processes_of(spec), self._times.wire)
        players = [wire.player for wire in wires]

        def on_fault(fault: Fault) -> None:
            if label not in self._welcomed and (refusal := fault.death.refusal(kind)):
                raise SpecRefused(refusal, fault.death.stderr.rstrip().removesuffix(refusal))
            self._died(label, fault, players)

        memory_bytes, invite = self._plan.memory_bytes, partial(self._invite, label)
        await _run_concurrently(
            ChildPlayer(
                kind,
                wire,
                self._times,
                start=partial(
                    start_child,
                    self._launcher,
                    child_command(spec, memory_bytes=memory_bytes, cores=cores),
                    self._times,
                    invite,
                ),
                accept=lambda hello: self._accept(label, hello),
                on_start=lambda child: self._stderr.update({label: lambda: child.stderr}),
                on_fault=on_fault,
            ).play()
            for wire, cores in zip(wires, self._cores, strict=False)
        )

    async def _play_engine(self, label: str, spec: BotSpec) -> None:
        bot = self._tournament.bots[label]
        sessions = self._server.sessions
        referee = self._server.referee
        version = bot.id
        variant = parse_variant(self._variant)
        terms = terms_of(variant, self._plan.settings.time_of(label))
        if terms is None:
            advice = "choose one of these variants, or a bot of another kind"
            raise VariantNotPlayed(f"{label}: got a game of {self._variant}, expected {VARIANTS_IN_WORDS}", advice)
        player = referee.player(version)
        processes = self._plan.processes_of(spec)
        members = player.enlist(processes) if processes > 1 else (player,)

        def on_process_end(death: Death, lost: tuple[LostGame, ...], disabled: bool) -> None:
            self._died(label, Fault(death, lost, disabled), members)

        wires = []
        for member in members:
            command, options = engine_command(spec, memory_bytes=self._plan.memory_bytes, cores=next(self._cores))
            ready = partial(sessions.publish_presence, version)
            transcript = self._transcripts.of(label)
            seat = partial(EngineSeat, command, options, self._launcher, self._times, transcript=transcript)
            wires.append(
                EngineConnection(
                    player=member,
                    referee=referee,
                    new_seat=seat,
                    on_ready=ready,
                    on_process_end=on_process_end,
                    cores=self._game_cores,
                )
            )
        self._engines[label] = wires
        self._stderr[label] = lambda: "".join(wire.seat.stderr for wire in wires)
        sessions.set_wires(version, wires)
        sessions.log_in(version, OnlineBot(bot=bot.bot_id, name=bot.resource, token=None, declines_challenges=False))
        try:
            await _run_concurrently(wire.play(terms, variant.agreement) for wire in wires)
        except EngineRefused as refusal:
            advice = "choose another variant or time limit, or an engine that accepts it"
            raise LocalError(f"{label}: got an engine that {refusal}", advice) from None

    def close(self) -> None:
        if self._game_cores is not None:
            self._game_cores.close()

    def notes(self) -> Iterator[str]:
        """Yield a line for each engine that lost words of a command, or required another form of SWAP2BOARD."""
        for label, wires in self._engines.items():
            yield from dict.fromkeys(
                f"{label} {manner}" for wire in wires for manner in wire.seat.manners if manner in FORMS_OF_SWAP2
            )
            repeats = sum(wire.seat.repeats for wire in wires)
            longest_us = max(wire.seat.pause.longest_us for wire in wires)
            if repeats or longest_us > (wires[0].seat.options.settle_us or 0):
                times = "time" if repeats == 1 else "times"
                repeated = f" and got the question again {repeats:,} {times}" if repeats else ""
                yield (
                    f"{label} lost words of commands that came directly after its move{repeated}: it got up to"
                    f" {longest_us / 1000:g} ms before each question, which no clock counts"
                )

    def _died(self, label: str, fault: Fault, players: Sequence[ConnectedPlayer]) -> None:
        """Count the end of a process. If it cannot be started again, all processes of the bot lose their games."""
        self.faults.count_death(label, fault)
        if fault.disabled and label not in self._disabled:
            self._disabled.add(label)
            reason = f"could not be started {MOST_STARTS} times: at last it {fault.death.reason}"
            for player in players:
                self._forfeiting_players.add(player, reason, lambda games: self.faults.count_forfeited(label, games))
            self._tournament.mark_absent(label)

    def _stderr_of(self, label: str) -> str | None:
        return self._stderr[label]() if label in self._stderr else None

    def _invite(self, label: str, carry: Carry) -> DialInvitation:
        return DialInvitation(self._server.address, self._tournament.ticket(label, carry))

    def _accept(self, label: str, hello: pb.Hello) -> pb.Welcome:
        if not covers(tuple(hello.variants), self._variant):
            problem = f"got a bot that plays {', '.join(hello.variants)}, expected one that plays {self._variant}"
            # An error before the first game ends the run. In a later process it only costs that process its games.
            if label in self._welcomed:
                raise NotStarted(f"sent an invalid hello: {problem}")
            raise VariantNotPlayed(
                f"{label}: {problem}", f"choose a variant that it plays: --variant {hello.variants[0]}"
            )
        self._welcomed.add(label)
        return self._server.sessions.child_welcome(hello, self._tournament.bots[label], self._times.heartbeat)


async def _run_concurrently(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run the coroutines until all have ended. The first failure ends all of them, and is raised."""
    # All processes of a bot fail for the same reason, so the first error is enough.
    with bare_errors():
        async with asyncio.TaskGroup() as tasks:
            for coroutine in coroutines:
                tasks.create_task(coroutine)
