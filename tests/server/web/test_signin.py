"""Sign-in with a token, and actions that need it, tested without a browser."""

import re
from typing import Any

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor, place_after
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Answer, Site, site_of


@pytest.fixture(scope="module")
def ada(server: ServerUnderTest) -> str:
    """A token of ada's."""
    return server.token("ada")


class SignedIn:
    """A visitor who has signed in with a token; forms carry the required CSRF value."""

    def __init__(self, site: Site, token: str) -> None:
        self.site = site
        self.cookie = f"noughts_token={token}"
        self.csrf = Visitor(token).csrf

    def get(self, path: str) -> Answer:
        return self.site.get(path, cookie=self.cookie)

    def post(self, path: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        return self.site.post(path, {"csrf": self.csrf, **(form or {})}, cookie=self.cookie, **headers)


def create_tournament(visitor: SignedIn, name: str, **form: str) -> str:
    """Create a tournament with the form, and return its path."""
    created = visitor.post("/organise", {"id": name, "games_per_pair": "2", "schedule": "round_robin", **form})
    assert created.status == 303, created.text
    return created.headers["location"]


def wait_until_finished(site: Site, place: str) -> None:
    eventually(lambda: tournament_state(site, place), lambda state: state == "finished")


def tournament_state(site: Site, place: str) -> str:
    return str(site.get(f"/api/v1{place}").document["state"])


def test_the_cookie_is_hidden_from_scripts_and_other_sites(site: Site, ada: str) -> None:
    answer = site.post("/signin", {"token": f" {ada}\n", "next": "/bots"})
    assert (answer.status, answer.headers["location"]) == (303, "/bots")
    name_and_value, *flags = answer.headers["set-cookie"].split("; ")
    assert name_and_value == f"noughts_token={ada}"
    assert set(flags) == {"HttpOnly", "Path=/", "SameSite=strict"}


@pytest.mark.parametrize("command", ["export NOUGHTS_TOKEN={}", "$env:NOUGHTS_TOKEN = '{}'", 'NOUGHTS_TOKEN="{}"'])
def test_a_pasted_command_with_the_token_signs_in(site: Site, ada: str, command: str) -> None:
    answer = site.post("/signin", {"token": command.format(ada)})
    assert answer.status == 303
    assert answer.headers["set-cookie"].startswith(f"noughts_token={ada};")


def test_sign_in_page_says_how_to_get_a_token(site: Site, ada: str) -> None:
    page = site.get("/signin").text
    assert "This website takes no registrations." in page
    assert "I run this website" in page
    assert site.get("/enter").headers["location"] == "/signin?next=/me?tab=upload"
    assert SignedIn(site, ada).get("/enter").headers["location"] == "/me?tab=upload"


def test_behind_https_the_cookie_is_sent_only_over_https(server: ServerUnderTest, ada: str) -> None:
    with site_of(server.address, https=True) as site:
        assert "Secure" in site.post("/signin", {"token": ada}).headers["set-cookie"].split("; ")


@pytest.mark.parametrize("path", ["/", "/api/v1/status", "/no-such-page", "/bots/embed"])
def test_behind_https_browsers_must_use_https(server: ServerUnderTest, site: Site, path: str) -> None:
    with site_of(server.address, https=True) as protected:
        assert protected.get(path).headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in site.get(path).headers


def test_a_site_without_encryption_accepts_no_token(server: ServerUnderTest, ada: str) -> None:
    with site_of(server.address, host="0.0.0.0") as site:  # without TLS on an address that is not loopback
        page = site.get("/signin").text
        assert "without encryption" in page
        assert "noughts web --https" in page
        assert site.post("/signin", {"token": ada}).status == 405
        assert site.get("/me", cookie=f"noughts_token={ada}").status == 404
        assert "Sign in" not in site.get("/").text


@pytest.mark.parametrize(
    "token, status, words",
    [
        ("", 400, "This is not a token."),
        ("nou_ä", 400, "This is not a token."),
        ("nou_" + "x" * 32, 401, "token"),
        ("inv_" + "x" * 44, 400, "This is an invitation, not a token. Register with it first"),
        ("https://noughts.example.org/invite#inv_" + "x" * 44, 400, "This is an invitation, not a token."),
    ],
)
def test_a_wrong_token_shows_an_error_and_sets_no_cookie(site: Site, token: str, status: int, words: str) -> None:
    answer = site.post("/signin", {"token": token})
    assert answer.status == status
    assert "set-cookie" not in answer.headers
    assert words in answer.text.partition('id="wrong-token"')[2].partition("</span>")[0]


def test_after_ten_wrong_tokens_only_a_right_one_is_checked(server: ServerUnderTest) -> None:
    with site_of(server.address) as site:
        statuses = [site.post("/signin", {"token": "nou_wrong"}).status for _ in range(11)]
        assert statuses == [401] * 10 + [429]
        assert site.post("/signin", {"token": server.token()}).status == 303


def test_visitors_behind_a_configured_proxy_are_distinguished(server: ServerUnderTest) -> None:
    def attempts(site: Site, address: str) -> list[int]:
        return [site.post("/signin", {"token": "nou_wrong"}, x_real_ip=address).status for _ in range(6)]

    with site_of(server.address, proxies=["127.0.0.1"]) as site:
        assert attempts(site, "192.0.2.1") + attempts(site, "192.0.2.2") == [401] * 12
        assert attempts(site, "192.0.2.1")[-1] == 429
    with site_of(server.address) as site:  # without a configured proxy the header is ignored
        assert (attempts(site, "192.0.2.1") + attempts(site, "192.0.2.2"))[-1] == 429


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example/x", "https://evil.example", "/\\evil.example", "", "x", "/a\nb", "//[", "//\u2100"]
)
def test_sign_in_never_redirects_to_another_site(elsewhere: str) -> None:
    assert place_after(elsewhere) == "/me"


