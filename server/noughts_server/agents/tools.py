"""What all tools have in common: the caller's token, and errors that say what to do."""

import json
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from importlib.resources import files
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from noughts_server.web.documents import Document
from noughts_server.web.upstream import Failure, Upstream

Caller = Context[Any, Any]
"""The request of a tool's caller."""

_ARGUMENTS: dict[str, dict[str, str]] = tomllib.loads((files(__package__) / "arguments.toml").read_text())


@dataclass(frozen=True, slots=True)
class Backend:
    """The server that the tools call, each time with the token of the caller."""

    upstream: Upstream
    explain: Callable[[BaseException], Any]
    """Returns an error as an object with `message` and `hint`; None for a fault of this program."""
    only_token: str | None = None
    """The token of the only caller; None if each request has its own in its header `authorization`."""

    def token(self, caller: Caller) -> str:
        """Return the caller's token; empty if there is none. Raises Failure."""
        if self.only_token is not None:
            return self.only_token
        header = (caller.headers or {}).get("authorization", "")
        scheme, _, token = header.partition(" ")
        if header and (
            scheme.lower() != "bearer" or not (token.isascii() and token.isprintable() and " " not in token)
        ):
            raise Failure(401, "header authorization: expected `Bearer TOKEN`", "Correct it in the client's settings.")
        return token

    def tool(
        self, function: Callable[..., Awaitable[Document]], name: str = "", summary: str = "", **hints: Any
    ) -> Tool:
        """Return the function as a tool. A field `text` of its answer is shown instead of the whole as JSON.

        `hints` are those of `ToolAnnotations`: whether the tool only reads, and whether it destroys something.
        """

        @wraps(function)
        async def answered(**arguments: Any) -> CallToolResult:
            try:
                answer = await function(**arguments)
            except Exception as error:
                told = error if isinstance(error, Failure) else self.explain(error)
                if told is None:
                    raise
                hint = f". Fix: {told.hint}" if told.hint else ""
                raise ToolError(f"{told.message.rstrip('.')}{hint}") from error
            text = answer.get("text") or json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
            return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)

        description = summary or " ".join((function.__doc__ or "").split())
        annotations = ToolAnnotations(**{"destructive_hint": False, **hints})
        made = Tool.from_function(answered, name or None, None, description, None, annotations, structured_output=False)
        # Report unknown arguments instead of ignoring them.
        strict: Any = type(
            name or answered.__name__, (made.fn_metadata.arg_model,), {"model_config": {"extra": "forbid"}}
        )
        made.fn_metadata.arg_model, made.parameters = strict, strict.model_json_schema()
        for argument, schema in made.parameters["properties"].items():
            schema["description"] = meaning(made.name, argument)
        return made


def meaning(tool: str, argument: str) -> str:
    """Return the description of an argument; empty if agents cannot set it."""
    return _ARGUMENTS.get(tool, {}).get(argument, _ARGUMENTS["all"].get(argument, ""))
