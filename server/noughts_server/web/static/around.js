// What is around a game: the live games of its tournament, of which the page opens the next one after the end.
import { visible } from "./analysis.js";
import { _, ngettext } from "./words.js";

const EVERY = 15000; // Milliseconds between two requests for the live games.
const SOON = 2000; // The same while the page waits for the next game.
const COUNTDOWN = 5; // Seconds until the next live game is opened.
const STOPS = ["keydown", "pointerdown", "wheel"];
const by = (id) => document.getElementById(id);
let stopped = false;
let leaving = false;

const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
const mayFollow = () => by("around")?.dataset.running === "true";

async function refresh(name) {
  await visible();
  const answer = await fetch(`/${name}/around`, { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("around");
  const old = by("around");
  // The links keep the focus.
  if (fresh && (fresh.innerHTML === old.innerHTML || !old.contains(document.activeElement))) old.replaceWith(fresh);
}

// Keeps the links to live games up to date while the tournament runs.
export async function keepAround(name) {
  while (mayFollow()) {
    await wait(EVERY);
    if (!leaving || stopped) await refresh(name);
  }
}

// After the end of a game that the visitor watched: opens the next live game after a countdown. Any key, click or turn of
// the wheel stops that.
export async function goOn(name) {
  if (leaving) return;
  leaving = true;
  by("stay").addEventListener("click", stop);
  for (const kind of STOPS) addEventListener(kind, (event) => event.target.closest?.("#onward-link") || stop());
  await refresh(name);
  while (!stopped && !by("around").dataset.onward && mayFollow()) {
    await wait(SOON);
    await refresh(name);
  }
  const next = by("around").dataset.onward;
  if (stopped || !next) return;
  by("onward-link").href = next;
  by("onward").hidden = false;
  by("onward-said").textContent = ngettext(
    "The next live game opens in %(num)s second.",
    "The next live game opens in %(num)s seconds.",
    COUNTDOWN,
  );
  for (let seconds = COUNTDOWN; seconds > 0; seconds--) {
    by("onward-seconds").textContent = _("%(seconds)s s", { seconds });
    await wait(1000);
    await visible();
    if (stopped) return;
  }
  location.assign(next);
}

function stop() {
  stopped = true;
  by("onward").hidden = true;
}
