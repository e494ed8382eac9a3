// The analyst's opinion about the position on the board: asks for it while the visitor looks at the position.
import { visible } from "./analysis.js";

const SETTLED = 300; // Milliseconds that a position must be on the board before the first request.
const WAITS = { pending: 700, busy: 5000, unavailable: 15000 }; // Milliseconds before the next request, by state.
const MOST_REQUESTS = 100; // For one position.
const place = () => document.getElementById("opinion");
let current = ""; // The position that is asked about.

// Asks about the position after `ply` moves until there is an answer, or until another position is shown.
export async function showOpinion(game, ply) {
  const position = `${ply} ${game.state}`;
  if (!place() || position === current) return;
  current = position;
  const isKnown = () => place().dataset.state === "done" && Number(place().dataset.ply) === ply;
  let wait = SETTLED;
  for (let asked = 0; asked < MOST_REQUESTS && wait && !isKnown(); asked++) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    await visible();
    if (current !== position) return;
    const answer = await fetch(`/${game.name}/opinion?ply=${ply}`).catch(() => null);
    if (current !== position) return;
    wait = WAITS.unavailable;
    if (!answer?.ok) continue;
    const section = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("opinion");
    if (current !== position) return;
    wait = WAITS[section.dataset.state];
    if (place().innerHTML !== section.innerHTML) place().replaceWith(section);
  }
}
