// The analysis of a finished game: waits until the server has computed it, and marks mistakes in the list of moves.
const FIRST_WAIT = 1000; // Milliseconds before the second request. Each later wait is longer.
const GROWTH = 1.5;
const LONGEST_WAIT = 30000;
const MOST_REQUESTS = 40; // About 17 minutes.
const UNFINISHED = ["none", "pending", "busy"];
const place = () => document.getElementById("analysis");

// Returns the marks of mistakes, `?` or `??`, by the number of moves before them.
export function marks() {
  const mistakes = place()?.querySelectorAll("[data-mark]") ?? [];
  return Object.fromEntries([...mistakes].map((item) => [item.dataset.ply, item.dataset.mark]));
}

// Requests the analysis of the game until there is one, and then calls `show`. Requests stop while the page is hidden.
export async function analyse(name, show) {
  let wait = FIRST_WAIT;
  for (let asked = 0; asked < MOST_REQUESTS && UNFINISHED.includes(place()?.dataset.state); asked++) {
    if (asked) await new Promise((resolve) => setTimeout(resolve, wait));
    if (asked) wait = Math.min(LONGEST_WAIT, GROWTH * wait);
    await visible();
    const answer = await fetch(`/${name}/analysis`).catch(() => null);
    if (!answer?.ok) continue;
    const text = await answer.text();
    const section = new DOMParser().parseFromString(text, "text/html").getElementById("analysis");
    if (section && place()) place().replaceWith(section);
  }
  show();
}

function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
