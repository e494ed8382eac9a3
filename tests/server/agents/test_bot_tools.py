"""Tools for authors of bots, and tools that read positions, documentation and games."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from mcp import MCPError

from noughts_server.testing import ServerUnderTest
from noughts_server.web import handbook
from tests.support.agents import (
    TIME_LIMIT_STEP,
    Agent,
    ToolFailed,
    agent_over_http,
    agent_over_pipes,
    serve_tools,
    tools_over_http,
)
from tests.support.client import client_of


async def test_a_new_bot_passes_the_check(server: ServerUnderTest) -> None:
    async with agent_over_pipes(server.address, "") as agent:
        files = await agent.call("new_bot", name="my-bot")
        checked = await agent.call("check_bot", content=files["bot.py"])
        assert (checked["faults"], checked["games"]) == ([], 10)
        assert len(checked["steps"]) > 25
        assert {step["name"] for step in checked["steps"] if step["outcome"] == "failed"} <= {TIME_LIMIT_STEP}
        assert "bot.js" in await agent.call("new_bot", name="my-bot", language="node")


async def test_check_explains_why_a_file_is_not_a_bot_and_runs_it_sandboxed(server: ServerUnderTest) -> None:
    errors = {
        "print(1)": "bot 'py:bot.py': got 0 classes that are bots",
        "import socket\nsocket.create_connection(('127.0.0.1', 1))": "PermissionError",
        "open('/etc/passwd')": "PermissionError",
        "AGFzbQEAAAA=": "no export 'noughts_bot'",
        "UEsDBA==": "expected Python source, or a WebAssembly module as base64",
    }
    async with agent_over_pipes(server.address, "") as agent:
        for content, reason in errors.items():
            with pytest.raises(ToolFailed, match=reason):
                await agent.call("check_bot", content=content)
        with pytest.raises(ToolFailed, match=r"Fix: Write `class Mine.Bot.`, or pass the name of the class as `entry`"):
            await agent.call("check_bot", content="print(1)")
        with pytest.raises(ToolFailed, match="tool check_bot: variant 'chess': expected one of"):
            await agent.call("check_bot", content=(await agent.call("new_bot", name="mine"))["bot.py"], variant="chess")


async def test_over_http_running_code_needs_a_token_with_scope_submit(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url) as guest:
        with pytest.raises(ToolFailed, match="token"):
            await guest.call("check_bot", content="print(1)")
    async with agent_over_http(url, server.token("ada")) as ada:
        with pytest.raises(ToolFailed, match="the token lacks the scope `submit`"):
            await ada.call("check_bot", content="print(1)")
        with pytest.raises(ToolFailed, match="the token lacks the scope `submit`"):
            await ada.call("submit_bot", bot="mine", content="print(1)")


async def test_positions_are_shown_with_the_rules_of_their_variant(url: str) -> None:
    async with agent_over_http(url) as agent:
        position = await agent.call("show_position", variant="tictactoe", moves=["a1", 3, "b1", 4, "c1"])
        assert (position["result"], position["to_move"], position["legal"]) == ("1-0", None, [])
        assert position["board"] == ["3 . . .", "2 O O .", "1 X X X", "  a b c"]
        position = await agent.call("show_position", variant="tictactoe3d")
        assert (position["size"], position["board"][0], len(position["legal"])) == ([3, 3, 3], "layer 1", 27)
        (rules,) = (await agent.client.read_resource("noughts://rules/connect4")).contents
        assert '"size": [7, 6, 1], "gravity": true, "line_lengths": [4]' in getattr(rules, "text", "")
        with pytest.raises(MCPError, match="chess"):
            await agent.client.read_resource("noughts://rules/chess")
        with pytest.raises(ToolFailed, match="'d2', number 1, is not legal there"):
            await agent.call("show_position", variant="connect4", moves=["d2"])
        with pytest.raises(ToolFailed, match="variant 'chess': expected one of"):
            await agent.call("show_position", variant="chess")


@pytest.fixture
def url_with_docs(server: ServerUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of tools that have a built documentation of one page."""
    (tmp_path / "how-to").mkdir()
    for path, text in {
        "index.html": "<p>",
        "llms.txt": "# Noughts\n",
        "how-to/agents.md": "# Tools for agents\n",
    }.items():
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(handbook, "FOLDER", tmp_path)
    handbook.contents.cache_clear()
    with tools_over_http(server.address) as url:
        yield url
    handbook.contents.cache_clear()


async def test_the_documentation_is_read_by_tool_and_as_resources(url_with_docs: str) -> None:
    async with agent_over_http(url_with_docs) as agent:
        templates = (await agent.client.list_resource_templates()).resource_templates
        assert {template.uri_template for template in templates} == {
            "noughts://docs/{+page}",
            "noughts://rules/{variant}",
        }
        assert [resource.name for resource in (await agent.client.list_resources()).resources] == ["pages"]
        assert "# Noughts" in str((await agent.client.read_resource("noughts://docs/llms.txt")).contents)
        (content,) = (await agent.client.read_resource("noughts://docs/how-to/agents.md")).contents
        assert getattr(content, "text", "") == "# Tools for agents\n"
        with pytest.raises(MCPError, match="unknown"):
            await agent.client.read_resource("noughts://docs/index.html")
        assert (await agent.call("read_docs"))["text"] == "# Noughts\n"
        assert (await agent.call("read_docs", page="/docs/how-to/agents.md"))["text"] == "# Tools for agents\n"
        with pytest.raises(ToolFailed, match="unknown"):
            await agent.call("read_docs", page="index.html")


async def test_games_are_found_by_the_name_that_other_tools_return(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url, server.token("ada")) as agent:
        (cup,) = {tournament["name"] for tournament in (await agent.call("list_tournaments"))["tournaments"]}
        games = (await agent.call("list_games_of_tournament", tournament=cup))["games"]
        name = games[0]["name"]
        for tool in ("get_game", "explain_game"):
            game = await agent.call(tool, game=name)
            assert game == await agent.call(tool, tournament=cup, number=1)
            assert game == await agent.call(tool, game=name.removeprefix("tournaments/"))
            with pytest.raises(ToolFailed, match=r"game 'cup': expected a name as in answers"):
                await agent.call(tool, game="cup")
            with pytest.raises(ToolFailed, match=r"game: expected its name, e\.g\. tournaments/spring/games/7, or"):
                await agent.call(tool, tournament=cup)


async def test_checks_of_one_owner_run_one_after_the_other(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client, AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_tools(client.server.address, ()))
        tokens = [await client.token(owner, "submit") for owner in ("eve", "eve", "bob")]
        first, second, bob = [await stack.enter_async_context(agent_over_http(url, token)) for token in tokens]

        async def check(agent: Agent, content: str) -> None:
            with pytest.raises(ToolFailed, match="got 0 classes that are bots"):
                await agent.call("check_bot", content=content)

        async with asyncio.TaskGroup() as tasks:
            slow_checks = [tasks.create_task(check(agent, "import time\ntime.sleep(6)")) for agent in (first, second)]
            await asyncio.sleep(1)  # by now the server has received both calls of eve
            await check(bob, "print(1)")
            assert not all(check.done() for check in slow_checks)
