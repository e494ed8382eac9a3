"""Every place that shows the standings of a tournament shows them in one order, with the same ranks."""

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

Places = list[tuple[str, int]]
BOTS = "a=random b=random c=random d=first-free e=random f=random"


def page_rows(
    site: Site, path: str, cell: str = r'<td class="number">(\d+)</td><th scope="row" title="([^"]+)"'
) -> Places:
    """The ranks and labels in the table of a page."""
    return [(unescape(label), int(rank)) for rank, label in re.findall(cell, site.get(path).text)]


def places(rows: list[dict[str, Any]], name: str = "name") -> Places:
    return [(row[name], int(row["rank"])) for row in rows]


@pytest.mark.parametrize("seed", range(3, 3 + repetitions(1)))
@pytest.mark.parametrize(
    "schedule",
    ["swiss --rounds 3", *(pytest.param(each, marks=pytest.mark.at_length) for each in ("round-robin", "knockout"))],
)
def test_all_show_one_order_and_what_broke_its_ties(tmp_path: Path, noughts: Any, schedule: str, seed: int) -> None:
    database, report = tmp_path / "games.db", tmp_path / "report.html"
    run = noughts(f"tournament run {BOTS} --schedule {schedule} --seed {seed} --games 2 --db {database} --format json")
    expected = json.loads(run.stdout)["standings"]
    order, ties = places(expected), [row["tie_break"] for row in expected]
    assert any(ties) or seed > 3
    with server_in_thread(f"sqlite:///{database}") as server, site_of(server) as site, tools_over_http(server) as tools:

        def ask(line: str) -> Any:
            return json.loads(noughts(f"{line} --server {server} --format json").stdout)

        (listed,) = site.get("/api/v1/tournaments").document["tournaments"]
        name = listed["name"].removeprefix("tournaments/")
        api = site.get(f"/api/v1/tournaments/{name}").document["standings"]
        sheet = site.get(f"/api/v1/tournaments/{name}?format=csv").text
        shown = ask(f"tournament show {name}")["standings"]
        watched = [
            json.loads(line) for line in noughts(f"watch {name} --server {server} --format json").stdout.splitlines()
        ]
        found = asyncio.run(_tool(tools, name))
        noughts(f"report {database} -o {report}")
        seen = {
            "show": places(shown),
            "tables": places(ask(f"tournament tables {name}")["standings"]),
            "tables of the database": places(
                json.loads(noughts(f"tournament tables {database} --format json").stdout)["standings"]
            ),
            "api": places(api, "label"),
            "csv": places(list(csv.DictReader(io.StringIO(sheet))), "label"),
            "page": page_rows(site, f"/tournaments/{name}?tab=standings"),
            "agents": places(found, "label"),
            "watch": places(_last_standings(watched)),
            "report": [
                (label, int(rank))
                for rank, label in re.findall(r"<td[^>]*>(\d+)</td><t[hd][^>]*>([a-f])</t[hd]>", report.read_text())
            ][: len(order)],
        }
        assert seen == dict.fromkeys(seen, order)
        assert [row["tie_break"] for row in api] == [row["tie_break"] for row in shown] == ties
        winners = [label for label, rank in order if rank == 1]
        champion = re.search(r'<p class="champion">(.*?) <span', site.get(f"/tournaments/{name}").text)
        assert champion is not None
        assert re.findall(r">([a-f])</a>", champion[1]) == winners


async def _tool(url: str, name: str) -> list[dict[str, Any]]:
    async with agent_over_http(url) as agent:
        found = await agent.call("get_tournament", tournament=name)
        return list(found["standings"])


def _last_standings(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return next(each["standings"] for each in reversed(_tournaments(events)) if each["standings"])


def _tournaments(value: Any) -> list[dict[str, Any]]:
    """All objects with standings in a document."""
    if isinstance(value, list):
        return [found for each in value for found in _tournaments(each)]
    if isinstance(value, dict):
        return [value] if "standings" in value else [found for each in value.values() for found in _tournaments(each)]
    return []
