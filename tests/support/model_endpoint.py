"""A real HTTP server for chat completions of language models, whose answers a test chooses."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """The endpoint's reaction to one request."""

    text: str | None = None
    tool: str | None = None
    """The arguments of a call of the function `play`."""
    refusal: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    tokens: tuple[int, int] | None = (100, 10)
    """The tokens of the prompt and of the answer; None reports none."""
    seconds: float = 0.0
    """The seconds until the reply is sent."""
    body: str | None = None
    """The body that is sent instead of a completion."""
    cut: bool = False
    """The connection ends in the middle of the reply."""
    endless: bytes = b""
    """If not empty: these bytes are sent again and again, every `seconds`."""


def cell(name: str) -> Reply:
    """A reply that moves to the cell with this name."""
    return Reply(json.dumps({"move": name}))


AnswerRequest = Callable[[Request], Reply]


def in_turn(*replies: Reply) -> AnswerRequest:
    """Give these replies, one after the other."""
    remaining = iter(replies)
    return lambda request: next(remaining)


def free_cells(request: Request) -> list[str]:
    """Return the names of the free cells on the board of the last question, read from its text as a model does."""
    questions = [message["content"] for message in request["messages"] if message["role"] == "user"]
    board = next(text for text in reversed(questions) if "\n\nMoves so far" in text).partition("\n\n")[0]
    head, *rows = board.split("\n")
    columns = head.split()
    return [
        column + row.split()[0]
        for row in rows
        for column, sign in zip(columns, row.split()[1:], strict=True)
        if sign == "."
    ]


def question_of(request: Request) -> str:
    """Return the last message."""
    return str(request["messages"][-1]["content"])


@dataclass
class ModelEndpoint:
    url: str
    answers: dict[str, AnswerRequest]
    """The function that answers the requests, by model."""
    requests: list[Request] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    """The keys that clients have sent."""
    sent: int = 0
    """Bytes of answers without an end."""


@contextmanager
def model_endpoint(**answers: AnswerRequest) -> Iterator[ModelEndpoint]:
    """Serve models on a free port inside the block; each keyword is the name of a model, with its function."""
    endpoint = ModelEndpoint("", answers)
    lock = threading.Lock()
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request: Request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            problem = _problem(self.path, request)
            with lock:
                endpoint.requests.append(request)
                endpoint.keys.add(self.headers["authorization"])
                reply = problem or answers[request["model"]](request)
            if closing.wait(reply.seconds):
                self.close_connection = True  # a later reply would print an error during another test
            else:
                self._send(reply, request["model"])

        def _send(self, reply: Reply, model: str) -> None:
            if reply.endless:
                self._send_without_end(reply)
                return
            document = _completion(reply, model) if reply.status == 200 else _error(reply)
            body = (json.dumps(document) if reply.body is None else reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if reply.cut:
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(body)

        def _send_without_end(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.close_connection = True
            with suppress(OSError):
                while True:
                    self.wfile.write(reply.endless)
                    endpoint.sent += len(reply.endless)
                    time.sleep(reply.seconds)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _problem(path: str, request: Request) -> Reply | None:
    """Return an error for a request that breaks the contract."""
    if path != "/v1/chat/completions":
        return Reply("there is nothing here", status=404)
    roles = [message["role"] for message in request["messages"]]
    is_valid = roles[0] == "system" and set(roles[1:]) <= {"user", "assistant"} and roles[-1] == "user"
    for message in request["messages"]:
        is_valid = is_valid and isinstance(message["content"], str) and bool(message["content"])
    if tools := request.get("tools"):
        function_name = request["tool_choice"]["function"]["name"]
        is_valid = is_valid and [tool["function"]["name"] for tool in tools] == [function_name]
    if form := request.get("response_format"):
        schema = form["json_schema"]
        is_valid = is_valid and form["type"] == "json_schema" and schema["strict"]
        is_valid = is_valid and bool(re.fullmatch(r"\w+", schema["name"]))
        # A strict schema must name all properties and allow no others.
        properties_schema = schema["schema"]
        is_valid = is_valid and properties_schema["additionalProperties"] is False
        is_valid = is_valid and properties_schema["required"] == list(properties_schema["properties"])
    return None if is_valid else Reply("the request breaks the contract", status=400)


def _completion(reply: Reply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.tool is not None:
        function = {"name": "play", "arguments": reply.tool}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
    }
    if reply.tokens is not None:
        input_tokens, output_tokens = reply.tokens
        document["usage"] = {
            "prompt_tokens": input_tokens,
            "completion_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        }
    return document


def _error(reply: Reply) -> dict[str, Any]:
    return {"error": {"message": reply.text or "no reason", "type": "error", "param": None, "code": None}}