def test_pages_for_signed_in_visitors_are_not_cached(site: Site, ada: str, cup: str) -> None:
    visitor = SignedIn(site, ada)
    for path in ("/me", "/", f"/{cup}"):
        assert visitor.get(path).headers["cache-control"] == "private, no-store"
    assert site.get("/").headers["cache-control"] == "no-cache"
    assert "My page" in visitor.get("/").text
    assert "My page" not in site.get("/").text


def test_pages_that_need_a_token_redirect_to_sign_in(site: Site, ada: str) -> None:
    answer = site.get("/organise")
    assert (answer.status, answer.headers["location"]) == (303, "/signin?next=/organise")
    assert SignedIn(site, ada).get("/organise").status == 200


def test_a_revoked_token_redirects_to_sign_in(server: ServerUnderTest, site: Site) -> None:
    visitor = SignedIn(site, server.token("eve"))
    page = visitor.get("/me?tab=tokens").text
    number = page.partition("/me/tokens/")[2].partition("/")[0]
    assert visitor.post(f"/me/tokens/{number}/revoke").headers["location"] == "/me?tab=tokens"
    answer = visitor.get("/me")
    assert (answer.status, answer.headers["location"]) == (303, "/signin?expired=true&next=/me")
    assert 'noughts_token="";' in answer.headers["set-cookie"]
    assert "is no longer valid" in site.get("/signin?expired=true").text


@pytest.mark.parametrize(
    "headers, csrf, status",
    [
        ({}, "", 403),
        ({}, "0" * 64, 403),
        ({"origin": "https://evil.example"}, None, 403),
        ({"origin": "http://["}, None, 400),
        ({"sec_fetch_site": "cross-site"}, None, 403),
        ({"sec_fetch_site": "same-site"}, None, 403),
    ],
)
def test_a_form_of_another_site_changes_nothing(
    site: Site, ada: str, headers: dict[str, str], csrf: str | None, status: int
) -> None:
    visitor = SignedIn(site, ada)
    form = {"id": "forged", **({} if csrf is None else {"csrf": csrf})}
    answer = visitor.post("/organise", form, **headers)
    assert answer.status == status
    assert site.get("/api/v1/tournaments/forged").status == 404


