"""`noughts bot register`: the description and the link of a bot."""

from typing import Any

from tests.server.cli.conftest import Ask, Refusal


def test_registered_bot_gets_a_description_and_a_link(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    registered = ask("bot register mine --description 'Plays the middle.' --link https://example.org/mine")
    assert (registered["description"], registered["link"]) == ("Plays the middle.", "https://example.org/mine")
    assert ask("bot register mine --open-to-tests")["description"] == "Plays the middle."
    assert "Plays the middle.\nhttps://example.org/mine\n" in noughts("bot show mine", env=env).stdout
    assert ask("bot register mine --link ''")["link"] is None
    assert ask("bot show mine")["description"] == "Plays the middle."


def test_link_that_is_no_page_is_refused(refusal: Refusal, env: dict[str, str]) -> None:
    refusal("bot register mine --link ftp://example.org", code=2, env=env)
