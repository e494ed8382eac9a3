"""Uploads of bots from a browser: accepted, refused with a reason, played and replaced."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import page_in
from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.processes import environment, first_line, json_of_process, started

pytestmark = pytest.mark.processes

BOT = """import sys

from noughts_bots import Bot


class Mine(Bot):
    def choose(self, position):
        return {}
"""


def test_bots_are_uploaded_from_the_browser(tmp_path: Path, browser: Browser) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path))
    module = compile_wasm(C_EXAMPLES / "random.c", tmp_path, "random-c")
    good_file, bad_file = tmp_path / "mine.py", tmp_path / "bad.py"
    good_file.write_text(BOT.format("position.free[0]"))
    bad_file.write_text(BOT.format("99 + (print('looking', '  at 9 cells', sep=chr(10), file=sys.stderr) or 0)"))
    line = ["serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--accept", "wasm,py", "--format", "json"]
    with ExitStack() as stack:
        ready = json.loads(first_line(stack.enter_context(started(line, data))))
        token = json_of_process("token create --owner ada --scope play --scope organise --scope submit", data)["token"]
        token_without_submit = json_of_process("token create --owner bob", data)["token"]
        env = {**data, "NOUGHTS_SERVER": ready["grpc"], "NOUGHTS_TOKEN": token}
        json_of_process("tournament create cup --games 4", env)
        json_of_process("tournament create later --join-from 4000-01-01", env)
        with page_in(browser, ready["web"]) as page:
            page.goto("/me?tab=upload")
            page.get_by_label("Your token").fill(token)
            page.keyboard.press("Enter")
            page.get_by_label("The file:").set_input_files(module)
            page.get_by_label("Tournament to enter").select_option(label="cup")
            page.get_by_role("button", name="Upload", exact=True).click()
            expect(page.get_by_role("heading", name="random-c", level=1)).to_be_visible()
            expect(page.get_by_text("WebAssembly, ")).to_be_visible()
            page.goto("/me?tab=upload")
            page.get_by_label("The file:").set_input_files(bad_file)
            page.get_by_role("button", name="Upload", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("illegal move in 4 of 4 games")
            assert page.get_by_role("alert").locator("pre").inner_text().splitlines()[:2] == ["looking", "  at 9 cells"]
            page.get_by_label("The file:").set_input_files(good_file)
            page.get_by_label("Tournament to enter").select_option(label="cup")
            page.get_by_role("button", name="Upload", exact=True).click()
            expect(page.get_by_role("heading", name="mine", level=1)).to_be_visible()
            page.goto("/me?tab=upload")
            options = page.get_by_label("Tournament to enter").locator("option")
            expect(options).to_have_text(["no tournament", "cup"])
            page.get_by_label("The file:").set_input_files(good_file)
            # As if `later` had taken entries when the page was loaded.
            page.get_by_label("Tournament to enter").select_option(label="cup")
            page.evaluate("document.querySelector('#upload-tournament option:last-child').value = 'tournaments/later'")
            page.get_by_role("button", name="Upload", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text(
                "The bot mine is uploaded and can play, but not entered: "
            )
            page.goto("/tournaments/cup")
            page.get_by_role("button", name="Start").click()
            expect(page.locator(".state.finished")).to_be_visible()
            good_file.write_text(BOT.format("position.free[-1]"))
            page.goto("/me?tab=upload")
            for words in "The server has tested version 2,", "This file is version 2 already":
                page.get_by_label("The file:").set_input_files(good_file)
                page.get_by_role("button", name="Upload", exact=True).click()
                expect(page.get_by_role("heading", name="mine", level=1)).to_be_visible()
                expect(page.get_by_role("status").filter(has_text=words)).to_be_visible()
                page.goto("/me?tab=upload")
            page.goto("/me")
            row = page.get_by_role("row", name="mine")
            expect(row).to_contain_text("version 2")
            expect(row.get_by_role("list", name="newest last").get_by_role("listitem")).not_to_have_count(0)
            page.get_by_role("button", name="Retire mine").click()
            page.get_by_role("dialog", name="Retire mine?").get_by_role("button", name="Retire").click()
            expect(page.get_by_role("button", name="Restore mine")).to_be_visible()
            page.get_by_role("button", name="Sign out").click()
            page.goto("/me?tab=upload")
            page.get_by_label("Your token").fill(token_without_submit)
            page.keyboard.press("Enter")
            expect(page.get_by_text("Your token does not permit uploads")).to_be_visible()
