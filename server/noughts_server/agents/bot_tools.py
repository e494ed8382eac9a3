"""Tools for authors of bots: a project to begin with, the check, the submission, and why a game was lost."""

import asyncio
import base64
import binascii
import json
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from weakref import WeakValueDictionary

from pydantic import Field

from noughts_proto.errors import USAGE
from noughts_proto.interpreter import environment, python
from noughts_proto.v1 import bots_pb2, games_pb2, tokens_pb2
from noughts_referee.rules import VariantError, parse_variant
from noughts_server.agents.arguments import BotName, Content, Entry, GameName, NumberOfGame, TournamentOfGame
from noughts_server.agents.tool_calls import Backend, Caller, tournament_and_number
from noughts_server.client.submissions import TRIAL_SECONDS, file_kind, submission_requests
from noughts_server.core.resource_names import game_name, tournament_name
from noughts_server.core.turns import Turns
from noughts_server.records.explaining import sentences
from noughts_server.records.json_lines import json_line
from noughts_server.records.server_games import recorded_game
from noughts_server.scaffolds import LANGUAGES, NAME_PATTERN, files_of
from noughts_server.store.people.scopes import PLAY, SUBMIT, permits
from noughts_server.web.documents import Document
from noughts_server.web.upstream import Failure

_LONGEST_SECONDS = 120.0
"""Seconds after which a tool that runs a bot is cancelled."""
_WRITE_ENTRY = "Write `class Mine(Bot)`, or pass the name of the class as `entry`"

Language: TypeAlias = Literal[tuple(LANGUAGES)]  # type: ignore[valid-type]


