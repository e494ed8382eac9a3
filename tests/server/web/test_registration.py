"""Newcomers register on the website, and see the first game of their bot; the operator manages invitations there."""

import asyncio
import json
import os
import queue
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from noughts_bots import Bot, Position
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import status_pb2
from noughts_server.core.limits import Limits
from noughts_server.core.proof_of_work import leading_zero_bits, solve
from noughts_server.core.registration import Registration
from noughts_server.store.engine.database import Store
from noughts_server.store.people.invitations import create_invitation
from noughts_server.store.people.tokens import create_token
from noughts_server.web.signin import Visitor
from noughts_server.web.upstream import Failure, Upstream
from tests.server.web.test_every_page import accessibility_errors
from tests.server.web.test_organising import in_other_thread
from tests.support.arena import NOW
from tests.support.background import bots_online, server_in_thread
from tests.support.browser import page_in
from tests.support.command_line import invoke
from tests.support.databases import make_file, url_of
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes

BITS = 12


class Registering(NamedTuple):
    """A site at which newcomers can register."""

    site: Site
    server: str
    secret: str
    """The secret of an invitation for many."""
    admin: str
    alice: str

    @property
    def link(self) -> str:
        return f"{self.site.address}/invite#{self.secret}"


def _prepared(path: Path) -> tuple[str, str, str]:
    """Make a database with an invitation, and return its secret and the tokens of an admin and of alice."""
    make_file(path)

    async def prepare() -> tuple[str, str, str]:
        store = await Store.open(url_of(path))
        try:
            invite = partial(create_invitation, scopes=("play", "submit"), uses=100, now_ms=NOW)
            new = partial(create_token, now_ms=NOW)
            created = await store.write(invite)
            admin = await store.write(partial(new, owner="boss", scopes=("admin",)))
            alice = await store.write(partial(new, owner="alice"))
            return created.secret, admin.secret, alice.secret
        finally:
            await store.close()

    with ThreadPoolExecutor(1) as pool:  # playwright's event loop can run in this thread
        return pool.submit(asyncio.run, prepare()).result(PATIENCE)


@pytest.fixture(scope="module")
def server() -> None:
    """Each test uses the server of `registering`."""


@pytest.fixture(scope="module")
def registering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registering]:
    path = tmp_path_factory.mktemp("registering") / "x.sqlite"
    secret, admin, alice = _prepared(path)
    limits = Limits(proof_bits=BITS, registration_attempts=1_000, registrations=100)
    with (
        server_in_thread(url_of(path), registration=Registration.OPEN, limits=limits) as server,
        site_of(server) as site,
    ):
        yield Registering(site, server, secret, admin, alice)


def token_in(text: str) -> str:
    """The token that a page shows."""
    found = re.search(r"nou_[\w-]{32}", text)
    assert found is not None
    return found[0]