@pytest.mark.parametrize(
    "body, kind, status",
    [("x" * 70_000, "application/x-www-form-urlencoded", 413), ("{}", "application/json", 415), ("%FF=1", "", 400)],
)
def test_too_large_or_malformed_forms_are_refused(site: Site, ada: str, body: str, kind: str, status: int) -> None:
    response: Any = site._send_request(
        "/organise", "POST", {"cookie": f"noughts_token={ada}", "content_type": kind}, body
    )
    assert response.status == status
    response.close()


def test_a_tournament_is_made_joined_run_and_extended_by_forms(server: ServerUnderTest, site: Site) -> None:
    token = server.token("grace")
    visitor = SignedIn(site, token)
    place = create_tournament(
        visitor, "by-forms", bank="", increment="", title="By forms", openings="balanced", plies="3"
    )
    assert (tournament_state(site, place), site.get(f"/api/v1{place}").document["owner"]) == ("open", "grace")
    with bots_online(server.address, token, left="random", right="random"):
        for bot in ("left", "right"):
            assert visitor.post(f"{place}/join", {"bot": f"bots/{bot}"}).status == 303
        assert visitor.post(f"{place}/start").headers["location"] == place
        wait_until_finished(site, place)
        assert visitor.post(f"{place}/extend", {"games_per_pair": "2"}).status == 303
        wait_until_finished(site, place)
    document = site.get(f"/api/v1{place}").document
    assert (document["games_done"], document["openings"]["kind"], document["openings"]["plies"]) == (4, "balanced", 3)


@pytest.mark.parametrize("schedule, added", [("danish", "rounds"), ("gauntlet", "games_per_pair"), ("knockout", "")])
def test_form_extends_a_tournament_by_what_its_format_allows(
    server: ServerUnderTest, site: Site, schedule: str, added: str
) -> None:
    token = server.token("kim")
    visitor = SignedIn(site, token)
    rounds = "1" if schedule == "danish" else ""
    place = create_tournament(visitor, f"more-{schedule}", bank="", increment="", schedule=schedule, rounds=rounds)
    with bots_online(server.address, token, kima="random", kimb="random"):
        for bot in ("kima", "kimb"):
            visitor.post(f"{place}/join", {"bot": f"bots/{bot}"})
        visitor.post(f"{place}/start")
        wait_until_finished(site, place)
        page = visitor.get(place).text
        assert [name for name in ("rounds", "games_per_pair") if f'name="{name}"' in page] == ([added] if added else [])
        assert not added or visitor.post(f"{place}/extend", {added: "1" if rounds else "2"}).status == 303
        wait_until_finished(site, place)
    done = site.get(f"/api/v1{place}").document["games_done"]
    assert done == 4 if added else done >= 2


def test_bot_that_cannot_enter_is_explained_on_the_page_of_the_tournament(server: ServerUnderTest, site: Site) -> None:
    token = server.token("nia")
    visitor = SignedIn(site, token)
    place = create_tournament(visitor, "nias", variant="connect4")
    with bots_online(server.address, token, **{"nia-any": "random", "nia-tic": "pascal"}):
        page = visitor.get(place).text
        assert 'value="bots/nia-any"' in page
        assert 'value="bots/nia-tic"' not in page  # it does not play Connect Four
        for field, bot, words in (
            ("bot", "bots/nia-tic", "nia-tic is not a bot that plays connect4."),
            ("guest", "Pebblx", "There is no bot “Pebblx”."),
        ):
            refused = visitor.post(f"{place}/join", {field: bot})
            assert refused.status in (400, 404)
            assert words in refused.text.partition(f'id="wrong-{field}"')[2].partition("</span>")[0]
            assert "You organise this tournament" in refused.text
        assert re.search(r"<button[^>]* disabled", visitor.get(place).text)
        refused = visitor.post(f"{place}/start")
        assert refused.status == 409
        assert 'role="alert"' in refused.text
        assert "You organise this tournament" in refused.text


