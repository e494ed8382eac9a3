"""An endpoint that speaks OpenAI's chat completions: one request at a time, and waits that are counted."""

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from noughts_bots.bot import Resign
from noughts_bots.language_models.completion import Completion, read_completion
from noughts_bots.language_models.record import Wait, as_utf8

logger = logging.getLogger("noughts.bot")

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_TRANSIENT = frozenset({408, 409, 429})


class Endpoint:
    """Requests to one endpoint, with its key. The key is in no text that leaves this class."""

    def __init__(self, url: str | None, key: str, *, timeout: float, patience: float) -> None:
        """`url` None is OpenAI's own. `key` can be empty. `timeout` limits a request, `patience` all waits of a move.

        Both are in seconds.
        """
        self._key, self._patience = key, patience
        self._options: dict[str, Any] = {"base_url": url, "timeout": timeout, "max_retries": 0}
        # The client demands a key.
        self._options["api_key"] = key or "none"
        # Certificates take most of the time that it takes to make a client.
        self._tls = ssl.create_default_context()

    async def complete(self, request: Mapping[str, Any], waits: list[Wait]) -> tuple[Completion, float]:
        """Return the model's answer, and the seconds of its request.

        Add to `waits` each wait after a rate limit, a failure or a lost connection. Raises Resign for any other error,
        or if the waits together would exceed the limit.
        """
        # A client must be closed in the event loop in which it was used.
        http = openai.DefaultAsyncHttpx2Client(verify=self._tls)
        async with openai.AsyncOpenAI(**self._options, http_client=http) as client:
            while True:
                began, wanted = time.monotonic(), None
                try:
                    # The client's own models of answers are not checked, and fail on odd ones.
                    answer = await client.chat.completions.with_raw_response.create(**request)
                    found = read_completion(_document(answer.http_response.content))
                    if isinstance(found, Completion):
                        return found, round(time.monotonic() - began, 3)
                    if found is None:
                        raise Resign("the endpoint sent something else than a chat completion (check url)")
                    why, failure, status = str(found.status or "an error"), found.reason, found.status
                except openai.APIStatusError as error:
                    why, failure, status = str(error.status_code), str(error), error.status_code
                    wanted = _retry_after(error.response.headers)
                except (openai.OpenAIError, ValueError) as error:  # a cut answer can be invalid JSON
                    why, failure, status = "connection", str(error.__cause__ or "") or str(error), 503
                if status is None or (status not in _TRANSIENT and status < 500):
                    raise self._gives_up(f"the endpoint answered {why}", failure) from None
                usual = min(_FIRST_WAIT * 2 ** min(len(waits), 9), _LONGEST_WAIT)
                # Without a wait, the limit would never be reached.
                seconds = wanted if wanted and wanted > 0 else usual
                if sum(wait.seconds for wait in waits) + seconds > self._patience:
                    what = f"the endpoint did not answer within {self._patience:g} s of waits ({why})"
                    raise self._gives_up(what, failure)
                logger.warning("%s: waiting %g s for the endpoint (%s)", request["model"], seconds, why)
                waits.append(Wait(why, seconds))
                await asyncio.sleep(seconds)

    def _gives_up(self, what: str, why: str) -> Resign:
        if self._key:
            why = why.replace(self._key, "[key]")
        return Resign(f"{what}: {' '.join(as_utf8(why).split())}")


def _document(body: bytes) -> object:
    """Return the JSON of an answer; None for another text. Raises ValueError if its end is missing."""
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        if body.lstrip()[:1] in (b"{", b""):
            raise
    except (ValueError, RecursionError):
        pass
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the endpoint asks to wait; None if it does not say."""
    text = headers.get("retry-after", "")
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError, TypeError, OverflowError):  # TypeError: a time without a zone
        return (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    return None
