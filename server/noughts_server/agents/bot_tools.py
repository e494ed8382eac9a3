"""Tools for authors of bots: a project to begin with, the check, and the submission."""

import asyncio
import base64
import binascii
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from noughts_bots.specs import parse_spec
from noughts_proto.v1 import bots_pb2, tokens_pb2
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import parse_variant
from noughts_server.agents.tools import Backend, Caller
from noughts_server.bot_check.check_steps import run_steps
from noughts_server.bot_check.conformance import ConformancePlan, check
from noughts_server.client.submissions import TRIAL_SECONDS, kind_of, submission_requests
from noughts_server.launching.launcher import Locking, launching
from noughts_server.scaffolds import LANGUAGES, NAME_PATTERN, files_of
from noughts_server.store.people.scopes import SUBMIT, permits
from noughts_server.web.documents import Document, document
from noughts_server.web.upstream import Failure

_CHECK_SECONDS, _GAMES, _MOVE_SECONDS = 120.0, 10, 5.0

Content = Annotated[str, Field(min_length=1, description="Python source, or a WebAssembly module as base64")]
Entry = Annotated[str, Field(pattern=r"^\w*$", description="Class of the bot; required if there are several")]


class BotTools:
    """The tools, which share one place for checks."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._checking = asyncio.Lock()
        self.tools = (self.new_bot, self.check_bot, self.submit_bot)

    async def new_bot(
        self,
        name: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")],
        language: Literal[tuple(LANGUAGES)] = "python",  # type: ignore[valid-type]
    ) -> Document:
        """Return the files of a small project with a working bot. In Python, `bot.py` can be checked and submitted."""
        return {str(path): text for path, text in files_of(LANGUAGES[language], name).items()}

    async def check_bot(self, caller: Caller, content: Content, entry: Entry = "", variant: str = "") -> Document:
        """Play a few games of a bot against random moves in a sandbox on this machine, and run about thirty checks.

        The answer is that of `noughts bot check --format json`; a bot is fine if it has no `faults` and no step failed.
        """
        upstream = self._backend.upstream
        if self._backend.only_token is None:  # foreign code of somebody else
            request = tokens_pb2.GetTokenRequest(name="tokens/self")
            held = await upstream.call(upstream.tokens.GetToken, request, self._backend.token(caller))
            if not permits(held.token.scopes, SUBMIT):
                raise Failure(403, "the token lacks the scope `submit`", "Run `noughts bot check` yourself.")
        program, kind = _program(content)
        with tempfile.TemporaryDirectory(prefix="noughts-check-") as folder:
            file = Path(folder) / f"bot.{kind}"
            file.write_bytes(program)
            spec = parse_spec(f"{kind}:{file}:{entry}".rstrip(":"))
            chosen = parse_variant(variant or spec.usual_variant)
            plan = ConformancePlan(chosen, _GAMES, 0, _MOVE_SECONDS, ChildSettings())
            try:
                async with (
                    self._checking,
                    asyncio.timeout(_CHECK_SECONDS),
                    launching(Locking.REQUIRED, lambda text: None) as launcher,
                ):
                    found = await check(spec, plan, launcher)
                    steps = [] if found.faults else await run_steps(spec, launcher, plan)
            except TimeoutError:
                raise Failure(
                    504, f"the check was not done after {_CHECK_SECONDS:.0f} s", "Make the bot faster."
                ) from None
        return {**found.document(), "steps": [step.document() for step in steps]}

    async def submit_bot(
        self, caller: Caller, bot: str, content: Content, entry: Entry = "", version: str = "", variant: str = ""
    ) -> Document:
        """Submit a bot as a new version, which the server tests and then runs for you. Needs the scope `submit`."""
        upstream, (program, kind) = self._backend.upstream, _program(content)
        submission = bots_pb2.Submission(
            bot=bot, version=version, kind=kind, entry=entry and f":{entry}", file_name=f"bot.{kind}", variant=variant
        )
        method: Any = upstream.bots.SubmitBot  # a method that takes a stream of requests
        requests = submission_requests(submission, program)
        return document(await upstream.call(method, requests, self._backend.token(caller), seconds=TRIAL_SECONDS))


def _program(content: str) -> tuple[bytes, str]:
    """Return the bot's file and its kind, `py` or `wasm`. Raises Failure."""
    try:
        module = base64.b64decode(content, validate=True)
    except binascii.Error:
        return content.encode(), "py"
    if kind_of("", module) != "wasm":
        raise Failure(400, "content: expected Python source, or a WebAssembly module as base64")
    return module, "wasm"
