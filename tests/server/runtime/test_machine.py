"""A server measures the speed of its machine, and scales the times of games that ask for it."""

from pathlib import Path

import pytest
import structlog

from noughts_proto.v1.types_pb2 import TimeControl
from noughts_referee.machine_speed import machine_speed
from noughts_server.runtime.machine import known_speed
from tests.support.client import refusal_of
from tests.support.league_server import league_server_at


async def test_a_known_speed_is_not_measured_again() -> None:
    assert await known_speed(0.5) == 0.5
    assert await known_speed(None) == machine_speed()


@pytest.mark.parametrize("speed, logged", [(0.3, []), (10.0, [("speed_out_of_range", 0.25)])])
async def test_a_factor_outside_its_bounds_is_logged(speed: float, logged: list[tuple[str, float]]) -> None:
    with structlog.testing.capture_logs() as logs:
        await known_speed(speed)
    assert [(entry["event"], entry["time_factor"]) for entry in logs] == logged


async def test_games_of_a_server_have_the_factor_of_its_machine(tmp_path: Path) -> None:
    async with league_server_at(tmp_path, speed=0.5) as league:
        async with league.opponent("random") as one, league.opponent("first-free") as other:
            time = TimeControl(move_us=5_000_000)
            await league.start("scaled", one, other, time=time, scale_time=True)
            await league.start("usual", one, other, time=time)
            scaled, usual = await league.games("scaled"), await league.games("usual")
        assert {(game.time_factor, game.first_time.move_us) for game in scaled} == {(2.0, 5_000_000)}
        assert not any(game.HasField("time_factor") for game in usual)
        tournament = await league.until("scaled", lambda tournament: True)
        assert tournament.scale_time


async def test_a_tournament_without_clocks_cannot_scale_times(tmp_path: Path) -> None:
    async with league_server_at(tmp_path, speed=1.0) as league:
        refusal = await refusal_of(league.start("scaled", scale_time=True))
        assert "got no time limit" in refusal.status.message
