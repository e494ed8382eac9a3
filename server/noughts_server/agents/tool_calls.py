"""The common part of all tools: the caller's token, the server that they call, and errors with advice."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from noughts_server.web.documents import Document
from noughts_server.web.upstream import Answer, Failure, Request, Upstream

if TYPE_CHECKING:
    import grpc.aio

Caller = Context[Any, Any]
"""The request of a tool's caller."""
_ARGUMENTS = {"tournament.name": "tournament", "chunk": "content"}
"""Fields of requests for which the tools' arguments have other names than the last part of their path."""
TOKEN_CALLS = 8
"""Limit of the concurrent calls of one token over HTTP."""
_COLLECTION = re.compile(r"^(?:tournaments|tests|bots)/")
_GAME = re.compile(r"(?:tournaments/)?([^/\s]+)/(?:games/)?(\d{1,18})", re.ASCII)


def full_name(collection: str, name: str) -> str:
    """Return e.g. `bots/mybot/versions/2` for `mybot@2`. Callers can also pass names as in answers, `bots/mybot`."""
    return f"{collection}/{_COLLECTION.sub('', name).replace('@', '/versions/')}"


def tournament_and_number(game: str | None, tournament: str | None, number: int | None) -> tuple[str, int]:
    """Return the tournament and the number of a game that a caller names, in one part or two. Raises Failure."""
    if game:
        match = _GAME.fullmatch(game)
        if match is None or tournament or number:
            expected = "expected a name as in answers, e.g. tournaments/spring/games/7, and no other argument"
            raise Failure(400, f"game {game!r}: {expected}")
        return match[1], int(match[2])
    if not (tournament and number):
        raise Failure(400, "game: expected its name, e.g. tournaments/spring/games/7, or `tournament` and `number`")
    return tournament.removeprefix("tournaments/"), number


@dataclass(frozen=True, slots=True)
class Backend:
    """The server that the tools call, each time with the token of the caller."""

    upstream: Upstream
    explain: Callable[[BaseException], Any]
    """Returns an error as an object with `message` and `hint`; None for a fault of this program."""
    only_token: str | None = None
    """The token of the only caller; None if each request has its own in its header `authorization`."""
    calls: Counter[str] = field(default_factory=Counter)
    """Running calls of tools by token, if each request has its own."""

    def token(self, caller: Caller) -> str:
        """Return the caller's token; empty if there is none. Raises Failure."""
        return self.only_token if self.only_token is not None else self.token_in(caller.headers or {})

    def token_in(self, headers: Mapping[str, str]) -> str:
        """Return the token in the headers of a request; empty if there is none. Raises Failure."""
        match = re.fullmatch(r"(?:(?i:bearer) ([!-~]+))?", headers.get("authorization", ""))
        if match is None:
            raise Failure(401, "header authorization: expected `Bearer TOKEN`", "Correct it in the client's settings.")
        return match[1] or ""

    async def ask(
        self, caller: Caller, method: "grpc.aio.UnaryUnaryMultiCallable[Request, Answer]", request: Request
    ) -> Document:
        """Return the answer of a method of the server, called with the caller's token. Raises Failure."""
        return await self.upstream.ask(method, request, self.token(caller))

    @contextmanager
    def _limit_calls(self, caller: Caller | None) -> Iterator[None]:
        """Count a call of the caller's token inside the block. Raises Failure if too many calls of the token run."""
        token = self.token(caller) if caller is not None and self.only_token is None else ""
        if not token:  # the calls of an address without a token have another limit
            yield
            return
        if self.calls[token] >= TOKEN_CALLS:
            reason = f"{TOKEN_CALLS} calls with this token are running"
            raise Failure(429, reason, "Call again when one of them has ended.")
        self.calls[token] += 1
        try:
            yield
        finally:
            self.calls[token] -= 1
            if not self.calls[token]:
                del self.calls[token]

    def tool(
        self, function: Callable[..., Awaitable[Document]], *, reads_only: bool = False, destroys: bool = False
    ) -> Tool:
        """Return the function as a tool with its name and docstring.

        A field `text` of its answer is shown instead of the whole as JSON. Set `reads_only` if the tool changes
        nothing, and `destroys` if its effect cannot be undone.
        """

        @wraps(function)
        async def call(**arguments: Any) -> CallToolResult:
            try:
                with self._limit_calls(arguments.get("caller")):
                    answer = await function(**arguments)
            except Exception as error:
                if isinstance(error, Failure):
                    raise _tool_error(_message_for_tools(error), error.agent_hint or error.hint) from error
                problem = self.explain(error)
                if problem is None:
                    raise
                raise _tool_error(problem.message, problem.hint) from error
            text = answer.get("text") or json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
            return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)

        description = " ".join((function.__doc__ or "").split())
        annotations = ToolAnnotations(read_only_hint=reads_only, destructive_hint=destroys)
        tool = Tool.from_function(call, None, None, description, None, annotations, structured_output=False)
        # Report unknown arguments instead of ignoring them.
        strict_model: Any = type(tool.name, (tool.fn_metadata.arg_model,), {"model_config": {"extra": "forbid"}})
        tool.fn_metadata.arg_model = strict_model
        tool.parameters = strict_model.model_json_schema()
        return tool


def _message_for_tools(failure: Failure) -> str:
    """Return the message with the tool's argument in place of the request's field."""
    message = failure.message
    if not failure.field or not message.startswith(f"{failure.field}: "):
        return message
    argument = _ARGUMENTS.get(failure.field, failure.field.rpartition(".")[2])
    return argument + message.removeprefix(failure.field)


def _tool_error(message: str, hint: str) -> ToolError:
    return ToolError(f"{message.rstrip('.')}. Fix: {hint}" if hint else message)