def send_json(site: Site, body: str, **headers: str) -> tuple[int, Any]:
    """Send a body to the route on which newcomers register."""
    sent = {"content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(HTTPConnection(site.address.removeprefix("http://"), timeout=PATIENCE)) as connection:
        connection.request("POST", "/api/v1/registration", body, sent)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_newcomer_without_scripts_pastes_the_link(registering: Registering) -> None:
    site = registering.site
    page = site.get("/invite")
    assert page.headers["cache-control"] == "private, no-store"
    answer = site.post("/invite", {"name": "ada", "invitation": registering.link})
    assert (answer.status, answer.headers["cache-control"]) == (200, "private, no-store")
    token = token_in(answer.text)
    assert answer.headers["set-cookie"].startswith(f"noughts_token={token};")
    assert answer.text.count(token) == 1
    assert "My page" in answer.text  # the newcomer is signed in
    assert "--name ada" in answer.text
    assert f"curl -fsSO {site.address}/example-bots/bot.py &amp;&amp; python3 bot.py ada" in answer.text
    waiting = site.get("/me/first-game", cookie=f"noughts_token={token}").text
    assert "Waiting for your bot" in waiting
    assert '<meta http-equiv="refresh" content="3">' in waiting
    assert site.get("/me/first-game").headers["location"].startswith("/signin")


def test_author_without_a_token_is_led_to_the_registration(registering: Registering) -> None:
    site = registering.site
    assert site.get("/enter").headers["location"] == "/invite"
    assert '<a class="button main" href="/invite">Register</a>' in site.get("/signin").text


@pytest.mark.parametrize(
    "form, status, words",
    [
        ({"name": "bob", "invitation": "inv_" + "x" * 44}, 403, "invitation is unknown"),
        ({"name": "bob", "invitation": "nonsense"}, 403, "invitation is unknown"),
        ({"name": "Alice"}, 400, "look like alice"),
        ({"name": "аlice"}, 400, "2 to 32 characters"),
        ({"name": "admin"}, 400, "not reserved"),
        ({"name": ""}, 400, "2 to 32 characters"),
    ],
)
def test_refused_newcomer_reads_why_and_gets_no_cookie(
    registering: Registering, form: dict[str, str], status: int, words: str
) -> None:
    answer = registering.site.post("/invite", {"invitation": registering.secret, **form})
    assert (answer.status, "set-cookie" in answer.headers) == (status, False)
    assert words in answer.text


def test_example_bots_have_the_address_of_the_website(registering: Registering) -> None:
    site = registering.site
    files = ("bot.py", "bot.js", "bot.sh", "bot.go", "bot.rs", "Bot.java", "Bot.cs", "bot.rb")
    for name in files:
        answer = site.get(f"/example-bots/{name}")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/plain")
        assert site.address.removeprefix("http://") in answer.text
        assert "7480" not in answer.text
    assert site.get("/example-bots/other.py").status == 404


def test_form_of_another_site_registers_nobody(registering: Registering) -> None:
    form = {"name": "forged", "invitation": registering.secret}
    assert registering.site.post("/invite", form, sec_fetch_site="cross-site").status == 403
    body = json.dumps(form)
    assert send_json(registering.site, body, sec_fetch_site="cross-site")[0] == 403
    assert send_json(registering.site, body, content_type="text/plain")[0] == 415
    assert registering.site.get("/api/v1/bots?owner=forged").document["bots"] == []
    assert send_json(registering.site, body)[0] == 201


def test_programs_register_over_the_api(registering: Registering) -> None:
    site = registering.site
    status, answer = send_json(site, json.dumps({"name": "prog-1", "invitation": registering.secret}))
    assert (status, answer["token"]["owner"], answer["tournament"]) == (201, "prog-1", "")
    offer = site.get("/api/v1/registration").document
    assert (offer["mode"], offer["bits"]) == ("open", BITS)
    proof = {"challenge": offer["challenge"], "solution": solve(offer["challenge"], offer["bits"])}
    assert send_json(site, json.dumps({"name": "prog-2", "proof": proof}))[0] == 201
    status, replay = send_json(site, json.dumps({"name": "prog-3", "proof": proof}))
    assert (status, "not been solved" in replay["error"]["message"]) == (400, True)


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "1", '{"name": 1}', '{"nick": "ada"}', '{"name": "\\ud800"}', "[" * 5_000, '{"proof": {"x": []}}'],
)
def test_a_body_that_does_not_fit_is_refused(registering: Registering, body: str) -> None:
    status, answer = send_json(registering.site, body)
    assert (status, bool(answer["error"]["message"])) == (400, True)


def test_a_body_with_a_field_twice_is_refused(registering: Registering) -> None:
    status, answer = send_json(registering.site, '{"name": "one", "invitation": "x", "name": "two"}')
    assert status == 400
    assert answer["error"]["message"] == 'body: got the field "name" twice in one object, expected it once'


def test_join_command_registers_with_the_link_only(registering: Registering) -> None:
    joined = json.loads(invoke(["join", registering.link, "--name", "linked", "--format", "json"]).stdout)
    assert (joined["owner"], joined["token"][:4]) == ("linked", "nou_")
    assert invoke(["join", registering.site.address, "--name", "worker"]).stdout.startswith("nou_")
    assert "look like linked" in invoke(["join", registering.link, "--name", "Iinked"], code=1).stderr


