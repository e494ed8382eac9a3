// Waits for the first game of the visitor's bot, and then shows it.
const WAIT_MS = 2000;
const section = document.querySelector("[data-first-game]");

async function look() {
  try {
    const response = await fetch("/me/first-game");
    if (response.redirected) {
      location.assign(response.url);
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const state = page.querySelector("[data-state]");
    const shown = section.querySelector("[data-state]");
    if (state && shown.textContent !== state.textContent) shown.textContent = state.textContent;
    const start = page.querySelector("[data-start]");
    const shownStart = section.querySelector("[data-start]");
    if (start?.textContent.trim() && shownStart) shownStart.replaceChildren(...start.childNodes);
  } catch {
    // The server is away; the next look tries again.
  }
  setTimeout(look, WAIT_MS);
}

if (section) setTimeout(look, WAIT_MS);
