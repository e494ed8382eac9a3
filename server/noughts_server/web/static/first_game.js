// Follows the newcomer's bot: its state, its live or last game, and its rating.
import { showTimes } from "./page.js";

const WAIT_MS = 2000;
const section = document.querySelector("[data-first-game]");

// The parts as the server sent them, because times are shown in the visitor's time zone.
const sent = new Map();

// Replaces a part of the section by that of the page, if it differs.
function show(page, name) {
  const part = page.querySelector(name);
  const shown = section.querySelector(name);
  if (!part || !shown || part.innerHTML === (sent.get(name) ?? shown.innerHTML)) return;
  sent.set(name, part.innerHTML);
  shown.replaceChildren(...part.childNodes);
  showTimes(shown);
}

async function look() {
  try {
    const response = await fetch("/me/first-game");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    show(page, "[data-state]");
    show(page, "[data-own-bot]");
    const start = page.querySelector("[data-start]");
    if (start?.textContent.trim()) show(page, "[data-start]");
  } catch {
    // The server is away; the next look tries again.
  }
  setTimeout(look, WAIT_MS);
}

if (section) setTimeout(look, WAIT_MS);
