"""Commands, website, API, agents and files show the standings of a tournament in one order, with the same ranks."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import agent_over_http, tools_over_http
from tests.support.background import server_in_thread
from tests.support.settings import repetitions
from tests.support.site import Site, site_of

NamesAndRanks = list[tuple[str, int]]
BOTS = "a=random b=random c=random d=first-free e=random f=random"


def page_names_and_ranks(
    site: Site, path: str, cell: str = r'<td class="number">(\d+)</td><th scope="row" title="([^"]+)"'
) -> NamesAndRanks:
    """Return the labels and ranks in the table of a page; `cell` matches the rank and then the label of a row."""
    return [(unescape(label), int(rank)) for rank, label in re.findall(cell, site.get(path).text)]


def names_and_ranks(rows: list[dict[str, Any]], name: str = "name") -> NamesAndRanks:
    return [(row[name], int(row["rank"])) for row in rows]


@pytest.mark.parametrize("seed", range(3, 3 + repetitions(1)))
@pytest.mark.parametrize(
    "schedule",
    [
        "swiss --rounds 3",
        pytest.param("round-robin", marks=pytest.mark.at_length),
        pytest.param("knockout", marks=pytest.mark.at_length),
    ],
)
def test_all_places_show_one_order_and_the_same_tie_breaks(
    tmp_path: Path, noughts: Any, schedule: str, seed: int
) -> None:
    database, report = tmp_path / "games.db", tmp_path / "report.html"
    run = noughts(f"tournament run {BOTS} --schedule {schedule} --seed {seed} --games 2 --db {database} --format json")
    expected = json.loads(run.stdout)["standings"]
    order, ties = names_and_ranks(expected), [row["tie_break"] for row in expected]
    # The tournament of the first seed has ties; those of thorough runs may have none.
    assert any(ties) or seed > 3
    with server_in_thread(f"sqlite:///{database}") as server, site_of(server) as site, tools_over_http(server) as tools:

        def ask(line: str) -> Any:
            return json.loads(noughts(f"{line} --server {server} --format json").stdout)

        (tournament,) = site.get("/api/v1/tournaments").document["tournaments"]
        name = tournament["name"].removeprefix("tournaments/")
        api_rows = site.get(f"/api/v1/tournaments/{name}").document["standings"]
        csv_text = site.get(f"/api/v1/tournaments/{name}?format=csv").text
        show_rows = ask(f"tournament show {name}")["standings"]
        watch_events = [
            json.loads(line) for line in noughts(f"watch {name} --server {server} --format json").stdout.splitlines()
        ]
        agent_rows = asyncio.run(_standings_of_agent(tools, name))
        noughts(f"report {database} -o {report}")
        orders = {
            "show": names_and_ranks(show_rows),
            "tables": names_and_ranks(ask(f"tournament tables {name}")["standings"]),
            "tables of the database": names_and_ranks(
                json.loads(noughts(f"tournament tables {database} --format json").stdout)["standings"]
            ),
            "api": names_and_ranks(api_rows, "label"),
            "csv": names_and_ranks(list(csv.DictReader(io.StringIO(csv_text))), "label"),
            "page": page_names_and_ranks(site, f"/tournaments/{name}?tab=standings"),
            "agents": names_and_ranks(agent_rows, "label"),
            "watch": names_and_ranks(_last_standings(watch_events)),
            "report": [
                (label, int(rank))
                for rank, label in re.findall(r"<td[^>]*>(\d+)</td><t[hd][^>]*>([a-f])</t[hd]>", report.read_text())
            ][: len(order)],
        }
        assert orders == dict.fromkeys(orders, order)
        assert [row["tie_break"] for row in api_rows] == [row["tie_break"] for row in show_rows] == ties
        winners = [label for label, rank in order if rank == 1]
        champion = re.search(r'<p class="champion">(.*?) <span', site.get(f"/tournaments/{name}").text)
        assert champion is not None
        assert re.findall(r">([a-f])</a>", champion[1]) == winners


async def _standings_of_agent(url: str, name: str) -> list[dict[str, Any]]:
    async with agent_over_http(url) as agent:
        answer = await agent.call("get_tournament", tournament=name)
        return list(answer["standings"])


def _last_standings(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last standings in the events of `noughts watch`."""
    all_standings = [list(document["standings"]) for document in _documents_with_standings(events)]
    return [standings for standings in all_standings if standings][-1]


def _documents_with_standings(value: Any) -> list[dict[str, Any]]:
    """Return all objects with standings in a document, however deeply nested."""
    if isinstance(value, list):
        return [tournament for item in value for tournament in _documents_with_standings(item)]
    if isinstance(value, dict) and "standings" in value:
        return [value]
    if isinstance(value, dict):
        return _documents_with_standings(list(value.values()))
    return []
