// Live events of one resource: they keep the state of its games and tournaments up to date.
import { _ } from "./words.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

// Opens the events at an address, and again if the site refuses the request: the browser only reconnects by itself after
// a lost connection. `listen` adds the listeners to each source.
export function openEvents(address, listen) {
  let source = null;
  let wait = FIRST_WAIT;
  let timer = 0;

  function open() {
    source = new EventSource(address);
    source.addEventListener("open", () => (wait = FIRST_WAIT));
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT);
    });
    listen(source);
  }

  open();
  return {
    close() {
      clearTimeout(timer);
      source.close();
    },
  };
}

// Follows the events at an address until they end, and calls `changed(view)` after each event. A hidden tab stops
// listening, and continues when it is visible again.
export function follow(address, changed) {
  // `stopped`: the time since which the site or its server cannot be reached, so that clocks stop; else null.
  const view = { games: new Map(), tournaments: new Map(), stopped: null };
  let events = null;
  let seen = false;
  let over = false;

  function start() {
    if (!events && !over && !document.hidden) events = openEvents(address, listen);
  }
  function listen(source) {
    const on = (kind, act) => source.addEventListener(kind, (event) => act(JSON.parse(event.data)));
    on("snapshot", (told) => {
      seen = true;
      reset(view, told);
      back();
    });
    on("increments", (told) => {
      apply(view, told);
      back();
    });
    on("away", (told) => away(`${told.message} ${told.hint}`));
    on("back", back);
    on("over", () => {
      over = true;
      back();
      stop();
    });
    source.addEventListener("error", () => away(_("Connection lost. Reconnecting…")));
  }
  function away(words) {
    view.stopped ??= performance.now();
    showAway(words);
    if (seen) changed(view);
  }
  function back() {
    view.stopped = null;
    showAway(null);
    if (seen) changed(view);
  }
  function stop() {
    events?.close();
    events = null;
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", start);
  start();
}

function reset(view, snapshot) {
  const heard = performance.now();
  view.games = new Map(snapshot.games.map((game) => [game.name, { ...game, heard: heard - game.age_ms }]));
  view.tournaments = new Map(snapshot.tournaments.map((each) => [each.name, each]));
}

// Apply the fields in the order that feed.proto defines.
function apply(view, increments) {
  const heard = performance.now();
  for (const name of increments.gone) {
    view.games.delete(name);
    view.tournaments.delete(name);
  }
  for (const game of increments.games) view.games.set(game.name, { ...game, heard });
  for (const ply of increments.plies) {
    const game = view.games.get(ply.game);
    if (!game) continue;
    game.moves.push(ply.cell);
    game.times_us.push(ply.time_us);
    game.heard = heard;
    if (ply.first_clock_us !== null) game.first_clock_us = ply.first_clock_us;
    if (ply.second_clock_us !== null) game.second_clock_us = ply.second_clock_us;
    if (ply.score !== null) game.scores[ply.ply] = ply.score;
  }
  for (const end of increments.ends) {
    const game = view.games.get(end.game);
    if (game)
      Object.assign(game, {
        state: "ended",
        result: end.result,
        termination: end.termination,
        winning_cells: end.winning_cells,
        winning_lines: end.winning_lines,
      });
  }
  for (const told of increments.tournaments) {
    // Only the rows that changed are sent.
    const rows = new Map((view.tournaments.get(told.name)?.standings ?? []).map((row) => [row.standing.label, row]));
    for (const row of told.standings) rows.set(row.standing.label, row);
    view.tournaments.set(told.name, { ...told, standings: [...rows.values()].sort((a, b) => a.rank - b.rank) });
  }
}

function showAway(words) {
  const banner = document.getElementById("away");
  banner.hidden = words === null;
  if (words !== null) banner.textContent = words;
}
