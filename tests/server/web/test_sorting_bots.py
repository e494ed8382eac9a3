"""The list of bots can be sorted by its columns."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


def test_bots_sort_by_their_columns(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        rows = page.locator("tbody th")
        names = rows.all_inner_texts()
        assert len(names) > 2
        page.get_by_role("button", name="bot", exact=True).click()
        expect(page.locator("thead th").first).to_have_attribute("aria-sort", "ascending")
        assert rows.all_inner_texts() == sorted(names)
        page.get_by_role("button", name="bot", exact=True).click()
        assert rows.all_inner_texts() == sorted(names, reverse=True)
