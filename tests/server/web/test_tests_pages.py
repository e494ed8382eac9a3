"""Pages of tests of bot versions: the queue, the live page of a test, and the feed of decided tests."""

from typing import Any
from xml.etree import ElementTree

import grpc
import pytest
from playwright.sync_api import Browser, expect

from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import tests_pb2, tests_pb2_grpc, tournaments_pb2
from noughts_server.testing import ServerUnderTest
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes
ATOM = "{http://www.w3.org/2005/Atom}"


def register_bots(server: ServerUnderTest) -> str:
    """Return the token of mia, whose bots are offline."""
    token = server.token("mia")
    with in_other_thread(
        bots_online(server.address, token, **{"mia-new": "minimax", "mia-old": "random", "mia-away": "random"})
    ):
        return token


def create_test(server: ServerUnderTest, token: str, name: str, base: str, **settings: Any) -> None:
    tournament = tournaments_pb2.Tournament(variant="mnk:4,4,3", **settings)
    test = tests_pb2.Test(name=f"tests/{name}", new_version="bots/mia-new", base_version=base, tournament=tournament)
    with grpc.insecure_channel(server.address) as channel:
        request = tests_pb2.CreateTestRequest(test=test)
        tests_pb2_grpc.TestServiceStub(channel).CreateTest(request, metadata=((TOKEN_KEY, f"Bearer {token}"),))


def test_queue_and_page_follow_a_test_to_its_decision(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    assert "<span>mybot@2</span> <span>mybot@1</span>" in site.get("/tests").text
    token = register_bots(server)
    # The bots are offline, so that no game begins before the pages are open.
    create_test(server, token, "waiting", "bots/mia-away", sprt="elo0=0,elo1=5")
    create_test(
        server, token, "faster", "bots/mia-old", title="Faster", sprt="elo0=0,elo1=60", priority=5, throughput=300
    )
    with page_in(browser, site.address) as page:
        page.goto("/tournaments")
        page.get_by_role("link", name="Version tests", exact=True).click()
        rows = page.get_by_role("region", name="Running").locator("tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.nth(0)).to_contain_text("300 %")
        expect(rows.nth(1)).to_contain_text("mia-new@1 against mia-away@1")
        rows.nth(0).get_by_role("link").click()
        expect(page).to_have_url(f"{site.address}/tournaments/faster")
        expect(page.get_by_text("with priority 5 and share 300 %")).to_be_visible()
        expect(page.get_by_role("heading", name="Not decided yet")).to_be_visible()
        with in_other_thread(bots_online(server.address, token, **{"mia-new": "minimax:depth=2", "mia-old": "random"})):
            expect(page.get_by_role("heading", name="is stronger")).to_be_visible()
        page.get_by_text("Details", exact=True).click()
        expect(page.get_by_role("group", name="LLR over pairs of games").locator("svg")).to_be_visible()
        page.goto("/tests")
        expect(page.get_by_role("region", name="Decided and stopped").locator("tbody tr")).to_contain_text(
            "gain proven"
        )
        expect(rows).to_have_count(1)
    feed = ElementTree.fromstring(site.get("/tests.atom").text)
    (entry,) = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "Faster: gain proven"
    assert entry.findtext(f"{ATOM}id") == f"{site.address}/tests/faster"


def test_page_of_a_test_says_that_its_openings_are_too_few(server: ServerUnderTest, site: Site) -> None:
    openings = tournaments_pb2.Openings(kind="random", plies=2)
    create_test(server, register_bots(server), "few", "bots/mia-away", sprt="elo0=0,elo1=5", openings=openings)
    page = site.get("/tournaments/few").text
    assert "The openings random:2 are about " in page
    assert "Fix: --openings random:" in page
    details = site.get("/api/v1/tests/few").document["tournament"]["match_details"]
    assert details["advice"].startswith("The openings random:2 are about ")