class Waiting(Bot):
    """A bot whose moves come from a queue."""

    def __init__(self, moves: "queue.Queue[None]") -> None:
        super().__init__()
        self._moves = moves

    def choose(self, position: Position) -> int:
        self._moves.get(timeout=PATIENCE)
        return position.free[0]


def test_link_leads_to_the_first_game_live(registering: Registering, browser: Browser) -> None:
    site, cookie = registering.site, f"noughts_token={registering.alice}"
    form = {"csrf": Visitor(registering.alice).csrf, "id": "welcome", "schedule": "ladder", "rated": "on"}
    assert site.post("/organise", {**form, "bank": "", "increment": ""}, cookie=cookie).status == 303
    operator = f"noughts_token={registering.admin}"
    invite = {"csrf": Visitor(registering.admin).csrf, "uses": "1", "tournament": "welcome", "play": "on", "days": "1"}
    made = site.post("/invitations", invite, cookie=operator).text
    secret = re.findall(r"/invite#(inv_[\w-]+)", made)[0]
    requests: list[str] = []
    moves: queue.Queue[None] = queue.Queue()
    with (
        in_other_thread(bots_online(registering.server, registering.alice, champion=Waiting(moves))),
        page_in(browser, site.address) as page,
    ):
        join = {"csrf": Visitor(registering.alice).csrf, "bot": "bots/champion"}
        assert site.post("/tournaments/welcome/join", join, cookie=cookie).status == 303
        page.context.on("request", lambda request: requests.append(f"{request.url} {request.headers}"))
        page.goto(f"/invite#{secret}")
        expect(page.get_by_text("Your invitation is filled in.")).to_be_visible()
        assert secret not in page.url
        page.get_by_label("Your name").fill("grace")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("heading", name="Welcome, grace")).to_be_visible()
        token = token_in(page.content())
        with in_other_thread(bots_online(registering.server, token, grace=Waiting(moves))):
            assert "grace" in site.get("/tournaments/welcome").text
            start = {"csrf": Visitor(registering.alice).csrf}
            assert site.post("/tournaments/welcome/start", start, cookie=cookie).status == 303
            own = page.locator("[data-own-bot]")
            expect(own.locator(".board").first).to_be_visible()
            expect(page.locator("[data-state]")).to_have_text("grace is playing")
            expect(own.get_by_role("link", name="Watch it live")).to_have_attribute(
                "href", re.compile("^/tournaments/welcome/games/")
            )
            expect(own).to_contain_text("press Ctrl-C in its terminal")
            for _ in range(200):
                moves.put(None)
            # The page stays with the bot after its first game.
            expect(own.locator("ol.form li").first).to_be_visible()
            expect(own.get_by_role("link", name="Page of grace")).to_be_visible()
            assert token in page.content()
    eventually(
        lambda: site.get("/me/first-game", cookie=f"noughts_token={token}").text,
        lambda text: "after its first rated game" not in text and "Its program does not run." in text,
    )
    assert "<td><b>" in site.get("/me", cookie=f"noughts_token={token}").text  # its rating
    assert not [line for line in requests if secret in line]


