"""A site on which visitors play, and what a visitor does on its pages."""

import re

from playwright.sync_api import Page, expect


def choose_opponent(page: Page, opponent: str) -> None:
    """Choose an opponent; if it is not among the bots that are shown first, show all of them."""
    unfold = page.locator(f".cards-of:not(.all):has(.spare [value='{opponent}']) ~ .show-all")
    if unfold.count():
        unfold.click()
    page.locator(f"[name=opponent][value='{opponent}']").check()


def type_variant(page: Page, variant: str) -> None:
    """Type the name of a variant, whose field opens if it is closed."""
    if page.locator(".another:not([open])").count():
        page.get_by_text("Another game or size").click()
    page.get_by_label("Variant").fill(variant)


def start_game(page: Page, opponent: str, *, variant: str = "tictactoe", begins: str = "you") -> None:
    """Fill in the form for a game, and wait until the board is shown."""
    page.goto("/play")
    choose_opponent(page, opponent)
    type_variant(page, variant)
    page.locator(f"#begins-{begins}").check()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#status")).not_to_have_text("")


def play_cells(page: Page, *names: str) -> None:
    """Click these cells, each as soon as it is this visitor's turn."""
    for name in names:
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name=f"{name}, free", exact=True).click()
        expect(page.get_by_role("button", name=re.compile(rf"^{name}, [XO]$"))).to_be_visible()


def expect_status(page: Page, words: str) -> None:
    expect(page.locator("#status")).to_have_text(words)
