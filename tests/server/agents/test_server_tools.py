"""The tools that call one method of the server, over HTTP and over pipes."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from noughts_server.testing import ServerUnderTest
from tests.support.agents import Agent, ToolFailed, agent_over_http, agent_over_pipes
from tests.support.background import bots_online
from tests.support.patience import PATIENCE
from tests.support.root import ROOT

READING_TOOLS: dict[str, dict[str, Any]] = {
    "get_status": {},
    "list_tournaments": {},
    "get_tournament": {"tournament": "CUP"},
    "get_crosstable": {"tournament": "CUP"},
    "list_seasons": {"tournament": "CUP"},
    "list_games_of_tournament": {"tournament": "CUP", "result": "1-0"},
    "get_game": {"tournament": "CUP", "number": 1},
    "list_tests": {"state": "running"},
    "list_bots": {"online_only": False, "page_size": 1},
    "get_bot": {"bot": "pascal"},
    "list_games_of_bot": {"bot": "bots/pascal"},
    "list_bot_ratings": {"bot": "pascal"},
    "get_rating_history": {"bot": "pascal", "variant": "tictactoe", "time_class": "untimed"},
    "get_head_to_head": {"bot": "pascal", "opponent": "random"},
    "get_bot_statistics": {"bot": "pascal"},
    "list_rating_lists": {},
    "get_leaderboard": {"variant": "tictactoe", "time_class": "untimed"},
    "get_batch_ratings": {"variant": "tictactoe", "time_class": "untimed"},
    "get_opening_moves": {"variant": "tictactoe", "time_class": "untimed", "moves": [4, 0]},
}
"""Arguments of a call of each reading tool; "CUP" stands for the name of the match."""


async def name_of_match(agent: Agent) -> str:
    listed = (await agent.call("list_tournaments"))["tournaments"]
    return next(str(tournament["name"]) for tournament in listed if tournament["title"] == "pascal - random")


async def wait_until_all_games_are_judged(agent: Agent) -> None:
    """Wait: the server judges the moves of a game some time after the game has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            rows = (await agent.call("get_leaderboard", variant="tictactoe", time_class="untimed"))["rows"]
            if all(row["judged_games"] == row["games"] for row in rows):
                return
            await asyncio.sleep(0.05)


async def read_all(agent: Agent) -> dict[str, Any]:
    tournament = await name_of_match(agent)
    answers = {}
    for tool, arguments in READING_TOOLS.items():
        named = {name: tournament if value == "CUP" else value for name, value in arguments.items()}
        answers[tool] = await agent.call(tool, **named)
    return answers


async def test_every_reading_tool_answers_over_both_transports(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url) as agent:
        tools = await agent.tools()
        await wait_until_all_games_are_judged(agent)
        over_http = await read_all(agent)
    async with agent_over_pipes(server.address, server.token()) as agent:
        assert await agent.tools() == tools
        assert {**await read_all(agent), "get_status": {}} == {**over_http, "get_status": {}}
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} >= {*READING_TOOLS, "get_test"}
    destructive_tools = {name for name, tool in tools.items() if tool.annotations.destructive_hint}
    assert destructive_tools == {"cancel_tournament", "withdraw_tournament", "stop_repeating"}
    assert over_http["get_tournament"]["games_done"] == 8
    assert [game["result"] for game in over_http["list_games_of_tournament"]["games"]].count("1-0") > 0


async def test_clients_of_the_older_protocol_are_served(url: str) -> None:
    async with agent_over_http(url, mode="legacy") as agent:
        assert (await agent.call("get_bot", bot="random"))["name"] == "bots/random"


async def test_the_documentation_names_every_tool(url: str) -> None:
    page = (ROOT / "docs" / "how-to" / "agents.md").read_text(encoding="utf-8")
    table = page.split("## Tools")[1].split("## Improve")[0]
    async with agent_over_http(url) as agent:
        tools = await agent.tools()
    assert set(re.findall(r"`([a-z]+_[a-z_]+|play)`", table)) - {"next_page_token", "page_token"} == {*tools}
    assert all(tool.description for tool in tools.values())