def test_form_takes_a_time_margin(server: ServerUnderTest, site: Site) -> None:
    visitor = SignedIn(site, server.token("kim"))
    form = {"schedule": "round_robin", "games_per_pair": "2", "move": "1", "margin_ms": "1500"}
    place = create_tournament(visitor, "margins", **form)
    assert site.get(f"/api/v1{place}").document["margin_ms"] == 1500
    assert "a move can exceed its limit by 1,500 ms" in visitor.get(f"{place}?tab=rules").text
    assert visitor.post("/organise", {**form, "id": "long", "margin_ms": "60001"}).status == 400


def test_form_takes_fuel_without_a_clock(server: ServerUnderTest, site: Site) -> None:
    visitor = SignedIn(site, server.token("kim"))
    form = {"schedule": "round_robin", "games_per_pair": "2", "fuel": str(10**15)}
    place = create_tournament(visitor, "fuelled", **form)
    assert site.get(f"/api/v1{place}").document["fuel"] == 10**15
    assert "1,000,000,000,000,000 units of fuel for each move" in visitor.get(f"{place}?tab=rules").text
    refused = visitor.post("/organise", {**form, "id": "timed", "move": "1"}).text
    assert "Expected 0: the clock 1/move depends on the machine." in refused


def test_forms_pause_and_cancel_a_tournament_and_change_its_buttons(server: ServerUnderTest, site: Site) -> None:
    token = server.token("hal")
    visitor = SignedIn(site, token)
    with bots_online(server.address, token, up="random", down="random"):
        place = create_tournament(visitor, "long", games_per_pair="1000000")
        for bot in ("up", "down"):
            visitor.post(f"{place}/join", {"bot": f"bots/{bot}"})
        assert "Start" in visitor.get(place).text
        visitor.post(f"{place}/start")
        assert ">Cancel tournament<" in visitor.get(place).text
        assert visitor.post(f"{place}/pause").status == 303
        assert tournament_state(site, place) == "paused"
        assert ">Resume<" in visitor.get(place).text
        assert visitor.post(f"{place}/cancel").status == 303
    assert tournament_state(site, place) == "cancelled"
    assert ">Cancel tournament<" not in visitor.get(place).text


def test_a_tournament_of_another_owner_has_no_buttons(server: ServerUnderTest, site: Site, ada: str) -> None:
    place = create_tournament(SignedIn(site, server.token("ian")), "ians")
    visitor = SignedIn(site, ada)
    assert ">Cancel tournament<" not in visitor.get(place).text
    assert visitor.post(f"{place}/cancel").status == 403
    assert tournament_state(site, place) == "open"
    assert visitor.post(f"{place}/burn").status == 404


@pytest.mark.parametrize(
    "field, text, words",
    [
        ("games_per_pair", "many", "Expected a whole number."),
        ("bank", "-1", "Expected seconds, e.g. 0.5, at most 86,400."),
        ("variant", "chess", "Unknown game."),
        ("id", "No Good", "Expected 1 to 63 characters from a-z, 0-9 and -."),
        ("schedule", "dance", "Expected one of round_robin, gauntlet, swiss"),
        ("seed", "x", "Expected a whole number from 0"),
    ],
)
def test_a_wrong_field_shows_an_error_and_the_others_are_kept(
    site: Site, ada: str, field: str, text: str, words: str
) -> None:
    form = {"id": "kept", "title": "Keep this", "schedule": "swiss", field: text}
    answer = SignedIn(site, ada).post("/organise", form)
    assert answer.status == 400
    assert words in answer.text.partition(f'id="wrong-{field}"')[2].partition("</span>")[0]
    assert "Keep this" in answer.text


def test_a_new_token_is_shown_once_and_has_the_chosen_scopes(site: Site, ada: str) -> None:
    visitor = SignedIn(site, ada)
    page = visitor.post("/me/tokens", {"label": "for the laptop", "play": "on", "days": "7"}).text
    secret = "nou_" + page.partition("<code data-copy>nou_")[2].partition("<")[0]
    assert SignedIn(site, secret).get("/me").status == 200
    assert secret not in visitor.get("/me?tab=tokens").text
    assert "for the laptop" in visitor.get("/me?tab=tokens").text
    refused = SignedIn(site, secret).post("/organise", {"id": "too-much", "schedule": "swiss"})
    assert refused.status == 403
    assert visitor.post("/me/tokens", {"label": "for nothing"}).status == 400
    assert visitor.post("/me/tokens", {"play": "on", "days": "soon"}).status == 400


