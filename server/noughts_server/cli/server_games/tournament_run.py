"""A tournament on a server for `noughts tournament run`, during which the local bots are online."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from secrets import token_hex

from grpc import StatusCode

from noughts_bots.reference.specs import BotSpec, unique_labels
from noughts_proto.interpreter import python
from noughts_proto.transport import SERVER_VARIABLE, TOKEN_VARIABLE
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.names import read_bot
from noughts_server.cli.processes.signals import stopping_like_interrupts
from noughts_server.cli.server_games.challenges import free_name, is_online
from noughts_server.cli.server_games.tournament_end import POLL_SECONDS, TournamentEnd
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import settings_message
from noughts_server.core.resource_names import bot_name

_ONLINE_SECONDS = 30.0
"""Seconds in which a started bot must be online."""
_STOP_SECONDS = 5.0
"""Seconds in which a bot's process must end."""


def play_on_server(client: Client, specs: Sequence[BotSpec], settings: TournamentSettings) -> pb.Tournament:
    """Play a tournament on a server with its local bots online. Ctrl-C cancels it and keeps the finished games.

    SIGTERM and the closing of the terminal do the same. Raises Problem for a bot that does not get online; CallFailed
    if the server refuses.
    """
    with stopping_like_interrupts(), ExitStack() as stack:
        entries = []
        for label, spec in zip(unique_labels(specs), specs, strict=True):
            if spec.kind == "bot":
                entries.append((label, read_bot(spec.target)))
            else:
                name = free_name(client, label)
                stack.enter_context(_bot_run(client, spec, name))
                entries.append((label, bot_name(name)))
        with _started_tournament(client, settings, entries) as name:
            return _watch(client, name)


@contextmanager
def _started_tournament(
    client: Client, settings: TournamentSettings, entries: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """Start a tournament and yield its name; `entries` are labels and bots. An error in the block cancels it."""
    message = settings_message(settings, seed=settings.seed)
    message.name = f"tournaments/run-{token_hex(4)}"
    request = pb.CreateTournamentRequest(tournament=message)
    created = client.call(client.tournaments.CreateTournament, request).tournament
    try:
        for label, bot in entries:
            joining = pb.JoinTournamentRequest(name=created.name, bot=bot, label=label)
            try:
                client.call(client.tournaments.JoinTournament, joining)
            except CallFailed as failure:
                if failure.code is not StatusCode.ALREADY_EXISTS or label in settings.own_times:
                    raise
                # Another user has a bot with that name, so this entry uses the bot's own name.
                joining.label = ""
                client.call(client.tournaments.JoinTournament, joining)
        client.call(client.tournaments.StartTournament, pb.StartTournamentRequest(name=created.name))
        yield created.name
    except BaseException:
        with suppress(CallFailed):
            client.call(client.tournaments.CancelTournament, pb.CancelTournamentRequest(name=created.name))
        raise


def _watch(client: Client, name: str) -> pb.Tournament:
    """Return the tournament at its end; Ctrl-C cancels it."""
    try:
        printing.note(f"{name} plays at {client.address}; `noughts tournament watch` shows it.")
        end = TournamentEnd(client, name)
        while (tournament := end.poll()) is None:
            time.sleep(POLL_SECONDS)
        return tournament
    except KeyboardInterrupt:
        return client.call(client.tournaments.CancelTournament, pb.CancelTournamentRequest(name=name)).tournament


@contextmanager
def _bot_run(client: Client, spec: BotSpec, name: str) -> Iterator[None]:
    """Run `noughts bot run` under this name in a process of its own; the bot is online inside the block."""
    command = python("-m", "noughts_server.cli", "bot", "run", str(spec), "--name", name)
    # The token goes into the environment, because other users can see arguments.
    env = {**os.environ, SERVER_VARIABLE: client.address, TOKEN_VARIABLE: client.token}
    null_device = subprocess.DEVNULL
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, env=env, stdin=null_device, stdout=null_device, stderr=errors) as process,
    ):
        try:
            deadline = time.monotonic() + _ONLINE_SECONDS
            while not is_online(client, name):
                if process.poll() is not None or time.monotonic() > deadline:
                    errors.seek(0)
                    text = errors.read().decode(errors="replace").strip()
                    raise Problem(f"{name} is not online: {printing.printable(text)}")
                time.sleep(POLL_SECONDS)
            yield
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