async def test_tools_describe_themselves_and_their_arguments(url: str) -> None:
    async with agent_over_http(url) as agent:
        tools = await agent.tools()
    tool = tools["list_games_of_tournament"]
    assert tool.description == "List the games of a tournament that are over, in numerical order."
    assert tool.input_schema["required"] == ["tournament"]
    (results, _) = tool.input_schema["properties"]["result"]["anyOf"]
    assert results["enum"] == ["1-0", "1/2-1/2", "0-1", "*"]
    assert [*tools["join_tournament"].input_schema["properties"]] == ["tournament", "bot", "label"]
    assert [*tools["list_games_of_bot"].input_schema["properties"]][-3:] == ["result", "termination", "won"]


async def test_every_argument_has_a_description(url: str) -> None:
    async with agent_over_http(url) as agent:
        tools = await agent.tools()
    without_description = [
        (tool_name, name)
        for tool_name, tool in tools.items()
        for name, schema in tool.input_schema["properties"].items()
        if not schema.get("description")
    ]
    assert without_description == []


@pytest.mark.parametrize(
    "tool, arguments, expected",
    [
        ("get_tournament", {"tournament": "none"}, "tournaments/none does not exist. Fix: `list_tournaments` shows"),
        ("withdraw_tournament", {"tournament": "none"}, "label"),
        (
            "list_games_of_bot",
            {"bot": "pascal", "opponent": "none"},
            "bots/none does not exist. Fix: `list_bots` shows",
        ),
        (
            "get_leaderboard",
            {"variant": "tictactoe", "time_class": "x"},
            "time_class: got 'x', expected one of untimed",
        ),
        ("get_bot", {}, "Field required"),
        ("get_bot", {"bot": "pascal", "colour": "red"}, "colour"),
        ("list_bots", {"page_size": 2**40}, "less than"),
        ("create_tournament", {"tournament": "t", "time": "soon"}, "time 'soon'"),
        ("create_tournament", {"tournament": "A cup"}, "tool create_tournament: tournament: got 'A cup'"),
        ("create_tournament", {"tournament": "t", "rounds": 3}, "tool create_tournament: rounds: got '3'"),
        ("start_tournament", {"tournament": "none"}, "does not exist"),
    ],
)
async def test_errors_say_what_is_wrong_and_what_to_do(
    server: ServerUnderTest, url: str, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    async with agent_over_http(url, server.token("ada")) as ada:
        with pytest.raises(ToolFailed) as failed:
            await ada.call(tool, **arguments)
    assert expected in str(failed.value)


@pytest.fixture
def token_of_two_bots(server: ServerUnderTest) -> Iterator[str]:
    """A token of ada, whose bots `one` and `two` are online."""
    token = server.token("ada")
    with bots_online(server.address, token, one="random", two="random"):
        yield token


async def test_tournaments_and_tests_are_organised_by_tools(url: str, token_of_two_bots: str) -> None:
    async with agent_over_http(url, token_of_two_bots) as ada:
        cup = {"tournament": "spring"}
        made = await ada.call(
            "create_tournament", **cup, title="Spring", variant="mnk:5,5,4", time="60+0.5", schedule="round_robin",
            games_per_pair=4, rated=False,
        )  # fmt: skip
        tournament = made["tournament"]
        assert tournament["title"] == "Spring"
        assert tournament["variant"] == "mnk:5,5,4"
        assert tournament["rated"] is False
        assert tournament["time"] == {"move_us": 0, "bank_us": 60_000_000, "increment_us": 500_000}
        assert (await ada.call("join_tournament", **cup, bot="one@1"))["bot_version"] == "bots/one/versions/1"
        await ada.call("withdraw_tournament", **cup, label="one")
        await ada.call("join_tournament", **cup, bot="bots/one", label="First")
        await ada.call("join_tournament", **cup, bot="two")
        await ada.call("start_tournament", **cup)
        await ada.until("get_tournament", "finished", **cup)
        with pytest.raises(ToolFailed, match="expected running"):
            await ada.call("pause_tournament", **cup)
        with pytest.raises(ToolFailed, match=r"`extend_tournament` opens it again.*and `start_tournament` resumes it"):
            await ada.call("join_tournament", **cup, bot="one")
        await ada.call("extend_tournament", **cup, games_per_pair=2)
        assert (await ada.until("get_tournament", "finished", **cup))["games_done"] == 6
        made = await ada.call("create_test", new_version="one", base_version="two@1", sprt="elo0=0,elo1=1")
        test = {"test": made["test"]["name"]}
        await ada.call("stop_test", **test)
        stopped = await ada.until("get_test", "paused", **test)
        assert stopped["tournament"]["sprt"] == "elo0=0,elo1=1"
        await ada.until("resume_test", "running", **test)
        await ada.call("pause_tournament", tournament=test["test"].replace("tests/", "tournaments/"))
        ended = await ada.call("cancel_tournament", tournament=test["test"].removeprefix("tests/"))
        assert ended["tournament"]["state"] == "cancelled"


async def test_tools_create_and_stop_a_weekly_league(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url, server.token("ada")) as ada:
        league = {"tournament": "thursdays"}
        made = await ada.call("create_tournament", **league, games_per_pair=2, repeat="weekly")
        assert (made["tournament"]["repeat"], made["tournament"]["season"]) == ("weekly", 1)
        listed = await ada.call("list_seasons", **league)
        assert (listed["repeat"], listed["stopped"], len(listed["seasons"])) == ("weekly", False, 1)
        stopped = await ada.call("stop_repeating", **league)
        assert (stopped["tournament"]["repeat"], stopped["tournament"]["state"]) == (None, "cancelled")
        assert (await ada.call("list_seasons", **league))["stopped"]
        await ada.call("create_tournament", tournament="once")
        with pytest.raises(ToolFailed, match="`create_tournament` with `repeat`"):
            await ada.call("stop_repeating", tournament="once")
        with pytest.raises(ToolFailed, match="repeat"):
            await ada.call("create_tournament", tournament="hourly", repeat="hourly")


async def test_each_caller_has_the_permissions_of_its_own_token(server: ServerUnderTest, url: str) -> None:
    tournament = "of-ada"
    async with agent_over_http(url, server.token("ada")) as ada:
        assert (await ada.call("create_tournament", tournament=tournament))["tournament"]["owner"] == "ada"
        async with agent_over_http(url, server.token("ben")) as ben:
            with pytest.raises(ToolFailed, match="is not yours"):
                await ben.call("cancel_tournament", tournament=tournament)
        async with agent_over_http(url) as guest:
            with pytest.raises(ToolFailed, match=r"the call has no token.*over HTTP the header `Authorization"):
                await guest.call("cancel_tournament", tournament=tournament)
        async with agent_over_http(url, "wrong token") as wrong:
            with pytest.raises(ToolFailed, match="Bearer TOKEN"):
                await wrong.call("get_bot", bot="random")
        assert (await ada.call("cancel_tournament", tournament=tournament))["tournament"]["state"] == "cancelled"


async def test_unreachable_server_is_reported_as_on_the_command_line() -> None:
    async with agent_over_pipes("127.0.0.1:1", "abc") as agent:
        for tool in ("get_status", "connect_player"):
            with pytest.raises(ToolFailed, match="cannot be reached"):
                await agent.call(tool, **({"bot": "agent"} if tool == "connect_player" else {}))


async def test_pages_of_other_hosts_and_large_requests_are_refused(url: str) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=headers) as http:
        for header in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            assert (await http.post(url, content=b"{}", headers=header)).status_code in (403, 421)
        assert (await http.post(url, content=b" " * (5 << 20))).status_code == 413