def test_registration_that_the_server_does_not_answer_can_be_repeated(
    registering: Registering, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Upstream.ask

    async def ask_without_status(upstream: Upstream, method: Any, request: Any, token: str = "") -> Any:
        if isinstance(request, status_pb2.GetStatusRequest):
            raise Failure(503, "the server is busy")
        return await ask(upstream, method, request, token)

    form = {"name": "radia", "invitation": registering.secret}
    with monkeypatch.context() as patch:
        patch.setattr(Upstream, "ask", ask_without_status)
        assert registering.site.post("/invite", form).status == 503
    assert token_in(registering.site.post("/invite", form).text)


def test_commands_of_the_welcome_page_play_a_rated_game(registering: Registering, tmp_path: Path) -> None:
    site, cookie = registering.site, f"noughts_token={registering.alice}"
    csrf = {"csrf": Visitor(registering.alice).csrf}
    ladder = {"id": "minute", "schedule": "ladder", "variant": "connect4", "rated": "on", "bank": "", "increment": ""}
    assert site.post("/organise", csrf | ladder, cookie=cookie).status == 303
    rivals = {"rival-1": Random(), "rival-2": Random()}
    with in_other_thread(bots_online(registering.server, registering.alice, **rivals)):
        for rival in rivals:
            assert site.post("/tournaments/minute/join", csrf | {"bot": f"bots/{rival}"}, cookie=cookie).status == 303
        assert site.post("/tournaments/minute/start", csrf, cookie=cookie).status == 303
        boss = {"csrf": Visitor(registering.admin).csrf}
        invite = {"uses": "1", "tournament": "minute", "play": "on", "days": "1"}
        made = site.post("/invitations", boss | invite, cookie=f"noughts_token={registering.admin}").text
        link = re.findall(r"(http[^ ]*/invite#inv_[\w-]+)", made)[0]
        welcome = site.post("/invite", {"name": "sixty", "invitation": link}).text
        token, start, *_ = map(unescape, re.findall(r"<code data-copy>(.+?)</code>", welcome))
        # The machine of the tests need not have curl.
        download, run = start.split(" && ")
        address = download.removeprefix("curl -fsSO ")
        (tmp_path / address.rpartition("/")[2]).write_text(site.get(address.removeprefix(site.address)).text)
        with subprocess.Popen(["bash", "-c", f"{token}\n{run}"], cwd=tmp_path, start_new_session=True) as bot:
            try:
                (rating,) = eventually(lambda: site.get("/api/v1/bots/sixty/ratings").document.get("ratings"))
            finally:
                os.killpg(bot.pid, signal.SIGKILL)
    assert rating["row"]["games"] >= 1


def test_newcomer_reads_why_there_is_no_game_yet(registering: Registering) -> None:
    site, cookie = registering.site, f"noughts_token={registering.alice}"
    organise = {
        "csrf": Visitor(registering.alice).csrf,
        "id": "later",
        "schedule": "swiss",
        "bank": "",
        "increment": "",
    }
    assert site.post("/organise", organise, cookie=cookie).status == 303
    operator = f"noughts_token={registering.admin}"
    invite = {"csrf": Visitor(registering.admin).csrf, "uses": "1", "tournament": "later", "play": "on", "days": "1"}
    made = site.post("/invitations", invite, cookie=operator).text
    words = "has not started. There are no games in it until its organiser, alice, starts it."
    assert words in made
    secret = re.findall(r"/invite#(inv_[\w-]+)", made)[0]
    registered = site.post("/invite", {"name": "barbara", "invitation": secret}).text
    assert words in registered
    assert f'<a href="/tournaments/later">later</a> {words}' in registered
    token = token_in(registered)
    waiting = f"noughts_token={token}"
    assert words not in site.get("/me/first-game", cookie=waiting).text
    with in_other_thread(bots_online(registering.server, token, barbara=Random())):
        eventually(lambda: words in site.get("/me/first-game", cookie=waiting).text)
    made = site.post("/invitations", {**invite, "tournament": ""}, cookie=operator).text
    assert words not in made


def test_browser_computes_the_proof_of_work(registering: Registering, browser: Browser) -> None:
    with page_in(browser, registering.site.address) as page:
        page.goto("/invite")
        expect(page.get_by_label("Proof of work")).to_be_hidden()
        page.get_by_label("Your name").fill("edsger")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("heading", name="Welcome, edsger")).to_be_visible()


def test_browser_without_scripts_gets_the_command_and_sends_a_proof(registering: Registering, browser: Browser) -> None:
    with page_in(browser, registering.site.address, java_script_enabled=False) as page:
        page.goto("/invite")
        expect(page.get_by_role("main")).to_contain_text("noughts join")
        challenge = page.locator("[name=challenge]")
        bits = int(challenge.get_attribute("data-bits") or 0)
        page.get_by_label("Your name").fill("barbara-l")
        page.get_by_label("Proof of work").fill(solve(challenge.input_value(), bits))
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("heading", name="Welcome, barbara-l")).to_be_visible()


