"""Agents that play games with tools."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from noughts_proto.security import Dialling
from noughts_server.agents.players import Players
from noughts_server.agents.tool_calls import Backend
from noughts_server.cli.explanations import explain
from noughts_server.testing import ServerUnderTest
from noughts_server.web.upstream import Failure, Upstream
from tests.support.agents import Agent, ToolFailed, agent_over_http, agent_over_pipes
from tests.support.background import bots_online


async def first_legal_cell(agent: Agent, state: dict[str, Any]) -> str:
    """Return the first legal cell of the position in which the player is to move."""
    return str((await agent.call("show_position", variant=state["variant"], moves=state["moves"]))["legal"][0])


async def play_all(agent: Agent, bot: str, games: int) -> list[dict[str, Any]]:
    """Play until this number of games have ended; return how each ended, as the tools report it."""
    state = await agent.call("wait_for_turn", bot=bot)
    ends = list(state["finished"])
    while len(ends) < games:
        if state["your_turn"]:
            state = await agent.call("play", bot=bot, move=await first_legal_cell(agent, state))
        else:
            state = await agent.call("wait_for_turn", bot=bot)
        ends += state["finished"]
    return ends


@pytest.fixture(scope="module")
def rival(server: ServerUnderTest) -> Iterator[str]:
    """The name of a bot that is online and accepts challenges."""
    with bots_online(server.address, server.token("eve"), rival="random"):
        yield "bots/rival"


@pytest.mark.parametrize("transport", ["http", "pipes"])
async def test_an_agent_plays_whole_games(server: ServerUnderTest, url: str, rival: str, transport: str) -> None:
    token, bot = server.token("ada"), f"agent-{transport}"
    async with agent_over_http(url, token) if transport == "http" else agent_over_pipes(server.address, token) as agent:
        assert (await agent.call("connect_player", bot=bot))["online"]
        challenge = await agent.call("create_challenge", challenger=bot, opponent=rival, games=2, time="300+1")
        ends = await play_all(agent, bot, 2)
        name = challenge["tournament"]["name"]
        assert [end["game"] for end in ends] == [f"{name}/games/1", f"{name}/games/2"]
        await agent.until("get_tournament", "finished", tournament=name)  # then all its games are stored
        stored = (await agent.call("get_game", tournament=name, number=1))["game"]
        outcome = {"1-0": "win", "0-1": "loss", "1/2-1/2": "draw"}[stored["result"]]
        assert (ends[0]["outcome"], len(ends[0]["moves"])) == (outcome, len(stored["moves"]))
        assert (await agent.call("disconnect_player", bot=bot))["online"] is False


async def test_a_turn_shows_the_board_the_moves_and_the_clocks(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url, server.token("ada")) as ada, agent_over_http(url, server.token("ben")) as ben:
        for agent, bot in ((ada, "of-ada"), (ben, "of-ben")):
            await agent.call("connect_player", bot=bot)
        await ada.call("create_challenge", challenger="of-ada", opponent="of-ben", games=1, time="60+1")
        state = await ada.call("wait_for_turn", bot="of-ada")
        assert (state["your_turn"], state["you"], state["moves"], state["opponent"]) == (True, "X", [], "of-ben")
        with pytest.raises(ToolFailed, match="move 'z9': expected a cell of the board"):
            await ada.call("play", bot="of-ada", move="z9")
        await ada.call("play", bot="of-ada", move="b2", seconds=0)
        with pytest.raises(ToolFailed, match="it is not the turn of of-ada"):
            await ada.call("play", bot="of-ada", move="a1")
        state = await ben.call("wait_for_turn", bot="of-ben")
        assert (state["you"], state["moves"], state["opponent"]) == ("O", ["b2"], "of-ada")
        assert state["board"] == ["3 . . .", "2 . X .", "1 . . .", "  a b c"]
        assert 0 < state["clocks_ms"]["you"] <= 60_000
        with pytest.raises(ToolFailed, match="b2 is taken"):
            await ben.call("play", bot="of-ben", move="b2")
        with pytest.raises(ToolFailed, match="of-ben is not connected as your player"):
            await ada.call("wait_for_turn", bot="of-ben")
        state = await ben.call("play", bot="of-ben", move="resign")
        assert [(end["outcome"], end["termination"]) for end in state["finished"]] == [("loss", "resigned")]
        state = await ada.call("wait_for_turn", bot="of-ada")
        assert [end["outcome"] for end in state["finished"]] == ["win"]
        no_turn: dict[str, Any] = {"your_turn": False, "game": None, "finished": []}
        assert await ada.call("wait_for_turn", bot="of-ada", seconds=0) == no_turn


async def test_a_player_needs_a_token_and_connects_once(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url) as guest:
        with pytest.raises(ToolFailed, match="the call has no token"):
            await guest.call("connect_player", bot="agent")
    async with agent_over_http(url, "wrong") as guest:
        with pytest.raises(ToolFailed, match=r"token is unknown. Fix: Check the token of this client"):
            await guest.call("connect_player", bot="agent")
    async with agent_over_http(url, server.token("ada")) as ada:
        for number in range(4):
            await ada.call("connect_player", bot=f"agent-{number}")
        with pytest.raises(ToolFailed, match="agent-1 is connected already"):
            await ada.call("connect_player", bot="agent-1")
        with pytest.raises(ToolFailed, match="at most 4 players of a token"):
            await ada.call("connect_player", bot="agent-4")
        await ada.call("disconnect_player", bot="bots/agent-1")
        await ada.call("connect_player", bot="agent-4")


async def test_a_waiting_call_reports_that_the_player_was_disconnected(server: ServerUnderTest, url: str) -> None:
    async with agent_over_http(url, server.token("ada")) as ada:
        await ada.call("connect_player", bot="leaving")

        async def wait() -> None:
            with pytest.raises(ToolFailed, match="leaving is not connected as your player"):
                await ada.call("wait_for_turn", bot="leaving", seconds=60)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(wait())
            await ada.call("wait_for_turn", bot="leaving", seconds=0)
            await ada.call("disconnect_player", bot="leaving")


async def test_an_idle_player_is_disconnected(server: ServerUnderTest) -> None:
    caller: Any = None  # the caller of a tool: only tools over HTTP look at it
    upstream = Upstream(server.address, Dialling())
    async with asyncio.TaskGroup() as tasks:
        players = Players(Backend(upstream, explain, server.token("ada")), tasks, idle=0.01)
        await players.connect_player(caller, "sleeper")
    with pytest.raises(Failure, match="sleeper is not connected"):
        await players.wait_for_turn(caller, "sleeper")
    await upstream.close()
