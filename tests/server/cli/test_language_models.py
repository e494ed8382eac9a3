"""Language models as players at a server and on this machine, and the exact table of their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Ask
from tests.support.background import bots_online
from tests.support.model_endpoint import ModelEndpoint, Reply, Request, cell, free_cells, model_endpoint, question_of

PRICES = Fraction("2.5"), Fraction("0.7")
"""The price of a million tokens, in the specs below."""


class RecordingModels:
    """Three models: a good one, a clumsy one, and one that answers in prose. They record their answers themselves."""

    def __init__(self) -> None:
        self.verdicts: dict[str, list[list[str]]] = {"good": [], "clumsy": [], "prose": []}
        """The expected verdicts on the answers to each question, by model."""
        self.tokens: dict[str, list[tuple[int, int]]] = {name: [] for name in self.verdicts}

    def answer(self, name: str, request: Request) -> Reply:
        if "Moves so far" in question_of(request):
            self.verdicts[name].append([])
        tokens = (90 + len(question_of(request)), 7 + len(self.tokens[name]) % 5)
        self.tokens[name].append(tokens)
        reply, verdict = self._reply(name, request, len(self.verdicts[name][-1]))
        self.verdicts[name][-1].append(verdict)
        return replace(reply, tokens=tokens)

    def _reply(self, name: str, request: Request, rethinks: int) -> tuple[Reply, str]:
        free = free_cells(request)
        if name == "prose":
            return Reply("I would take the centre, b2."), "unparsable"
        if name == "good":
            return cell(free[0]), "legal"
        # The clumsy model answers with prose, then with an occupied cell (if there is one), and then with a legal one.
        taken = [f"{column}{row}" for column in "abc" for row in "321" if f"{column}{row}" not in free]
        if rethinks == 0:
            return Reply("MOVE: " + free[0]), "unparsable"
        if rethinks == 1 and taken:
            return Reply(tool=json.dumps({"move": taken[0]})), "illegal"
        return Reply(tool=json.dumps({"move": free[-1]})), "legal"


@pytest.fixture
def models() -> RecordingModels:
    return RecordingModels()


@pytest.fixture
def endpoint(models: RecordingModels) -> Iterator[ModelEndpoint]:
    def answering(name: str) -> Callable[[Request], Reply]:
        return lambda request: models.answer(name, request)

    with model_endpoint(**{name: answering(name) for name in models.verdicts}) as endpoint:
        yield endpoint


def model_players(url: str) -> str:
    prices = f"input_price={float(PRICES[0])},output_price={float(PRICES[1])}"
    return (
        f"'llm{{model=good,url={url},{prices}}}:' 'llm{{model=clumsy,url={url},answer=tool,{prices}}}:'"
        f" 'llm{{model=prose,url={url},answer=text,scramble=on}}:'"
    )


def expected_row(models: RecordingModels, games: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the row of the table that follows from the records of the model."""
    game_count = sum(name in (game["first"], game["second"]) for game in games)
    questions, tokens = models.verdicts[name], models.tokens[name]
    verdicts = [verdict for question in questions for verdict in question]
    input_tokens, output_tokens = (sum(column) for column in zip(*tokens, strict=True))
    cost = (input_tokens * PRICES[0] + output_tokens * PRICES[1]) / 1_000_000 / game_count
    return {
        "moves": len(questions),
        "first_try_legal": sum(question[0] == "legal" for question in questions) / len(questions),
        "rethinks": len(verdicts) - len(questions),
        "illegal": verdicts.count("illegal"),
        "unparsable": verdicts.count("unparsable"),
        "input_tokens_per_game": input_tokens / game_count,
        "output_tokens_per_game": output_tokens / game_count,
        "cost_per_game": None if name == "prose" else pytest.approx(float(cost), rel=1e-12),
        "waits": 0,
        "waited_s": 0,
    }


