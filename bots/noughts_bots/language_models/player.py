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

_OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
_LONGEST_ANSWERS = 8_000
"""Limit of the bytes of all answers to a question together. It is lower if the server keeps only short comments."""
_RECORD_BYTES = 400
"""Bytes of a record without its answers."""
_ANSWER_BYTES = 120
"""Bytes of a recorded answer without its text."""


@dataclass(eq=False, kw_only=True)
class LanguageModel(BuiltInBot):
    """Asks a model for each move. The record of the question is the move's comment.

    The fields are the options of the spec; docs/how-to/language-models.md describes them.
    """

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
        # OpenAI's key must not go to another endpoint.
        variable = self.key_env or ("" if self.url else _OPENAI_KEY_VARIABLE)
        key = os.environ.get(variable, "").strip()
        if variable and not key:
            advice = f"export {variable}, or name another variable by key_env=VAR; url=URL alone needs no key"
            raise BotSpecError(
                "bot 'llm', key", f"no environment variable {variable}", "the key of the endpoint", advice
            )
        if not (key.isascii() and key.isprintable()):
            got = f"other characters in {variable}"
            advice = "check the value of the variable"
            raise BotSpecError("bot 'llm', key", got, "printable ASCII characters", advice)
        self._endpoint = Endpoint(self.url, key, timeout=self.timeout, longest_wait=self.wait)

    async def choose(self, position: Position) -> Move:
        """Ask the model, and ask it again after an answer that is not a legal move, up to `rethink` times.

        The last answer counts. Raises Resign, with the record as its comment.
        """
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
                text = ending(self._form.text_of(completion), self._answer_bytes)
                verdict = self._form.judge(text, view, position)
                answer = Answer(
                    said=text,
                    verdict=verdict.kind,
                    seconds=seconds,
                    input_tokens=completion.input_tokens,
                    output_tokens=completion.output_tokens,
                )
                answers.append(answer)
                if 0 < position.limit_us < 1e6 * sum(answer.seconds for answer in answers):
                    # The time margin can be as long as the waits, so the referee would not notice slow answers.
                    raise Exhausted("its answers took longer than the limit of the move")
                messages.append({"role": "assistant", "content": text or "(no answer)"})
                if verdict.reason:
                    again = f"{verdict.reason} Answer again, with a legal move."
                    messages.append({"role": "user", "content": again})
        except Resign as resignation:
            resignation.comment = self._record(prompt, answers, waits)
            raise
        position.memo = messages
        # If the answer names no cell, the referee gets a cell that is not on the board: an illegal move.
        return Move(-1 if verdict.cell is None else verdict.cell, comment=self._record(prompt, answers, waits))

    @property
    def _answer_bytes(self) -> int:
        """Return the limit of the bytes of an answer, so that the record fits into a comment that the server keeps."""
        most_answers = self.rethink + 1
        free_bytes = self.comment_bytes - _RECORD_BYTES - len(self.model.encode()) - most_answers * _ANSWER_BYTES
        return max(0, min(_LONGEST_ANSWERS, free_bytes)) // most_answers

    def _record(self, prompt: str, answers: list[Answer], waits: list[Wait]) -> str:
        """Return the comment of the move. If it is too long, one sum replaces the waits."""
        record = Question(
            model=self.model,
            answer=self.answer,
            rethink=self.rethink,
            scramble=self.scramble,
            prompt=prompt,
            answers=answers,
            waits=waits,
            cost=self._cost(answers),
        )
        comment = record.write()
        if len(waits) > 1 and len(comment.encode()) > self.comment_bytes:
            total_wait = Wait(waits[-1].why, sum(wait.seconds for wait in waits))
            comment = record._replace(waits=[total_wait]).write()
        return comment

    def _cost(self, answers: list[Answer]) -> float | None:
        """Return the cost of the answers' tokens; None if a price or a number of tokens is unknown.

        Prices are for a million tokens.
        """
        cost = Decimal(0)
        for answer in answers:
            counts = (answer.input_tokens, self.input_price), (answer.output_tokens, self.output_price)
            for tokens, price in counts:
                if tokens is None or price is None:
                    return None
                cost += tokens * Decimal(repr(price))
        return float(cost / 1_000_000)
