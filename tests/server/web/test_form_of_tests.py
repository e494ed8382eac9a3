"""The form that starts a test of a bot's version."""

import re

import grpc
import pytest
from playwright.sync_api import Browser, expect

from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import bots_pb2, bots_pb2_grpc
from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import choose
from tests.server.web.test_tests_pages import register_bots
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("scripts", [True, False])
def test_test_is_started_from_the_browser(server: ServerUnderTest, site: Site, browser: Browser, scripts: bool) -> None:
    token = register_bots(server)
    with page_in(browser, site.address, java_script_enabled=scripts) as page:
        page.goto("/tests")
        page.get_by_role("link", name="New test").click()
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("New bot", exact=True).select_option("mia-new")
        page.get_by_label("Against").select_option("mia-old")
        choose(page, re.compile("^Much stronger"))
        page.get_by_label("On the clock").fill("long")
        page.get_by_label("Title").fill(f"Scripts {scripts}")
        page.get_by_role("button", name="Start the test").click()
        expect(page.get_by_role("alert")).to_contain_text("Expected seconds")
        expect(page.get_by_label("Against")).to_have_value("mia-old")
        expect(page.get_by_label("Title")).to_have_value(f"Scripts {scripts}")
        page.get_by_label("On the clock").fill("")
        page.get_by_role("button", name="Start the test").click()
        expect(page.get_by_role("heading", name=f"Scripts {scripts}")).to_be_visible()
        expect(page.get_by_role("button", name="Cancel test")).to_be_visible()
    tests = site.get("/api/v1/tests").document["tests"]
    test = next(each for each in tests if each["tournament"]["title"] == f"Scripts {scripts}")
    assert (test["new_version"], test["base_version"]) == ("bots/mia-new/versions/1", "bots/mia-old/versions/1")
    assert test["tournament"]["sprt"] == "elo0=0,elo1=50"


@pytest.mark.parametrize(
    "fields, field, words",
    [
        ({"base": "mia-new"}, "base", "Expected a version other than the new one."),
        ({"base": "mia-old@9"}, "base", "There is no such version. Choose an existing version; the newest is 1."),
        ({"sprt": ""}, "games", "Expected a number of games, because no question ends the test."),
        ({"games": "some"}, "games", "Expected a whole number."),
        ({"sprt": "elo0=5,elo1=0"}, "sprt", "Expected one of the questions."),
    ],
)
def test_wrong_fields_of_a_test_are_explained(
    server: ServerUnderTest, site: Site, fields: dict[str, str], field: str, words: str
) -> None:
    token = register_bots(server)
    form = {"new": "mia-new", "base": "mia-old", "sprt": "elo0=0,elo1=5", "title": "Kept", **fields}
    answer = site.post("/organise/test", {"csrf": Visitor(token).csrf, **form}, cookie=f"noughts_token={token}")
    assert answer.status in (400, 404)
    assert words in answer.text.partition(f'id="wrong-{field}"')[2].partition("</span>")[0]
    assert 'value="Kept"' in answer.text


def test_form_of_a_test_proposes_the_version_before_and_usual_clocks(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    token = server.token("nia")
    with grpc.insecure_channel(server.address) as channel:
        for name, version in ("away", "1"), ("owl", "1"), ("owl", "2"), ("owl", "3"):
            register = bots_pb2.RegisterBotRequest(name=f"bots/nia-{name}", version=version)
            bots_pb2_grpc.BotServiceStub(channel).RegisterBot(register, metadata=((TOKEN_KEY, f"Bearer {token}"),))
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": token, "url": site.address}])
        page.goto("/organise/test")
        new, base = page.get_by_label("New bot", exact=True), page.get_by_label("Against")
        expect(new).to_have_value("nia-owl")
        expect(base).to_have_value("nia-owl@2")
        new.select_option(label="nia-owl, version 2 (offline)")
        expect(base).to_have_value("nia-owl@1")
        page.get_by_role("button", name="10 s + 0.1 s").click()
        expect(page.get_by_label("On the clock")).to_have_value("10")
        expect(page.get_by_label("Added after each move")).to_have_value("0.1")
        page.get_by_label("Title").fill("Versions")
        page.get_by_role("button", name="Start the test").click()
        expect(page.get_by_role("heading", name="Versions")).to_be_visible()
        page.goto("/organise/test?bot=nia-away")
        expect(new).to_have_value("nia-away")
        expect(base).to_have_value("nia-owl")
    tests = site.get("/api/v1/tests").document["tests"]
    test = next(each for each in tests if each["tournament"]["title"] == "Versions")
    assert (test["new_version"], test["base_version"]) == ("bots/nia-owl/versions/2", "bots/nia-owl/versions/1")


def test_test_of_a_token_that_cannot_organise_is_refused_on_the_form(server: ServerUnderTest, site: Site) -> None:
    register_bots(server)
    token = server.token("mia", "play")
    form = {"csrf": Visitor(token).csrf, "new": "mia-new", "base": "mia-old", "sprt": "elo0=0,elo1=5"}
    answer = site.post("/organise/test", form, cookie=f"noughts_token={token}")
    assert answer.status == 403
    assert "lacks the scope organise" in answer.text
    assert "New bot" in answer.text