def test_worker_of_the_browser_hashes_as_python_does(registering: Registering, browser: Browser) -> None:
    with page_in(browser, registering.site.address) as page:
        page.goto("/invite")
        script = page.get_attribute("script[src$='invite.js']", "src")
        assert script is not None
        solution = page.evaluate(
            """(address) => new Promise((resolve) => {
                const worker = new Worker(address, { type: "module" });
                worker.onmessage = ({ data }) => resolve(data);
                worker.postMessage({ challenge: "a challenge", bits: 14 });
            })""",
            script.replace("invite.js", "work.js"),
        )
    assert solution == solve("a challenge", 14)
    assert leading_zero_bits("a challenge", solution) >= 14


def test_operator_creates_and_revokes_invitations_on_the_website(registering: Registering) -> None:
    site, cookie = registering.site, f"noughts_token={registering.admin}"
    csrf = Visitor(registering.admin).csrf
    form = {"csrf": csrf, "label": "club", "uses": "3", "days": "7", "play": "on", "tournament": ""}
    page = site.post("/invitations", form, cookie=cookie).text
    link = re.findall(rf"{site.address}/invite#inv_[\w-]{{44}}", page)
    assert len(link) == 1
    assert link[0].partition("#")[2] not in site.get("/invitations", cookie=cookie).text
    number = re.findall(r"/invitations/(\d+)/revoke", page)[0]
    assert site.post(f"/invitations/{number}/revoke", {"csrf": csrf}, cookie=cookie).status == 303
    refused = site.post("/invite", {"name": "late", "invitation": link[0]})
    assert (refused.status, "invitation is revoked" in refused.text) == (403, True)
    for wrong, words in (({"uses": "0"}, "whole number"), ({"tournament": "none"}, "none"), ({"play": ""}, "nothing")):
        answer = site.post("/invitations", {**form, **wrong}, cookie=cookie)
        assert (answer.status >= 400, words in answer.text) == (True, True), wrong
    assert site.post("/invitations", form).status == 303


def test_nobody_but_an_admin_sees_invitations(registering: Registering) -> None:
    cookie = f"noughts_token={registering.alice}"
    assert registering.site.get("/invitations", cookie=cookie).status == 403
    form = {"csrf": Visitor(registering.alice).csrf, "uses": "1", "play": "on"}
    assert registering.site.post("/invitations", form, cookie=cookie).status == 403
    assert 'href="/invitations"' not in registering.site.get("/me", cookie=cookie).text
    assert 'href="/invitations"' in registering.site.get("/me", cookie=f"noughts_token={registering.admin}").text


def test_site_without_encryption_registers_nobody(registering: Registering) -> None:
    with site_of(registering.server, host="0.0.0.0") as site:
        assert "without encryption" in site.get("/invite").text
        assert site.post("/invite", {"name": "x1", "invitation": registering.secret}).status == 405
        assert send_json(site, json.dumps({"name": "x1", "invitation": registering.secret}))[0] == 403


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[tuple[Site, str]]:
    """The site of a server that takes no registrations, and the secret of an invitation."""
    secret, _, _ = _prepared(tmp_path / "x.sqlite")
    served = queue.Queue[str](1)

    @contextmanager
    def serve() -> Iterator[None]:
        with server_in_thread(url_of(tmp_path / "x.sqlite")) as server:
            served.put(server)
            yield

    with in_other_thread(serve()), site_of(served.get()) as site:
        yield site, secret


def test_page_of_a_closed_server_says_so(closed: tuple[Site, str]) -> None:
    site, secret = closed
    assert "takes no registrations" in site.get("/invite").text
    status, answer = send_json(site, json.dumps({"name": "ada", "invitation": secret}))
    assert (status, "closed" in answer["error"]["message"]) == (409, True)


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_of_registration_can_be_read_on_any_screen(
    registering: Registering, browser: Browser, width: int
) -> None:
    site = registering.site
    with page_in(browser, site.address) as page:
        page.set_viewport_size(ViewportSize(width=width, height=900))
        page.goto(f"/invite#{registering.secret}")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert accessibility_errors(page) == []
        page.get_by_label("Your name").fill(f"wide-{width}-x")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
        for path in ("", "/me/first-game"):
            if path:
                page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert accessibility_errors(page) == []
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": registering.admin, "url": site.address}])
        page.set_viewport_size(ViewportSize(width=width, height=900))
        page.goto("/invitations")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert accessibility_errors(page) == []
