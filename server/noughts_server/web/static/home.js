// The start page: updates the featured game, the small boards and the tournaments. The site chooses the featured game.
// After its end, the page shows its result for a while, and then asks for the next one.
import { Board } from "./boards.js";
import { follow } from "./feed.js";
import { showGames } from "./grid.js";
import { showTimes } from "./page.js";
import { set, showStrips } from "./strips.js";
import { _, beforeFirstMove, reason } from "./words.js";

const HELD = 8000; // Milliseconds for which the result of a featured game is shown.
const SMALL = 3;
const SOON = 1000; // Milliseconds from the first tournament until an empty page is loaded again.
const STALE = 15000; // Milliseconds after which the tournaments are fetched again if games were played.
const by = (id) => document.getElementById(id);
let view = null;
let game = null;
let board = null;
let timer = 0;
let drawing = 0;
let asking = false;
let askedAt = performance.now();

const isEmpty = by("hall").dataset.empty !== undefined; // Without any tournament, the page has only the first steps.

follow(by("hall").dataset.events, (told) => {
  view = told;
  if (isEmpty) {
    if (told.games.size || told.tournaments.size) timer ||= setTimeout(() => location.reload(), SOON);
    return;
  }
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(show);
});
setInterval(() => game && showStrips(game, game.moves.length, game.heard, view.stopped), 100);

function show() {
  const name = by("featured").dataset.live;
  const games = [...view.games.values()];
  game = view.games.get(name) ?? (game?.name === name ? game : null);
  if (game) showFeatured();
  // A game that is over keeps its place until another game needs it, so that nothing moves.
  const others = games.filter((each) => each.name !== name).slice(0, SMALL);
  const eventOf = (each) => {
    const [, id] = each.name.split("/");
    return view.tournaments.get(`tournaments/${id}`)?.title || id;
  };
  showGames(by("grid"), others, { more: true, keeps: (each) => each !== name, stopped: view.stopped, eventOf });
  if (by("grid").children.length) by("grid-part").hidden = false;
  checkTournaments();
  const next = games.some((each) => each.name !== name && each.state === "running");
  if (!next || (game?.state === "running" && view.games.has(name))) return;
  // Without a live game, or if the site no longer has it, there is no result to show.
  if (!game || game.state !== "ended") ask();
  else if (!timer) timer = setTimeout(ask, HELD);
}

function showFeatured() {
  const svg = document.querySelector("#board svg");
  if (svg && board?.svg !== svg) board = new Board(svg);
  board?.show(game);
  showStrips(game, game.moves.length, game.heard, view.stopped);
  const air = document.querySelector(".on-air");
  if (air && game.state === "ended") Object.assign(air, { className: "muted", textContent: _("Just ended") });
  if (game.state === "ended") set(by("featured").querySelector(".caption a"), _("Replay this game"));
  set(
    by("featured-said"),
    game.state === "ended"
      ? result()
      : game.moves.length
        ? _("Move %(number)s", { number: game.moves.length })
        : beforeFirstMove(game),
  );
}

function result() {
  const winner = { "1-0": game.first, "0-1": game.second }[game.result];
  if (winner) return _("%(winner)s won: %(reason)s", { winner, reason: reason(game) });
  return game.result === "*" ? _("Void") : _("A draw");
}

// Asks for the tournaments again if one that runs is missing, or after a while if games were played, so that the leader
// and the number of games in a row are those of one moment.
function checkTournaments() {
  const rows = [...document.querySelectorAll("#running [data-name]")];
  const names = rows.map((row) => row.dataset.name);
  const isNew = (each) => each.state === "running" && !names.includes(each.name);
  const hasPlayed = ({ dataset }) => (view.tournaments.get(dataset.name)?.games_done ?? 0) > Number(dataset.done);
  const hasPlace = rows.length < Number(by("running").dataset.most);
  if (
    (hasPlace && [...view.tournaments.values()].some(isNew)) ||
    (performance.now() - askedAt > STALE && rows.some(hasPlayed))
  )
    ask();
}

// Replaces the featured game and the tournaments by those of the current page.
async function ask() {
  if (asking) return;
  asking = true;
  askedAt = performance.now();
  try {
    const answer = await fetch("/", { cache: "no-cache" });
    if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The site cannot be reached, which the events report.
  }
  clearTimeout(timer);
  timer = 0;
  setTimeout(() => {
    asking = false;
    if (view) show();
  }, 1000);
}

function replace(fresh) {
  showTimes(fresh);
  for (const id of ["own-part", "running-part", "starts-part"]) {
    const part = fresh.getElementById(id);
    if (part) by(id)?.replaceWith(part);
  }
  const featured = fresh.getElementById("featured");
  // The page can be older than the events: the same game must not go back to an earlier state.
  if (featured.dataset.live && featured.dataset.live === by("featured").dataset.live) return;
  by("featured").replaceWith(featured);
  game = board = null;
}
