"""The MCP connection over standard input and output. It answers a line that is not a message with an error."""

from types import TracebackType
from typing import Any, Self

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError


async def serve_connection(server: MCPServer[Any]) -> None:
    """Serve the client on standard input and output, until it closes them."""
    # `MCPServer.run_stdio_async` would skip lines that it cannot read.
    lowlevel_server = server._lowlevel_server
    async with stdio_server() as (lines, answers):
        options = lowlevel_server.create_initialization_options()
        await lowlevel_server.run(_Messages(lines, answers), answers, options)


class _Messages:
    """A stream of the messages among the lines of a client. It answers each other line with an error."""

    def __init__(self, lines: ReadStream[SessionMessage | Exception], answers: WriteStream[SessionMessage]) -> None:
        self._lines = lines
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent; the dispatcher of the SDK restores it."""
        return getattr(self._lines, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            message = await self._lines.receive()
            if not isinstance(message, Exception):
                return message
            error = _error(message)
            if error is not None:
                await self._answers.send(SessionMessage(error))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._lines.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def _error(problem: Exception) -> JSONRPCError | None:
    """Return the answer to a line that could not be read; None for an empty line."""
    details: list[Any] = problem.errors(include_url=False) if isinstance(problem, ValidationError) else []
    if not details or details[0]["type"] == "json_invalid":
        if details and not details[0]["input"].strip():
            return None
        reason = details[0]["ctx"]["error"] if details else "it cannot be read"
        error = ErrorData(code=PARSE_ERROR, message=f"Parse error: got a line that is not JSON ({reason})")
    else:
        error = ErrorData(code=INVALID_REQUEST, message="Invalid request: expected a JSON-RPC 2.0 message on each line")
    inputs = [detail["input"] for detail in details]
    request_id = next((line.get("id") for line in inputs if isinstance(line, dict)), None)
    # `type`, because True and False are integers, too.
    has_valid_id = type(request_id) in (int, str)
    return JSONRPCError(jsonrpc="2.0", id=request_id if has_valid_id else None, error=error)
