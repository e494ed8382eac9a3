"""Language models of the contract's endpoint play at a server, and the table of their answers is right to the digit."""

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
RETHINKS = 2


class Models:
    """Three models that answer as their names say. They write down what they did, independently of Noughts."""

    def __init__(self) -> None:
        self.verdicts: dict[str, list[list[str]]] = {"good": [], "clumsy": [], "prose": []}
        """The limits of each question that the answers must get."""
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
        # It needs all its chances: prose, an occupied cell (if there is one), and then a legal one.
        taken = [f"{column}{row}" for column in "abc" for row in "321" if f"{column}{row}" not in free]
        if rethinks == 0:
            return Reply("MOVE: " + free[0]), "unparsable"
        if rethinks == 1 and taken:
            return Reply(tool=json.dumps({"move": taken[0]})), "illegal"
        return Reply(tool=json.dumps({"move": free[-1]})), "legal"


@pytest.fixture
def models() -> Models:
    return Models()


@pytest.fixture
def endpoint(models: Models) -> Iterator[ModelEndpoint]:
    def answering(name: str) -> Callable[[Request], Reply]:
        return lambda request: models.answer(name, request)

    with model_endpoint(**{name: answering(name) for name in models.verdicts}) as endpoint:
        yield endpoint


def specs(url: str) -> str:
    prices = f"input_price={float(PRICES[0])},output_price={float(PRICES[1])}"
    return (
        f"'llm{{model=good,url={url},{prices}}}:' 'llm{{model=clumsy,url={url},answer=tool,{prices}}}:'"
        f" 'llm{{model=prose,url={url},answer=text,scramble=on}}:'"
    )


def expected(models: Models, games: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the row of the table from what the model wrote down."""
    played = sum(name in (game["first"], game["second"]) for game in games)
    questions, tokens = models.verdicts[name], models.tokens[name]
    verdicts = [verdict for question in questions for verdict in question]
    given, made = (sum(column) for column in zip(*tokens, strict=True))
    cost = (given * PRICES[0] + made * PRICES[1]) / 1_000_000 / played
    return {
        "moves": len(questions),
        "first_try_legal": sum(question[0] == "legal" for question in questions) / len(questions),
        "rethinks": len(verdicts) - len(questions),
        "illegal": verdicts.count("illegal"),
        "unparsable": verdicts.count("unparsable"),
        "input_tokens_per_game": given / played,
        "output_tokens_per_game": made / played,
        "cost_per_game": None if name == "prose" else pytest.approx(float(cost), rel=1e-12),
        "waits": 0,
        "waited_s": 0,
    }


@pytest.mark.at_length
@pytest.mark.long
def test_models_and_reference_bots_play_at_a_server(
    ask: Ask, noughts: Any, server: str, token: str, models: Models, endpoint: ModelEndpoint, tmp_path: Path
) -> None:
    with bots_online(server, token, champion="minimax"):
        played = ask(f"tournament run bot:champion@1 random first-free {specs(endpoint.url)} --games 2")
    assert (played["state"], played["games"]) == ("finished", 30)
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    file = tmp_path / "games.jsonl"
    noughts(f"records convert {played['tournament']} {file}", env=env)
    games = [json.loads(line) for line in file.read_text().splitlines()]
    table = ask(f"tournament tables {played['tournament'].partition('/')[2]} --kind models")["models"]
    assert {row["name"] for row in table} == set(models.verdicts)
    accuracy = {row["bot"]: row for row in ask(f"records accuracy {file}")["bots"]}
    for row in table:
        judged = accuracy[row["name"]]
        assert row["decisions"] == judged["decisions"]
        assert row["accuracy"] == (pytest.approx(judged["accuracy"]) if judged["decisions"] >= 30 else None)
        facts = {key: row[key] for key in row if key not in ("rank", "name", "rating", "decisions", "accuracy")}
        assert facts == expected(models, games, row["name"]), row["name"]
        assert isinstance(row["rating"], int)
    # The server got the same moves as the models meant: each loss by an illegal move is of a model in prose.
    lost = [game["fault"]["bot"] for game in games if game["termination"] == "illegal_move"]
    assert lost == ["prose"] * 10
    # All verdicts follow from the record again.
    assert ask(f"records check {file}")["errors"] == []
    wrong = file.read_text().replace(r"verdict\":\"legal", r"verdict\":\"illegal", 1)
    file.write_text(wrong)
    checked = json.loads(noughts(f"records check {file} --format json", code=1).stdout)
    assert "got verdict illegal on" in checked["errors"][0]["error"]
    # Other bots can comment anything, and such comments are no records.
    good = json.loads(next(line for line in games if line.get("comments"))["comments"].popitem()[1])
    costs: list[str | int] = ["1", 10**400]
    odd = [{"9" * 5000: json.dumps(good)}, *({"0": json.dumps(good | {"cost": cost})} for cost in costs)]
    file.write_text(
        "".join(json.dumps({**games[0], "seed": place, "comments": each}) + "\n" for place, each in enumerate(odd))
    )
    assert json.loads(noughts(f"tournament tables {file} --kind models --format json").stdout)["models"] == []


@pytest.mark.long
def test_a_run_on_this_machine_ends_with_the_table(noughts: Any, models: Models, endpoint: ModelEndpoint) -> None:
    ran = noughts(f"tournament run {specs(endpoint.url)} random --games 2", env={"OPENAI_API_KEY": "sk-secret"})
    assert "Language models" in ran.stdout
    assert "legal at once" in ran.stdout
    document = json.loads(noughts(f"match {specs(endpoint.url).split(' ')[0]} random --format json").stdout)
    assert [row["first_try_legal"] for row in document["models"]] == [1.0]
    # A local endpoint gets no key unless its spec names one.
    assert "sk-secret" not in ran.stdout + ran.stderr


@pytest.mark.long
def test_waits_for_the_endpoint_lose_no_game_with_a_time_limit(noughts: Any) -> None:
    busy = iter([Reply(status=429, headers={"retry-after": "6"})])
    with model_endpoint(m=lambda request: next(busy, None) or cell(free_cells(request)[0])) as endpoint:
        told = noughts(
            f"match 'llm{{model=m,url={endpoint.url}}}:' random --games 2 --time 5/move --format json"
        ).stdout
    document = json.loads(told)
    assert not {"timeout", "resigned"} & set(document["terminations"])
    assert [(row["waits"], row["waited_s"]) for row in document["models"]] == [(1, 6.0)]


@pytest.mark.long
def test_the_wait_is_added_to_the_time_margin(noughts: Any) -> None:
    # The first request takes 7 s, and after it the model waits 1 s.
    busy = iter([Reply("late", seconds=9)])
    with model_endpoint(m=lambda request: next(busy, None) or cell(free_cells(request)[0])) as endpoint:
        spec = f"'llm{{model=m,url={endpoint.url},timeout=7,wait=1}}:'"
        told = noughts(f"match {spec} random --games 2 --time 5/move --margin 30 --format json").stdout
    assert "timeout" not in json.loads(told)["terminations"]


def test_a_dry_run_sends_no_request(noughts: Any) -> None:
    with model_endpoint() as endpoint:
        told = noughts(f"match 'llm{{model=m,url={endpoint.url}}}:' random --dry-run").stdout
    assert endpoint.requests == []
    assert "because it would send requests to an endpoint" in told
