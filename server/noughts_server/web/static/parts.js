// The parts of a page that change while it is shown, which the site renders.
import { makeCopyable, reachNames, showTimes } from "./page.js";
import { keepSorting, makeSortable } from "./tables.js";

// Fetches the parts that have changed, and shows them. `stays` says whether a part keeps its present content.
export async function refreshParts(page, stays = () => false) {
  const known = [...page.querySelectorAll("[data-part]")].map((part) => `"${part.dataset.tag}"`);
  const answer = await fetch(page.dataset.parts, { headers: { "if-none-match": known.join(", ") } });
  if (answer.ok) showParts(page, await answer.text(), stays);
}

// Elements that do not change are not replaced, so scrolled tables, opened rounds and the focus stay.
function showParts(page, text, stays) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  showTimes(fresh);
  makeSortable(fresh);
  makeCopyable(fresh);
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const now = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!now || stays(now)) continue;
    keepSorting(now, part);
    Idiomorph.morph(now, part, { callbacks: { beforeAttributeUpdated: (name) => name !== "open" } });
  }
  reachNames(page);
}