class BotTools:
    """The tools for authors of bots.

    Two calls that compute for long can run at a time, but only one of each owner. Among owners that wait, the one whose
    calls took the least time is next.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._computing = Turns(2)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """A lock for each owner with running or waiting calls."""

    async def new_bot(
        self,
        name: Annotated[
            str,
            Field(pattern=f"^{NAME_PATTERN}$", description="Name of the new bot: small letters, digits, `-` and `_`"),
        ],
        language: Annotated[
            Language,
            Field(description="Language of the project. Only the bot in Python can be checked and submitted as it is"),
        ] = "python",
    ) -> Document:
        """Return the files of a small project with a working bot. In Python, `bot.py` can be checked and submitted."""
        return {str(path): text for path, text in files_of(LANGUAGES[language], name).items()}

    async def check_bot(
        self,
        caller: Caller,
        content: Content,
        entry: Entry = "",
        variant: Annotated[
            str,
            Field(description="Name of the variant of its games. Default: the usual one of this kind of bot"),
        ] = "",
    ) -> Document:
        """Play a few games of a bot against random moves in a sandbox on this machine, and run about thirty checks.

        The answer is that of `noughts bot check --format json`; a bot is fine if it has no `faults` and no step failed.
        """
        program, kind = _program(content)
        if variant:
            try:
                parse_variant(variant)
            except VariantError as error:
                raise Failure(400, f"variant {variant!r}: expected {error.expected}") from None
        spec = f"{kind}:bot.{kind}:{entry}".rstrip(":")
        words = ["bot", "check", spec, "--require-lock", *([f"--variant={variant}"] if variant else [])]
        hint = _WRITE_ENTRY if kind == "py" else ""
        return await self._compute(caller, SUBMIT, f"bot.{kind}", program, *words, usage_hint=hint)

    async def explain_game(
        self,
        caller: Caller,
        game: GameName = None,
        tournament: TournamentOfGame = None,
        number: NumberOfGame = None,
    ) -> Document:
        """Report the moves that changed who wins a game if both sides play best, and better ones. Can take a minute.

        On small boards, and late in a game on larger ones, it is exact; otherwise it looks for forced wins.
        """
        tournament_id, ordinal = tournament_and_number(game, tournament, number)
        name = game_name(tournament_name(tournament_id), ordinal)
        upstream = self._backend.upstream
        request = games_pb2.GetGameRequest(name=name)
        answer = await upstream.call(upstream.games.GetGame, request, self._backend.token(caller))
        record = json_line(recorded_game(answer.game)).encode()
        explanation = await self._compute(caller, PLAY, "game.jsonl", record, "game", "explain", "game.jsonl")
        return {**explanation, "game": name, "text": "\n".join(sentences(explanation))}

    async def submit_bot(
        self,
        caller: Caller,
        bot: Annotated[
            BotName,
            Field(description="Name of the bot: a new one, or one of yours, which gets a new version"),
        ],
        content: Content,
        entry: Entry = "",
        version: Annotated[str, Field(description="Name of the version. Default: the next number")] = "",
        variant: Annotated[
            str,
            Field(
                description=(
                    "Name of the variant in which the server tests it. Default: tictactoe, if the bot plays it"
                )
            ),
        ] = "",
    ) -> Document:
        """Submit a bot as a new version, which the server tests and then runs for you. Needs the scope `submit`."""
        upstream = self._backend.upstream
        program, kind = _program(content)
        submission = bots_pb2.Submission(
            bot=bot, version=version, kind=kind, entry=entry and f":{entry}", file_name=f"bot.{kind}", variant=variant
        )
        requests = submission_requests(submission, program)
        submit: Any = upstream.bots.SubmitBot  # a method that takes a stream of requests
        answer = await upstream.call(submit, requests, self._backend.token(caller), seconds=TRIAL_SECONDS)
        return {"bot_version": answer.version.name, "kind": kind, "bytes": len(program), "unchanged": answer.unchanged}

    async def _compute(
        self, caller: Caller, scope: str, file: str, content: bytes, *words: str, usage_hint: str = ""
    ) -> Document:
        """Return the JSON that a command (`words`) prints about a file with this content. Raises Failure.

        Over HTTP, the caller's token needs the scope. `usage_hint` replaces the command's own hint about wrong usage,
        which names options.
        """
        owner = self._backend.token(caller)
        if self._backend.only_token is None:
            request = tokens_pb2.GetTokenRequest(name="tokens/self")
            token = (await self._backend.ask(caller, self._backend.upstream.tokens.GetToken, request))["token"]
            if not permits(token["scopes"], scope):
                raise Failure(403, f"the token lacks the scope `{scope}`", "Use the command line on your own machine.")
            owner = token["owner"]
        lock = self._locks.setdefault(owner, asyncio.Lock())
        try:
            async with lock, self._turn(owner), asyncio.timeout(_LONGEST_SECONDS):
                with tempfile.TemporaryDirectory(prefix="noughts-mcp-") as folder:
                    (Path(folder) / file).write_bytes(content)
                    return await _run(folder, *words, usage_hint=usage_hint)
        except TimeoutError:
            hint = "Make the bot faster, or use the command line on your own machine."
            raise Failure(504, f"not done after {_LONGEST_SECONDS:.0f} s", hint) from None

    @asynccontextmanager
    async def _turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for the turn of an owner, who is charged for the time inside the block."""
        async with self._computing.turn(owner):
            began = time.monotonic()
            try:
                yield
            finally:
                self._computing.charge(owner, time.monotonic() - began)


async def _run(folder: str, *words: str, usage_hint: str = "") -> Document:
    """Return the JSON that a command prints. It runs in a process, so that it can be ended. Raises Failure."""
    arguments = python("-m", "noughts_server.cli", *words, "--format", "json")
    process = await asyncio.create_subprocess_exec(
        *arguments, cwd=folder, env=environment(), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        output, error_output = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if not output:
        text = error_output.decode().replace(f"{folder}/", "").removeprefix("Error: ").strip()
        message, _, hint = text.partition("\nFix: ")
        raise Failure(409, message, usage_hint if usage_hint and process.returncode == USAGE else hint)
    return json.loads(output)  # type: ignore[no-any-return]


def _program(content: str) -> tuple[bytes, str]:
    """Return the bot's file and its kind, `py` or `wasm`. Raises Failure."""
    try:
        module = base64.b64decode(content, validate=True)
    except binascii.Error:
        return content.encode(), "py"
    if file_kind("", module) != "wasm":
        raise Failure(400, "content: expected Python source, or a WebAssembly module as base64")
    return module, "wasm"
