"""A language model as a player: `llm{model=NAME,...}:`."""

import hashlib
import json
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from noughts_bots.language_models.answers import FORMS, Verdict
from noughts_bots.language_models.endpoint import Endpoint
from noughts_bots.language_models.prompt import DEFAULT_PROMPT, instructions, question
from noughts_bots.language_models.record import Answer, Question, Wait, ending
from noughts_bots.language_models.view import view_of
from noughts_bots.sdk.bot import Exhausted, Move, Resign
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position

_USUAL_KEY = "OPENAI_API_KEY"
_LONGEST_ANSWERS = 8_000
"""Bytes of all answers to a question that count and are recorded; fewer if the server keeps shorter comments."""
_RECORD_BYTES = 400
_ANSWER_BYTES = 120
"""Bytes of a record without its answers, and of an answer without its text."""


@dataclass(eq=False, kw_only=True)
class LanguageModel(BuiltInBot):
    """Asks a model for each move. The record of the question is the move's comment."""

    name = "llm"
    heeds_forbidden_moves = True
    max_games = 4

    model: str
    url: str | None = None
    key_env: str = ""
    prompt: Path = DEFAULT_PROMPT
    answer: str = "schema"
    rethink: int = 2
    temperature: float | None = None
    seed: int | None = None
    memory: str = "none"
    hints: str = "none"
    scramble: bool = False
    timeout: float = 600.0
    wait: float = 300.0
    input_price: float | None = None
    output_price: float | None = None

    def prepare(self) -> None:
        """Read the prompt and the key. Raises BotSpecError."""
        self._form = FORMS[self.answer]
        request = {"model": self.model, "temperature": self.temperature, "seed": self.seed, **self._form.request}
        self._request = {name: value for name, value in request.items() if value is not None}
        try:
            self._template = self.prompt.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            got = f"{self.prompt} ({getattr(error, 'strerror', None) or 'not UTF-8'})"
            raise BotSpecError("bot 'llm', option prompt", got, "a text file", "check the path") from None
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            expected = "an address that begins with http:// or https://"
            advice = "write it as in http://127.0.0.1:8080/v1"
            raise BotSpecError("bot 'llm', option url", self.url, expected, advice)
        if self.url is not None and "@" in self.url.partition("://")[2].partition("/")[0]:
            expected = "none: specs are printed and stored"
            advice = "put the key into a variable: key_env=VAR"
            raise BotSpecError("bot 'llm', option url", "a user name or password", expected, advice)
        # The key of OpenAI is for no other endpoint.
        name = self.key_env or ("" if self.url else _USUAL_KEY)
        key = os.environ.get(name, "").strip()
        if name and not key:
            advice = f"export {name}, or name another variable by key_env=VAR; url=URL alone needs no key"
            raise BotSpecError("bot 'llm', key", f"no environment variable {name}", "the key of the endpoint", advice)
        if not (key.isascii() and key.isprintable()):
            got = f"other characters in {name}"
            advice = "check the value of the variable"
            raise BotSpecError("bot 'llm', key", got, "printable ASCII characters", advice)
        self._endpoint = Endpoint(self.url, key, timeout=self.timeout, patience=self.wait)

    async def choose(self, position: Position) -> Move:
        """Ask the model, and again after an answer that is not a legal move; its last answer counts in any case."""
        view = view_of(position.variant, position.seed, scrambled=self.scramble)
        messages = list(position.memo or ()) if self.memory == "game" else []
        if not messages:
            first = instructions(self._template, view, self._form.instructions)
            messages.append({"role": "system", "content": first})
        messages.append({"role": "user", "content": question(view, position, hints=self.hints == "legal")})
        prompt = hashlib.sha256(json.dumps(messages, separators=(",", ":")).encode()).hexdigest()
        answers: list[Answer] = []
        waits: list[Wait] = []
        verdict = Verdict("unparsable")
        try:
            while verdict.kind != "legal" and len(answers) <= self.rethink:
                request = {**self._request, "messages": messages}
                completion, seconds = await self._endpoint.complete(request, waits)
                said = ending(self._form.said(completion), self._answer_bytes)
                verdict = self._form.judge(said, view, position)
                answer = Answer(
                    said=said,
                    verdict=verdict.kind,
                    seconds=seconds,
                    input_tokens=completion.input_tokens,
                    output_tokens=completion.output_tokens,
                )
                answers.append(answer)
                if 0 < position.limit_us < 1e6 * sum(answer.seconds for answer in answers):
                    # The time margin can be as long as the waits, which are not the model's fault.
                    raise Exhausted("its answers took longer than the limit of the move")
                messages.append({"role": "assistant", "content": said or "(no answer)"})
                if verdict.reason:
                    again = f"{verdict.reason} Answer again, with a legal move."
                    messages.append({"role": "user", "content": again})
        except Resign as resignation:
            resignation.comment = self._record(prompt, answers, waits)
            raise
        position.memo = messages
        # An answer that names no cell is not a move, so the referee gets a cell that is not on the board.
        return Move(-1 if verdict.cell is None else verdict.cell, comment=self._record(prompt, answers, waits))

    @property
    def _answer_bytes(self) -> int:
        """Return how many bytes of each answer fit into a comment that the server keeps."""
        answers = self.rethink + 1
        room = self.comment_bytes - _RECORD_BYTES - len(self.model.encode()) - answers * _ANSWER_BYTES
        return max(0, min(_LONGEST_ANSWERS, room)) // answers

    def _record(self, prompt: str, answers: list[Answer], waits: list[Wait]) -> str:
        question = Question(
            model=self.model,
            answer=self.answer,
            rethink=self.rethink,
            scramble=self.scramble,
            prompt=prompt,
            answers=answers,
            waits=waits,
            cost=self._cost(answers),
        )
        record = question.write()
        if len(waits) > 1 and len(record.encode()) > self.comment_bytes:
            in_one = Wait(waits[-1].why, sum(wait.seconds for wait in waits))
            record = question._replace(waits=[in_one]).write()
        return record

    def _cost(self, answers: list[Answer]) -> float | None:
        """Return what the tokens cost; None if a price or a number of tokens is unknown."""
        prices = self.input_price, self.output_price
        parts = [pair for answer in answers for pair in zip(answer[3:], prices, strict=True)]
        known = [tokens * Decimal(repr(price)) for tokens, price in parts if tokens is not None and price is not None]
        return float(sum(known) / 1_000_000) if len(known) == len(parts) else None
