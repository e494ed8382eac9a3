"""Pages of tunings: the list, and the page of a tuning that follows its iterations."""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from playwright.sync_api import Browser, expect

from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import tunings_pb2 as pb
from noughts_proto.v1 import tunings_pb2_grpc
from noughts_server.testing import ServerUnderTest
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


class TuningWork:
    """A tuning, and a worker that reports made-up results."""

    def __init__(self, channel: grpc.Channel, token: str, name: str) -> None:
        self._stub = tunings_pb2_grpc.TuningServiceStub(channel)
        self._metadata = ((TOKEN_KEY, f"Bearer {token}"),)
        self._name = f"tunings/{name}"

    def create(self, iterations: int) -> None:
        parameters = [
            pb.TuningParameter(name="attack", start=14, low=0, high=60, step=3, rate=0.02, whole=True),
            pb.TuningParameter(name="defence", start=0.4, low=0, high=1.4, step=0.06, rate=0.02),
        ]
        tuning = pb.Tuning(
            name=self._name,
            bot="py{attack=$attack,defence=$defence}:mybot.py",
            parameters=parameters,
            iterations=iterations,
            games_per_iteration=32,
            seed=1,
            conditions={"variant": '"connect4"', "draw_after": "0", "openings": '{"kind": "random", "plies": 2}'},
        )
        self._stub.CreateTuning(pb.CreateTuningRequest(tuning=tuning), metadata=self._metadata)

    def play(self, iterations: int) -> None:
        """Play iterations of a bot that is best with attack 30 and defence 0.7."""
        for _ in range(iterations):
            request = pb.ClaimGamesRequest(name=self._name, worker="machine", pairs=16)
            games = self._stub.ClaimGames(request, metadata=self._metadata).games
            lead = sum(
                ((minus - best) / width) ** 2 - ((plus - best) / width) ** 2
                for plus, minus, best, width in zip(games.plus, games.minus, (30, 0.7), (10, 0.2), strict=True)
            )
            wins = min(max(round(16 + 8 * lead + (games.iteration * 7 % 5 - 2)), 0), 32)
            report = pb.ReportGamesRequest(name=self._name, claim=games.claim, wins=wins, losses=32 - wins)
            self._stub.ReportGames(report, metadata=self._metadata)


@contextmanager
def tuning_work(server: ServerUnderTest, name: str, iterations: int) -> Iterator[TuningWork]:
    with grpc.insecure_channel(server.address) as channel:
        work = TuningWork(channel, server.token("mia"), name)
        work.create(iterations)
        yield work


def test_page_of_a_tuning_follows_its_iterations(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    assert "There are no tunings yet." in site.get("/tunings").text
    with tuning_work(server, "attack", 60) as work, page_in(browser, site.address) as page:
        page.goto("/tests")
        page.get_by_role("link", name="Tunings", exact=True).click()
        row = page.get_by_role("row").filter(has_text="attack")
        expect(row).to_contain_text("0 of 60")
        row.get_by_role("link").click()
        expect(page).to_have_url(f"{site.address}/tunings/attack")
        expect(page.get_by_text("The first iteration is not complete yet.")).to_be_visible()
        expect(page.get_by_text("No machine plays for it now.")).to_be_visible()
        work.play(50)
        expect(page.get_by_text("50 of 60 iterations, 1,600 games, 1 worker now")).to_be_visible()
        curve = page.get_by_role("group", name="attack by iteration")
        expect(curve.locator("svg .line")).to_be_visible()
        expect(curve.locator("svg .band")).to_be_visible()
        work.play(10)
        expect(page.get_by_text("60 of 60 iterations, 1,920 games")).to_be_visible()
        expect(page.locator(".state")).to_have_text("finished")
    document = site.get("/api/v1/tunings/attack").document
    (attack, defence) = document["parameters"]
    assert attack["low95"] <= 30 <= attack["high95"]
    assert defence["low95"] <= 0.7 <= defence["high95"]
    assert "Connect Four" in site.get("/tunings/attack").text
    rows = site.get("/api/v1/tunings/attack/iterations?format=csv&page_size=1000").text.splitlines()
    assert len(rows) == 61
    assert rows[0] == "iteration,wins,draws,losses,values"