def test_only_its_owner_retires_and_restores_a_bot(server: ServerUnderTest, site: Site, ada: str) -> None:
    token = server.token("ken")
    with bots_online(server.address, token, oldie="random"):
        pass
    assert SignedIn(site, ada).post("/bots/oldie/retire").status == 403
    visitor = SignedIn(site, token)
    assert visitor.post("/bots/oldie/retire").status == 303
    assert "Restore" in visitor.get("/me").text
    assert visitor.post("/bots/oldie/retire", {"undo": "1"}).status == 303
    assert "Restore" not in visitor.get("/me").text


def test_a_bot_is_challenged_with_an_own_bot(server: ServerUnderTest, site: Site) -> None:
    token = server.token("lea")
    with bots_online(server.address, token, mine="random", theirs="random"):
        form = {"challenger": "bots/mine", "opponent": "bots/theirs", "games": "2", "variant": "tictactoe"}
        created = SignedIn(site, token).post("/challenges", form)
        assert created.status == 303, created.text
        wait_until_finished(site, created.headers["location"])


def test_a_refused_challenge_is_explained_on_the_form_with_what_was_typed(server: ServerUnderTest, site: Site) -> None:
    token = server.token("lea")
    with bots_online(server.address, token, mine="random", other="random", theirs="random"):
        form = {"challenger": "bots/other", "opponent": "bots/theirs", "variant": "connect4", "move": "0.25"}
        refused = SignedIn(site, token).post("/challenges", {**form, "games": "some"})
        assert refused.status == 400
        assert "Challenge theirs" in refused.text
        assert "Expected a whole number." in refused.text.partition('id="wrong-games"')[2].partition("</span>")[0]
        for kept in ('value="some"', 'value="0.25"', 'value="bots/other" selected', 'value="connect4" selected'):
            assert kept in refused.text
        refused = SignedIn(site, token).post("/challenges", {**form, "games": "101"})
        assert "Expected 1 to 100." in refused.text.partition('id="wrong-games"')[2].partition("</span>")[0]
    eventually(lambda: not site.get("/api/v1/bots/other").document["online"])
    refused = SignedIn(site, token).post("/challenges", {**form, "games": "2"})
    assert refused.status == 409
    assert "Bot “other” is offline" in refused.text.partition('role="alert"')[2].partition("</div>")[0]


def test_a_refused_token_keeps_what_was_typed(site: Site, ada: str) -> None:
    refused = SignedIn(site, ada).post("/me/tokens", {"label": "laptop", "days": "soon", "submit": "on"})
    assert refused.status == 400
    assert 'value="laptop"' in refused.text
    assert 'value="soon"' in refused.text
    assert 'name="submit" checked' in refused.text
    assert 'name="play" checked' not in refused.text


def test_a_refused_form_leads_back_to_its_page(site: Site, ada: str) -> None:
    form_page = "/me?tab=tokens"
    here = {"referer": f"{site.address}{form_page}"}
    page = SignedIn(site, ada).post("/me/tokens/1/revoke", {"csrf": "0" * 64}, **here)
    assert page.status == 403
    assert f'<a class="button main" href="{form_page}">Back to the form</a>' in page.text
    elsewhere = {"referer": "https://other.example/me"}
    assert "Back to the form" not in SignedIn(site, ada).post("/me/tokens/1/revoke", {"csrf": "0"}, **elsewhere).text


def test_a_form_without_a_valid_token_leads_to_the_page_of_the_form(server: ServerUnderTest, site: Site) -> None:
    here = {"referer": f"{site.address}/me?tab=tokens"}
    answer = site.post("/me/tokens", {"label": "x"}, **here)
    assert answer.headers["location"] == "/signin?unsent=true&next=/me%3Ftab%3Dtokens"
    assert "Your form was not sent" in site.get(answer.headers["location"]).text
    assert "Your form was not sent" not in site.get("/signin").text
