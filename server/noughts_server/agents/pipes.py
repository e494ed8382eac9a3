"""The MCP connection over standard input and output. A line that is not a message gets an error as its answer."""

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
    served = server._lowlevel_server  # `run_stdio_async` skips lines that it cannot read
    async with stdio_server() as (lines, answers):
        await served.run(_Messages(lines, answers), answers, served.create_initialization_options())


class _Messages:
    """The messages among the lines of a client; each other line is answered."""

    def __init__(self, lines: ReadStream[SessionMessage | Exception], answers: WriteStream[SessionMessage]) -> None:
        self._lines, self._answers = lines, answers

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, which the dispatcher restores."""
        return getattr(self._lines, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(message := await self._lines.receive(), Exception):
            if (error := _error(message)) is not None:
                await self._answers.send(SessionMessage(error))
        return message

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
    found: list[Any] = problem.errors(include_url=False) if isinstance(problem, ValidationError) else []
    if not found or found[0]["type"] == "json_invalid":
        if found and not found[0]["input"].strip():
            return None
        reason = found[0]["ctx"]["error"] if found else "it cannot be read"
        error = ErrorData(code=PARSE_ERROR, message=f"Parse error: got a line that is not JSON ({reason})")
    else:
        error = ErrorData(code=INVALID_REQUEST, message="Invalid request: expected a JSON-RPC 2.0 message on each line")
    number = next((each["input"].get("id") for each in found if isinstance(each["input"], dict)), None)
    return JSONRPCError(jsonrpc="2.0", id=number if type(number) in (int, str) else None, error=error)
