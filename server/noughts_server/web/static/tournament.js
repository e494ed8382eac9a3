// A tournament that goes on: its boards, its progress, and its tables, which the site draws anew.
import { follow } from "./feed.js";
import { showGames } from "./grid.js";

const TABLES_EVERY = 3000;
const page = document.getElementById("tournament");
const began = performance.now();
// What the page says: it may have changed before the first event.
let state = page.querySelector(".state").textContent;
let first = null, wanted = false, asking = false, drawing = 0;

follow(page.dataset.events, (view) => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => show(view));
});

function show(view) {
  const [tournament] = view.tournaments.values();
  const games = [...view.games.values()];
  document.getElementById("boards-part").hidden = games.length === 0;
  showGames(document.getElementById("grid"), games);
  if (!tournament) return;
  showProgress(tournament);
  if (first === null) first = tournament.games_done;
  else wanted = true;
  if (state !== tournament.state) wanted = true;
  state = tournament.state;
  refresh();
}

function showProgress(tournament) {
  const bar = document.getElementById("progress");
  if (!bar) return;
  const { games_done: done, games_total: total } = tournament;
  bar.max = total;
  bar.value = done;
  document.getElementById("done").textContent = done.toLocaleString();
  document.getElementById("total").textContent = total.toLocaleString();
  const seconds = (performance.now() - began) / 1000, played = done - (first ?? done);
  const left = played > 0 && seconds > 2 && done < total ? ((total - done) * seconds) / played : 0;
  document.getElementById("remaining").textContent = left ? `, about ${duration(left)} left` : "";
}

function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

// At most every three seconds, and once more after the last change.
async function refresh() {
  if (asking || !wanted) return;
  asking = true;
  wanted = false;
  try {
    const answer = await fetch(location.pathname + location.search);
    if (answer.ok) replaceParts(await answer.text());
  } catch {
    wanted = true; // the site is away: the events say so
  }
  setTimeout(() => {
    asking = false;
    refresh();
  }, TABLES_EVERY);
}

function replaceParts(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const part of ["#tables", ".state", "#desk"]) {
    const now = page.querySelector(part), then = fresh.querySelector(part);
    if (part === "#desk" && now.contains(document.activeElement)) continue; // somebody is about to do something
    const focused = now.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    if (now.innerHTML !== then.innerHTML) now.replaceWith(then);
    if (focused) [...then.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  }
  if (!document.getElementById("progress") && fresh.getElementById("progress")) location.reload();
}
