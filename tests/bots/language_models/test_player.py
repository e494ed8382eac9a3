"""Language models play with a real HTTP endpoint whose replies the tests give."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from noughts_bots import Move, Position, Resign, parse_variant
from noughts_bots.language_models.answers import wrong_verdicts
from noughts_bots.language_models.player import LanguageModel
from noughts_bots.language_models.record import Answer, Question, read_question
from noughts_bots.reference.specs import make_bot, make_built_in, parse_spec
from noughts_bots.sdk.bot import Exhausted
from noughts_bots.sdk.errors import BotSpecError
from tests.support.model_endpoint import ModelEndpoint, Reply, cell, in_turn, model_endpoint, question_of

TICTACTOE = parse_variant("tictactoe")


def make_player(endpoint: ModelEndpoint, **options: object) -> LanguageModel:
    spec_options = ",".join(f"{name}={value}" for name, value in {"model": "m", "url": endpoint.url, **options}.items())
    bot = make_built_in(parse_spec(f"llm{{{spec_options}}}:"), TICTACTOE)
    assert isinstance(bot, LanguageModel)
    bot.prepare()
    return bot


def record(move: Move | Resign) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(move.comment)
    return document


def verdicts(move: Move | Resign) -> list[str]:
    return [answer["verdict"] for answer in record(move)["answers"]]


async def ask_player(*replies: Reply, moves: tuple[int, ...] = (), **options: object) -> tuple[Move, ModelEndpoint]:
    """Ask a player for a move while the endpoint gives these replies in turn; return the move and the endpoint."""
    with model_endpoint(m=in_turn(*replies)) as endpoint:
        return await make_player(endpoint, **options).choose(Position.after(TICTACTOE, moves, seed=7)), endpoint


@pytest.mark.parametrize("text", ["prose ", "\N{GREEK SMALL LETTER PI}", '"', "\0"])
async def test_records_fit_into_the_comments_that_the_server_keeps(text: str) -> None:
    long, last = Reply(f"{text * 9_000}\nMOVE: z9"), Reply(f"{text * 9_000}\nMOVE: b2")
    with model_endpoint(m=in_turn(long, long, last)) as endpoint:
        bot = make_player(endpoint, answer="text")
        bot.comment_bytes = 2_048
        move = await bot.choose(Position.after(TICTACTOE, (), seed=7))
    assert 1_200 < len(move.comment.encode()) <= 2_048
    question = read_question(move.comment)
    assert question
    assert not list(wrong_verdicts(question, TICTACTOE, [move.cell], 0, seed=7))
    assert verdicts(move) == ["unparsable", "unparsable", "legal"]


async def test_answer_by_schema_is_played_and_recorded() -> None:
    move, endpoint = await ask_player(cell("b2"), input_price="2.50", output_price=10)
    assert move.cell == 4
    document = record(move)
    assert document["answers"] == [
        {
            "said": '{"move": "b2"}',
            "verdict": "legal",
            "seconds": document["answers"][0]["seconds"],
            "input_tokens": 100,
            "output_tokens": 10,
        }
    ]
    assert (document["model"], document["answer"], document["waits"], len(document["prompt"])) == (
        "m",
        "schema",
        [],
        64,
    )
    # 100 tokens at 2.50 and 10 at 10 a million.
    assert document["cost"] == 0.00035
    (request,) = endpoint.requests
    assert request["response_format"]["json_schema"]["strict"] is True
    assert "temperature" not in request


@pytest.mark.parametrize(
    "answer, reply",
    [
        ("schema", Reply('{"move": "B2"}')),
        ("tool", Reply(tool='{"move": "b2"}')),
        ("text", Reply("The corner a1 is tempting, but the centre is better.\n\nMOVE: b2\n")),
    ],
)
async def test_each_form_of_answer_is_read(answer: str, reply: Reply) -> None:
    move, _ = await ask_player(reply, answer=answer)
    assert (move.cell, verdicts(move)) == (4, ["legal"])


@pytest.mark.parametrize(
    "answer, reply",
    [
        ("schema", Reply("I play b2.")),
        ("schema", Reply('```json\n{"move": "b2"}\n```')),
        ("schema", Reply('{"move": 4}')),
        ("schema", Reply('{"move": "b2", "why": "centre"}')),
        ("schema", Reply('{"move": "j9"}')),
        ("schema", Reply('["b2"]')),
        ("schema", Reply(refusal="I do not play games.")),
        ("schema", Reply("")),
        ("schema", Reply(tool='{"move": "b2"}')),
        ("tool", Reply("b2")),
        ("tool", Reply(tool='{"cell": "b2"}')),
        ("tool", Reply(tool="{")),
        ("text", Reply("MOVE: b2 is my move")),
        ("text", Reply("MOVE: b2\nGood luck!")),
        ("text", Reply("My move is b2")),
    ],
)
async def test_an_answer_that_names_no_cell_is_unparsable_and_asked_again(answer: str, reply: Reply) -> None:
    good = {"schema": cell("a1"), "tool": Reply(tool='{"move": "a1"}'), "text": Reply("MOVE: a1")}[answer]
    move, endpoint = await ask_player(reply, good, answer=answer)
    assert (move.cell, verdicts(move)) == (6, ["unparsable", "legal"])
    assert question_of(endpoint.requests[1]).endswith("Answer again, with a legal move.")


async def test_an_occupied_cell_is_illegal_and_asked_again_with_the_reason() -> None:
    move, endpoint = await ask_player(cell("b2"), cell("a1"), moves=(4,))
    assert (move.cell, verdicts(move)) == (6, ["illegal", "legal"])
    assert question_of(endpoint.requests[1]) == "b2 is occupied. Answer again, with a legal move."


async def test_after_the_last_rethink_the_answer_counts() -> None:
    move, endpoint = await ask_player(*[cell("b2")] * 3, moves=(4,))
    assert (move.cell, verdicts(move), len(endpoint.requests)) == (4, ["illegal"] * 3, 3)
    move, endpoint = await ask_player(Reply("?"), rethink=0)
    assert (move.cell, verdicts(move), len(endpoint.requests)) == (-1, ["unparsable"], 1)


async def test_requests_are_repeated_after_rate_limits_and_lost_connections(
    caplog: pytest.LogCaptureFixture,
) -> None:
    short = {"retry-after": "0.1"}
    replies = [Reply(status=429, headers=short), Reply(status=500, headers=short), Reply(status=503, headers=short)]
    with caplog.at_level(logging.WARNING, "noughts.bot"):
        move, _ = await ask_player(Reply("cut", cut=True), *replies, cell("b2"), wait=30)
    # The cut answer has no retry-after, so the wait is 1 s.
    assert [tuple(wait.values()) for wait in record(move)["waits"]] == [
        ("connection", 1.0),
        ("429", 0.1),
        ("500", 0.1),
        ("503", 0.1),
    ]
    assert move.cell == 4
    assert "m: waiting 0.1 s for the endpoint (429)" in caplog.text


async def test_a_slow_answer_is_asked_for_again() -> None:
    move, _ = await ask_player(Reply("late", seconds=30), cell("b2"), timeout=2)
    assert (move.cell, [wait["why"] for wait in record(move)["waits"]]) == (4, ["connection"])


async def test_answers_that_take_longer_than_the_limit_lose_on_time() -> None:
    with model_endpoint(m=in_turn(Reply("?", seconds=0.2), cell("b2"))) as endpoint:
        position = Position(TICTACTOE)
        position.limit_us = 100_000
        with pytest.raises(Exhausted, match="longer than the limit of the move") as exhausted:
            await make_player(endpoint).choose(position)
    assert verdicts(exhausted.value) == ["unparsable"]


@pytest.mark.parametrize("seconds", ["3600", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_a_wait_beyond_the_limit_resigns_with_the_reason(seconds: str) -> None:
    busy = Reply("Too many requests", status=429, headers={"retry-after": seconds})
    with pytest.raises(Resign, match=r"did not answer within 5 s of waits \(429\): .*Too many requests") as resigned:
        await ask_player(Reply("?"), busy, wait=5)
    assert verdicts(resigned.value) == ["unparsable"]


async def test_a_refused_request_resigns_at_once_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-very-secret")
    refusing = in_turn(Reply("Invalid key sk-very-secret", status=401))
    raises_resign = pytest.raises(Resign, match=r"the endpoint answered 401: .*\[key\]")
    with model_endpoint(m=refusing) as endpoint, raises_resign as resigned:
        await make_player(endpoint, key_env="SECRET_KEY").choose(Position(TICTACTOE))
    assert endpoint.keys == {"Bearer sk-very-secret"}
    assert "very-secret" not in str(resigned.value) + resigned.value.comment


async def test_line_breaks_around_a_key_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-very-secret\r\n")
    with model_endpoint(m=in_turn(cell("b2"))) as endpoint:
        await make_player(endpoint, key_env="SECRET_KEY").choose(Position(TICTACTOE))
    assert endpoint.keys == {"Bearer sk-very-secret"}


@pytest.mark.parametrize("key", ["sk-very\nsecret", "sk-very-gehe\u00efm"])
def test_a_key_invalid_in_a_header_is_refused_without_printing_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", key)
    with pytest.raises(BotSpecError, match="other characters in SECRET_KEY, expected printable ASCII") as raised:
        make_built_in(parse_spec("llm{model=m,key_env=SECRET_KEY}:")).prepare()
    assert "sk-very" not in str(raised.value)


async def test_another_endpoint_does_not_get_the_key_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    _, endpoint = await ask_player(cell("b2"))
    assert endpoint.keys == {"Bearer none"}


async def test_errors_of_an_endpoint_without_a_key_are_unchanged() -> None:
    with pytest.raises(Resign, match="none of the models is here"):
        await ask_player(Reply("none of the models is here", status=404))


@pytest.mark.parametrize(
    "seconds", ["0", "-5", "nan", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 -0000"]
)
async def test_retries_without_a_wait_end_at_the_limit(seconds: str) -> None:
    busy = Reply("busy", status=429, headers={"retry-after": seconds})
    with pytest.raises(Resign, match=r"did not answer within 0\.5 s of waits \(429\)"):
        await ask_player(*[busy] * 3, wait=0.5)


@pytest.mark.parametrize("seconds", ["0.000001", "0.009", "5e-324"])
async def test_short_waits_grow_with_each_retry(seconds: str) -> None:
    busy = Reply("busy", status=429, headers={"retry-after": seconds})
    raises_resign = pytest.raises(Resign, match=r"did not answer within 0\.5 s of waits \(429\)")
    with model_endpoint(m=lambda request: busy) as endpoint, raises_resign:
        await make_player(endpoint, wait=0.5).choose(Position(TICTACTOE))
    assert len(endpoint.requests) == 6  # the waits are 10, 20, 40, 80 and 160 ms


@pytest.mark.parametrize("seconds, limit", [(0, 600), (0.05, 0.3)])
async def test_an_endless_answer_is_not_read_to_the_end(seconds: float, limit: float) -> None:
    endless = Reply(endless=b" " * (1 if seconds else 65_536), seconds=seconds)
    with model_endpoint(m=lambda request: endless) as endpoint:
        with pytest.raises(Resign, match="more than 4,194,304 bytes" if limit > 1 else "no answer within 0.3 s"):
            await make_player(endpoint, timeout=limit, wait=0.5).choose(Position(TICTACTOE))
        assert endpoint.sent < 32 << 20


async def test_a_request_is_repeated_after_an_endless_error() -> None:
    endless = Reply(status=503, endless=b"busy " * 10_000)
    raises_resign = pytest.raises(Resign, match=r"did not answer within 0\.5 s of waits \(503\)")
    with model_endpoint(m=lambda request: endless) as endpoint, raises_resign:
        await make_player(endpoint, wait=0.5).choose(Position(TICTACTOE))
    assert endpoint.sent < 32 << 20


@pytest.mark.parametrize("size", [50_000, 5_000_000])
async def test_a_long_error_resigns_with_a_short_reason(size: int) -> None:
    with pytest.raises(Resign, match="the endpoint answered 400: Error code: 400") as resigned:
        await ask_player(Reply("x" * size, status=400))
    assert len(str(resigned.value)) < 400


async def test_a_compressed_answer_is_refused_unread() -> None:
    packed = Reply(endless=gzip.compress(bytes(1 << 24)), headers={"content-encoding": "gzip"})
    with pytest.raises(Resign, match="the endpoint sent a compressed answer"):
        await ask_player(packed)


@pytest.mark.parametrize("key", ["sk-very-secret", 'sk-"very"/secret'])
@pytest.mark.parametrize("memory", ["none", "game"])
async def test_a_key_that_an_answer_repeats_is_not_recorded(
    key: str, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", key)
    repeated = [Reply(f"Your key {key} is {json.dumps(key)} and {quote(key, safe='')}."), Reply(f"{key}\nMOVE: b2")]
    with model_endpoint(m=in_turn(*repeated)) as endpoint:
        bot = make_player(endpoint, key_env="SECRET_KEY", answer="text", memory=memory)
        move = await bot.choose(Position(TICTACTOE))
    texts = json.dumps(endpoint.requests) + move.comment
    assert move.cell == 4
    assert verdicts(move) == ["unparsable", "legal"]
    assert texts.count("[key]") > 3
    assert "very" not in texts


async def test_a_short_key_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "b2")
    with model_endpoint(m=in_turn(cell("b2"))) as endpoint:
        assert (await make_player(endpoint, key_env="SECRET_KEY").choose(Position(TICTACTOE))).cell == 4


async def test_lone_surrogates_are_unparsable_and_can_be_stored() -> None:
    halves = Reply("\ud83d"), Reply(r'{"move": "\ud83d"}')
    move, endpoint = await ask_player(*halves, cell("b2"))
    assert (move.cell, verdicts(move)) == (4, ["unparsable", "unparsable", "legal"])
    assert move.comment.encode()
    assert question_of(endpoint.requests[2]) == "? is not the name of a cell. Answer again, with a legal move."


@pytest.mark.parametrize("tokens", [None, (2.5, 1)])
async def test_unknown_tokens_have_no_cost(tokens: Any) -> None:
    move, _ = await ask_player(Reply('{"move": "b2"}', tokens=tokens), input_price=1, output_price=1)
    assert (record(move)["answers"][0]["input_tokens"], record(move)["cost"]) == (None, None)
    move, _ = await ask_player(cell("b2"))
    assert record(move)["cost"] is None


PARTS = json.dumps({"choices": [{"message": {"content": [{"type": "text", "text": '{"move":'}, {"text": '"b2"}'}]}}]})
BARE = json.dumps({"choices": [{"message": '{"move": "b2"}'}], "usage": {"prompt_tokens": -1}})
LATER = json.dumps({"error": {"code": 429, "message": "later"}})
HUGE = BARE.replace("-1", "1e400")


async def test_odd_answers_of_an_endpoint_are_read_and_recorded() -> None:
    for body in (PARTS, BARE, HUGE):
        move, _ = await ask_player(Reply(body=LATER), Reply(body=body), rethink=0)
        assert (move.cell, verdicts(move), record(move)["waits"]) == (4, ["legal"], [{"why": "429", "seconds": 1.0}])
        assert record(move)["answers"][0]["input_tokens"] is None
        assert "Infinity" not in move.comment


@pytest.mark.parametrize(
    "body, reason",
    [
        ('{"choices": [null]}', r"something else than a chat completion \(check url\)"),
        ('{"choices": {"message": {"content": "b2"}}}', "something else than a chat completion"),
        ("<html>It works!</html>", "something else than a chat completion"),
        ("[" * 100_000, "something else than a chat completion"),
        ('{"error": {"code": "no_credit", "message": "pay first"}}', "the endpoint answered an error: pay first"),
        ('{"choices": [], "error": "busy"}', "the endpoint answered an error: busy"),
    ],
)
async def test_answers_without_a_message_resign_with_the_reason(body: str, reason: str) -> None:
    with pytest.raises(Resign, match=reason):
        await ask_player(Reply(body=body))


async def test_memory_keeps_the_conversation_of_a_game() -> None:
    with model_endpoint(m=in_turn(cell("b2"), cell("a2"), cell("a1"))) as endpoint:
        bot, position = make_player(endpoint, memory="game"), Position(TICTACTOE)
        for reply in (0, 8):
            position.play((await bot.choose(position)).cell)
            position.play(reply)
        await bot.choose(position)
    roles = [[message["role"][0] for message in request["messages"]] for request in endpoint.requests]
    assert roles == [["s", "u"], ["s", "u", "a", "u"], ["s", "u", "a", "u", "a", "u"]]


async def test_legal_moves_are_in_the_prompt_only_on_request() -> None:
    for hints in ("none", "legal"):
        _, endpoint = await ask_player(cell("a1"), moves=(4, 0), hints=hints)
        assert ("Legal moves: b3 c3 a2 c2 a1 b1 c1" in question_of(endpoint.requests[0])) == (hints == "legal")


async def test_sampling_options_reach_the_endpoint() -> None:
    _, endpoint = await ask_player(cell("b2"), temperature=0.5, seed=7)
    assert (endpoint.requests[0]["temperature"], endpoint.requests[0]["seed"]) == (0.5, 7)


async def test_a_given_prompt_replaces_the_first_message(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Play.\n$rules\n$answer\nIt costs $5.", encoding="utf-8")
    _, endpoint = await ask_player(cell("b2"), prompt=file)
    first = endpoint.requests[0]["messages"][0]["content"]
    assert first.startswith("Play.\nThe game is called tictactoe.")
    assert first.endswith("It costs $5.")
    assert '{"move": "a3"}' in first


@pytest.mark.parametrize(
    "options, complaint",
    [
        ("url=http://127.0.0.1:1/v1", r"got no model, expected llm\{model=NAME\["),
        ("model=m,answer=prose", r"option answer: got prose, expected schema\|tool\|text"),
        ("model=m,rethink=10", r"option rethink: got 10, expected 0\.\.9"),
        ("model=m,temperature=3", r"option temperature: got 3, expected 0\.0\.\.2\.0"),
        ("model=m,input_price=-1", "option input_price: got -1, expected 0.0..1000000.0"),
        ("model=m,input_price=cheap", "option input_price: got cheap, expected 0.0..1000000.0"),
        ("model=m,prompts=x", r"got option prompts, .*; did you mean prompt\?"),
        (
            "model=m,url=localhost:8080",
            "option url: got localhost:8080, expected an address that begins with http:// or",
        ),
        ("model=m,url=http://me:secret@127.0.0.1/v1", "option url: got a user name or password, expected none"),
        ("model=m,key_env=NO_SUCH_KEY", "got no environment variable NO_SUCH_KEY"),
        ("model=m", "got no environment variable OPENAI_API_KEY"),
        ("model=m,url=http://127.0.0.1:1/v1,prompt=missing.txt", r"option prompt: got missing.txt \(No such file"),
    ],
)
def test_wrong_options_are_refused_in_the_words_of_the_spec(
    options: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BotSpecError, match=complaint):
        make_built_in(parse_spec(f"llm{{{options}}}:")).prepare()


def test_a_recorded_move_after_an_answer_that_is_not_legal_is_reported() -> None:
    question = Question("m", "text", 0, False, "", [Answer("?", "unparsable", 0.1, None, None)], [], None)
    assert list(wrong_verdicts(question, TICTACTOE, [], 0, 7)) == []
    assert list(wrong_verdicts(question, TICTACTOE, [4], 0, 7)) == [
        "got a move after the unparsable answer '?', expected the end of the game"
    ]


def test_a_server_refuses_to_make_language_models() -> None:
    with pytest.raises(BotSpecError, match="use it in `noughts bot run`, `match` or `tournament run`"):
        make_bot(parse_spec("llm{model=m}:"))
