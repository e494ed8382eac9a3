"""Requests to an endpoint that supports OpenAI's chat completions, repeated after a wait if it is busy."""

import asyncio
import json
import logging
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx2
import openai

from noughts_bots.language_models.completion import Completion, read_completion
from noughts_bots.language_models.record import Wait, as_utf8
from noughts_bots.sdk.bot import Resign

logger = logging.getLogger("noughts.bot")

# Waits in seconds: they double from the first to the longest. If the endpoint requests a wait, that replaces them.
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
_SHORTEST_WAIT = 0.01
"""The shortest wait in seconds that the endpoint can request. It doubles with each wait, which limits the requests."""
# Limits of the bytes of an answer and of an error that are read.
_LARGEST_ANSWER = 4 << 20
_LARGEST_ERROR = 1 << 16
_MOST_DOUBLINGS = 20
"""The factor of the wait stops growing after this number of waits. The wait also has a limit of its own."""
_LONGEST_REASON = 300
_SHORTEST_SECRET = 5
"""The length from which a key is replaced in answers. A shorter key could be part of a move."""
_TRANSIENT = frozenset({408, 409, 429})


class Endpoint:
    """Sends requests to one endpoint with its key.

    Errors never contain the key, and answers do not contain a key of usual length. Answers are read up to a limit, and
    never decompressed.
    """

    def __init__(self, url: str | None, key: str, *, timeout: float, longest_wait: float) -> None:
        """Args:
        url: the address of the endpoint; None for OpenAI's endpoint.
        key: the key of the endpoint; can be empty.
        timeout: the limit of a request in seconds.
        longest_wait: the limit in seconds for the sum of the waits of a move."""
        self._key = key
        self._longest_wait = longest_wait
        self._timeout = timeout
        self._options: dict[str, Any] = {
            "base_url": url,
            "timeout": timeout,
            "max_retries": 0,
            "default_headers": {"Accept-Encoding": "identity"},
            "api_key": key or "none",  # the client requires a key
        }
        # All clients share the certificates, because loading them takes most of the time to create a client.
        self._tls = ssl.create_default_context()

    async def complete(self, request: Mapping[str, Any], waits: list[Wait]) -> tuple[Completion, float]:
        """Return the model's answer, and the seconds of its request.

        Add to `waits` each wait after a rate limit, a failure or a lost connection. Raises Resign for any other error,
        or if the waits together would exceed the limit.
        """
        # A new client for each move, because it must be closed in the event loop in which it was used.
        http = openai.DefaultAsyncHttpx2Client(verify=self._tls, event_hooks={"response": [_limit]})
        async with openai.AsyncOpenAI(**self._options, http_client=http) as client:
            while True:
                began = time.monotonic()
                retry_seconds = None
                try:
                    # The raw response, because the client's models do not check answers and fail on unusual ones.
                    async with asyncio.timeout(
                        self._timeout
                    ):  # The client's own limit applies to each part of an answer.
                        answer = await client.chat.completions.with_raw_response.create(**request)
                    completion = read_completion(_document(answer.http_response.content))
                    if isinstance(completion, Completion):
                        return self._without_key(completion), round(time.monotonic() - began, 3)
                    if completion is None:
                        raise Resign("the endpoint sent something else than a chat completion (check url)")
                    reason = str(completion.status or "an error")
                    failure = completion.reason
                    status = completion.status
                except openai.APIStatusError as error:
                    reason = str(error.status_code)
                    failure = str(error)
                    status = error.status_code
                    retry_seconds = _retry_after(error.response.headers)
                except _UnreadAnswerError as error:
                    raise Resign(f"the endpoint sent {error}") from None
                except TimeoutError:
                    reason = "connection"
                    failure = f"no answer within {self._timeout:g} s"
                    status = 503
                except (openai.OpenAIError, ValueError) as error:  # a cut answer can be invalid JSON
                    reason = "connection"
                    failure = str(error.__cause__ or "") or str(error)
                    status = 503
                if status is None or (status not in _TRANSIENT and status < 500):
                    raise self._resignation(f"the endpoint answered {reason}", failure) from None
                factor = 2 ** min(len(waits), _MOST_DOUBLINGS)
                seconds = min(_FIRST_WAIT * factor, _LONGEST_WAIT)
                if retry_seconds and retry_seconds > 0:
                    # If waits stayed very short, there could be too many requests before the limit.
                    seconds = max(retry_seconds, _SHORTEST_WAIT * factor)
                if sum(wait.seconds for wait in waits) + seconds > self._longest_wait:
                    message = f"the endpoint did not answer within {self._longest_wait:g} s of waits ({reason})"
                    raise self._resignation(message, failure)
                logger.warning("%s: waiting %g s for the endpoint (%s)", request["model"], seconds, reason)
                waits.append(Wait(reason, seconds))
                await asyncio.sleep(seconds)

    def _resignation(self, message: str, failure: str) -> Resign:
        """Return the resignation with the message and the failure, without the key."""
        if self._key:
            failure = self._hide_key(failure)
        return Resign(f"{message}: {' '.join(as_utf8(failure).split())[:_LONGEST_REASON]}")

    def _without_key(self, completion: Completion) -> Completion:
        """Return the completion without the key: a proxy can repeat the key, and records of games are public."""
        if len(self._key) < _SHORTEST_SECRET:
            return completion
        calls = tuple((self._hide_key(name), self._hide_key(arguments)) for name, arguments in completion.calls)
        return replace(completion, text=self._hide_key(completion.text), calls=calls)

    def _hide_key(self, text: str) -> str:
        for spelling in (self._key, json.dumps(self._key)[1:-1], quote(self._key, safe="")):
            text = text.replace(spelling, "[key]")
        return text


class _UnreadAnswerError(Exception):
    """An answer that is too large or compressed, so that it is not read. The text describes it."""


class _LimitedStream(httpx2.AsyncByteStream):
    """The bytes of an answer up to a limit. Longer errors are cut; other longer answers raise _UnreadAnswerError."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, is_error: bool) -> None:
        self._stream = stream
        self._is_error = is_error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        bytes_left = _LARGEST_ERROR if self._is_error else _LARGEST_ANSWER
        async for part in self._stream:
            yield part[:bytes_left]
            bytes_left -= len(part)
            if bytes_left < 0 and not self._is_error:
                raise _UnreadAnswerError(f"an answer of more than {_LARGEST_ANSWER:,} bytes")
            if bytes_left <= 0 and self._is_error:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _limit(response: httpx2.Response) -> None:
    """Limit what the client reads of an answer, also of a redirect."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    is_error = not response.is_success
    # A few compressed bytes can stand for gigabytes.
    if response.headers.pop("content-encoding", "identity") != "identity" and not is_error:
        raise _UnreadAnswerError("a compressed answer, expected one that is not (Accept-Encoding: identity)")
    response.stream = _LimitedStream(response.stream, is_error=is_error)


def _document(body: bytes) -> object:
    """Return the JSON of an answer; None for another text. Raises ValueError for an answer that was cut."""
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        if body.lstrip()[:1] in (b"{", b""):
            raise
    except (ValueError, RecursionError):
        pass
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the endpoint requests to wait; None if it requests none."""
    text = headers.get("retry-after", "")
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError, TypeError, OverflowError):  # TypeError: a time without a zone
        return (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    return None
