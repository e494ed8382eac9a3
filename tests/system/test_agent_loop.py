"""An agent with only an address and a token writes a bot, learns why it loses, and submits a better version."""

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import TIME_LIMIT_STEP, Agent, agent_over_http
from tests.support.processes import environment, first_line, json_of, started

pytestmark = [pytest.mark.timeout(300), pytest.mark.at_length]

FIRST_VERSION = """from noughts_bots import Bot


class Mine(Bot):
    def choose(self, position):
        return position.free[0]
"""


async def improve(url: str, token: str) -> dict[str, Any]:
    """Follow docs/how-to/agents.md as an agent, and return the finished test of the second version."""
    async with agent_over_http(url, token) as agent:
        return await improve_with(agent)


async def improve_with(agent: Agent) -> dict[str, Any]:
    rules = await agent.call("show_position", variant="tictactoe")
    assert (rules["size"], rules["line_lengths"]) == ([3, 3, 1], [3])

    async def submit(source: str) -> str:
        check = await agent.call("check_bot", content=source, variant="tictactoe")
        assert check["faults"] == []
        assert {step["name"] for step in check["steps"] if step["outcome"] == "failed"} <= {TIME_LIMIT_STEP}
        submission = await agent.call("submit_bot", bot="mine", content=source)
        return str(submission["bot_version"])

    first = await submit(FIRST_VERSION)
    await agent.call("create_tournament", tournament="trial", variant="tictactoe", games_per_pair=2)
    for bot in ("mine", "rival"):
        await agent.call("join_tournament", tournament="trial", bot=bot)
    await agent.call("start_tournament", tournament="trial")
    await agent.until("get_tournament", "finished", tournament="trial")
    lost_games = await agent.call("list_games_of_tournament", tournament="trial", entry="mine", won=False)
    lost_number = lost_games["games"][0]["name"].rpartition("/")[2]
    explanation = await agent.call("explain_game", tournament="trial", number=int(lost_number))
    turn = explanation["turns"][-1]
    assert (turn["bot"], turn["after"], turn["exact"]) == ("mine", "loss", True)
    assert turn["better"]
    assert f"(mine) played {turn['move']} and turned a" in explanation["text"]

    project = await agent.call("new_bot", name="mine")  # it wins if it can and blocks if it must
    second = await submit(project["bot.py"])
    assert (first, second) == ("bots/mine/versions/1", "bots/mine/versions/2")
    test = await agent.call("create_test", new_version="mine@2", base_version="mine@1", sprt="elo0=0,elo1=200")
    return await agent.until("get_test", "finished", test=test["test"]["name"])


def test_an_agent_improves_its_bot_through_tools_alone(tmp_path: Path) -> None:
    server_env = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    with ExitStack() as stack:
        serving = "serve --listen 127.0.0.1:0 --no-web --accept py --format json"
        address = json.loads(first_line(stack.enter_context(started(serving.split(), server_env))))["grpc"]
        token = json_of("token create --owner ada --scope play --scope submit --scope organise", server_env)["token"]
        env = {**server_env, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        rival = stack.enter_context(started(["bot", "run", "rival=minimax", "--format", "json"], env))
        assert "rival" in first_line(rival)
        tools = stack.enter_context(started(["mcp", "--listen", "127.0.0.1:0", "--format", "json"], env))
        url = json.loads(first_line(tools))["mcp"]
        test = asyncio.run(improve(url, token))
    assert test["tournament"]["match"]["sprt"]["decision"] == "H1"