@pytest.mark.at_length
@pytest.mark.long
def test_models_and_reference_bots_play_at_a_server(
    ask: Ask, noughts: Any, server: str, token: str, models: RecordingModels, endpoint: ModelEndpoint, tmp_path: Path
) -> None:
    with bots_online(server, token, champion="minimax"):
        tournament = ask(f"tournament run bot:champion@1 random first-free {model_players(endpoint.url)} --games 2")
    assert (tournament["state"], tournament["games"]) == ("finished", 30)
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    file = tmp_path / "games.jsonl"
    noughts(f"records convert {tournament['tournament']} {file}", env=env)
    games = [json.loads(line) for line in file.read_text().splitlines()]
    table = ask(f"tournament tables {tournament['tournament'].partition('/')[2]} --kind models")["models"]
    assert {row["name"] for row in table} == set(models.verdicts)
    accuracy = {row["bot"]: row for row in ask(f"records accuracy {file}")["bots"]}
    for row in table:
        judged = accuracy[row["name"]]
        assert row["decisions"] == judged["decisions"]
        assert row["accuracy"] == (pytest.approx(judged["accuracy"]) if judged["decisions"] >= 30 else None)
        facts = {key: row[key] for key in row if key not in ("rank", "name", "rating", "decisions", "accuracy")}
        assert facts == expected_row(models, games, row["name"]), row["name"]
        assert isinstance(row["rating"], int)
    # Only the model that answers in prose loses games by illegal moves.
    losers = [game["fault"]["bot"] for game in games if game["termination"] == "illegal_move"]
    assert losers == ["prose"] * 10
    # `records check` computes all verdicts again from the recorded answers.
    assert ask(f"records check {file}")["errors"] == []
    changed_text = file.read_text().replace(r"verdict\":\"legal", r"verdict\":\"illegal", 1)
    file.write_text(changed_text)
    report = json.loads(noughts(f"records check {file} --format json", code=1).stdout)
    assert "got verdict illegal on" in report["errors"][0]["error"]
    # Other bots can comment anything: comments with a wrong ply or cost are no records of a model.
    game_of_model = next(game for game in games if game.get("comments"))
    _, comment = game_of_model["comments"].popitem()
    record = json.loads(comment)
    wrong_comments = [
        {"9" * 5000: comment},
        {"0": json.dumps(record | {"cost": "1"})},
        {"0": json.dumps(record | {"cost": 10**400})},
    ]
    lines = [json.dumps({**games[0], "seed": seed, "comments": each}) for seed, each in enumerate(wrong_comments)]
    file.write_text("\n".join(lines) + "\n")
    assert json.loads(noughts(f"tournament tables {file} --kind models --format json").stdout)["models"] == []


@pytest.mark.long
def test_a_run_on_this_machine_ends_with_the_table(
    noughts: Any, models: RecordingModels, endpoint: ModelEndpoint
) -> None:
    result = noughts(
        f"tournament run {model_players(endpoint.url)} random --games 2", env={"OPENAI_API_KEY": "sk-secret"}
    )
    assert "Language models" in result.stdout
    assert "legal at once" in result.stdout
    document = json.loads(noughts(f"match {model_players(endpoint.url).split(' ')[0]} random --format json").stdout)
    assert [row["first_try_legal"] for row in document["models"]] == [1.0]
    # A local endpoint gets no key unless its spec names one.
    assert "sk-secret" not in result.stdout + result.stderr


@pytest.mark.long
def test_waits_for_the_endpoint_lose_no_game_with_a_time_limit(noughts: Any) -> None:
    first_replies = iter([Reply(status=429, headers={"retry-after": "6"})])
    with model_endpoint(m=lambda request: next(first_replies, None) or cell(free_cells(request)[0])) as endpoint:
        output = noughts(
            f"match 'llm{{model=m,url={endpoint.url}}}:' random --games 2 --time 5/move --format json"
        ).stdout
    document = json.loads(output)
    assert not {"timeout", "resigned"} & set(document["terminations"])
    assert [(row["waits"], row["waited_s"]) for row in document["models"]] == [(1, 6.0)]


@pytest.mark.long
def test_the_wait_is_added_to_the_time_margin(noughts: Any) -> None:
    # The first request gets no answer within its timeout of 7 s, then the model waits up to 1 s and asks again: without
    # --margin the move would be late.
    first_replies = iter([Reply("late", seconds=9)])
    with model_endpoint(m=lambda request: next(first_replies, None) or cell(free_cells(request)[0])) as endpoint:
        spec = f"'llm{{model=m,url={endpoint.url},timeout=7,wait=1}}:'"
        output = noughts(f"match {spec} random --games 2 --time 5/move --margin 30 --format json").stdout
    assert "timeout" not in json.loads(output)["terminations"]


def test_a_dry_run_sends_no_request(noughts: Any) -> None:
    with model_endpoint() as endpoint:
        output = noughts(f"match 'llm{{model=m,url={endpoint.url}}}:' random --dry-run").stdout
    assert endpoint.requests == []
    assert "because it would send requests to an endpoint" in output
