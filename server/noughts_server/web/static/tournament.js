// The page of a live tournament: its boards, its progress, and its tables, which the site renders.
import { follow } from "./feed.js";
import { showGames } from "./grid.js";
import { refreshParts } from "./parts.js";
import { count } from "./words.js";

const TABLES_EVERY = 3000;
const HELD = 5000; // Milliseconds for which a board shows the result of its game while other games are played.
const page = document.getElementById("tournament");
// The state in the page: it can have changed before the first event.
let { state } = page.querySelector(".state").dataset;
let reason = "";
let first = null;
let told = null;
let wanted = false;
let asking = false;
let drawing = 0;
const endedAt = new Map(); // By the name of the game.

follow(page.dataset.events, draw);

function draw(view) {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => show(view));
}

// Returns the games that are played, and those that ended a moment ago; if all are over, all of them. The first boards of
// a page, also without scripts, are from `boards_of` in `pages/tournament.py`, which does not know when games ended.
function boardsOf(view) {
  const games = [...view.games.values()];
  const now = performance.now();
  for (const game of games) {
    if (game.state !== "ended" || endedAt.has(game.name)) continue;
    // The page does not show what was over before.
    endedAt.set(game.name, told ? now : now - HELD);
    setTimeout(draw, HELD, view);
  }
  const boards = games.filter((game) => game.state !== "ended" || now < endedAt.get(game.name) + HELD);
  return boards.length ? boards : games;
}

function show(view) {
  const [tournament] = view.tournaments.values();
  const games = boardsOf(view);
  // Between two games the boards keep their space, so that the tables below do not move.
  const boards = document.getElementById("boards-part");
  if (boards) {
    const running = tournament?.state === "running";
    const grid = document.getElementById("grid");
    boards.hidden = !games.length && !running;
    if (games.length) grid.hidden = false;
    const title = document.getElementById("boards");
    const over = games.length && games.every((game) => game.state === "ended");
    title.textContent = over ? title.dataset.over : title.dataset.live;
    showGames(grid, games, { more: running, stopped: view.stopped });
    showNumbers(tournament?.live_games ?? [], games.length);
  }
  if (!tournament) return;
  showProgress(tournament);
  if (first === null) first = tournament.games_done;
  else if (tournament !== told) wanted = true;
  told = tournament;
  // The page can have an older state, or report that play has stopped.
  if (state !== tournament.state || reason !== (tournament.reason ?? "")) wanted = true;
  state = tournament.state;
  reason = tournament.reason ?? "";
  refresh();
}

// Links to all live games if there are more than boards. A link that stays is the same element, so it keeps the focus.
function showNumbers(numbers, boards) {
  const place = document.getElementById("live-games");
  place.hidden = numbers.length <= boards;
  const links = new Map([...place.querySelectorAll("a")].map((link) => [Number(link.textContent), link]));
  for (const [number, link] of links) if (!numbers.includes(number)) link.remove();
  let before = null;
  for (const number of [...numbers].reverse()) {
    let link = links.get(number);
    if (!link) {
      link = document.createElement("a");
      link.href = `${place.dataset.game}${number}`;
      link.textContent = number;
    }
    if (link.nextElementSibling !== before || !link.isConnected) place.insertBefore(link, before);
    before = link;
  }
}

function showProgress(tournament) {
  const bar = document.getElementById("progress");
  if (!bar) return; // The page of a bracket and of a ladder has no progress by games.
  const { games_done: done, games_total: scheduled } = tournament;
  document.getElementById("progress-part").hidden = !scheduled;
  if (!scheduled) return;
  document.getElementById("done").textContent = count(done);
  // The games of later rounds are not scheduled yet. A tournament without an end has no bar.
  if (bar.hidden) return;
  const total = Math.max(scheduled, Number(bar.dataset.expected));
  bar.max = total;
  bar.value = done;
  document.getElementById("total").textContent = count(total);
}

// At most every three seconds, and once more after the last change. The site sends the parts that have changed.
async function refresh() {
  if (asking || !wanted) return;
  asking = true;
  wanted = false;
  try {
    await refreshParts(page, (part) => part.dataset.part === "desk" && isActing(part));
  } catch {
    wanted = true; // the site cannot be reached, which the events report
  }
  setTimeout(() => {
    asking = false;
    refresh();
  }, TABLES_EVERY);
}

// Whether the user acts in a part, so that it must not change.
function isActing(part) {
  return part.contains(document.activeElement) || document.querySelector("dialog[open]");
}
