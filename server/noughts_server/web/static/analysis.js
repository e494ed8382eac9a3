// The analysis of a finished game: waits until the server has computed it.
import { _ } from "./words.js";

const FIRST_WAIT = 1000; // Milliseconds before the second request. Each later wait is longer.
const GROWTH = 1.5;
const LONGEST_WAIT = 8000;
const MOST_REQUESTS = 60; // About 7 minutes.
const UNFINISHED = ["live", "none", "pending", "busy"];
const place = () => document.getElementById("analysis");

// Requests the analysis of the game until there is one, and then calls `show`. Requests stop while the page is hidden.
export async function analyse(name, show) {
  let wait = FIRST_WAIT;
  for (let asked = 0; asked < MOST_REQUESTS && isUnfinished(); asked++) {
    if (asked) await new Promise((resolve) => setTimeout(resolve, wait));
    if (asked) wait = Math.min(LONGEST_WAIT, GROWTH * wait);
    await visible();
    hideReload(true);
    const answer = await fetch(`/${name}/analysis`).catch(() => null);
    if (!answer?.ok) continue;
    const text = await answer.text();
    const section = new DOMParser().parseFromString(text, "text/html").getElementById("analysis");
    if (section) replace(section);
    hideReload(true);
  }
  if (isUnfinished()) stopWaiting();
  show();
}

function isUnfinished() {
  return UNFINISHED.includes(place()?.dataset.state);
}

// Shows another state of the analysis. The section keeps the focus if it had it.
function replace(section) {
  const old = place();
  if (!old || old.dataset.state === section.dataset.state) return;
  const isFocused = old.contains(document.activeElement);
  old.replaceWith(section);
  section.tabIndex = -1;
  if (isFocused) section.focus();
  say(section.dataset.state === "done" ? _("The analysis is ready.") : section.querySelector("p").textContent);
}

function stopWaiting() {
  const note = place().querySelector("p");
  const words = _("The analysis takes long, and this page no longer waits for it.");
  if (note && place().dataset.state !== "none") note.firstChild.textContent = `${words} `;
  hideReload(false);
  say(words);
}

// Hides or shows the link that loads the page again, which needs no scripts.
function hideReload(isHidden) {
  const link = place()?.querySelector(".reload");
  if (link) link.hidden = isHidden;
}

// Has screen readers read the words.
function say(words) {
  const status = document.getElementById("analysis-status");
  if (status) status.textContent = words;
}

export function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
