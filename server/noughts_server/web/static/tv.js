// The screen for a hall: live games on up to nine boards, and replays of finished games when nothing is live.
import { copy } from "./board.js";
import { Board, smallBoard } from "./boards.js";
import { follow } from "./feed.js";
import { set, showStrips, SIDES } from "./strips.js";
import { _, count, ending, ngettext } from "./words.js";

// In milliseconds.
const HELD = 6000; // The end of a game stays for at least this time.
const LINGER = 20_000; // After this time without another game, its board goes.
const STEP = 1000; // Between the last moves of a delayed game that has ended.
const REPLAY_STEP = 700;
const REFRESHED = 60_000;
const RESTING = 4000; // After this time without a movement of the pointer, the buttons go again.
const HALF = 20; // Half the size of a cell in pictures of boards.
const by = (id) => document.getElementById(id);
const tv = by("tv");
const most = Number(tv.dataset.boards);
const delay = Number(tv.dataset.delay);
let view = { games: new Map(), tournaments: new Map(), stopped: null };
let hasView = false; // Before the first events it is unknown whether a game is live.
let replays = JSON.parse(by("replays").textContent);
let variants = JSON.parse(by("variants").textContent); // The names of variants.
let nextReplay = 0;

// A board with its players. It shows a live game or a replay.
class Tile {
  constructor() {
    this.element = by("tile").content.firstElementChild.cloneNode(true);
    by("tiles").append(this.element);
    this.find = (name) => this.element.querySelector(`[data-is="${name}"]`);
    this.clear();
  }

  clear() {
    this.game = this.board = null;
    this.isReplay = false;
    this.ended = 0; // The time at which the end of the game was shown.
    this.element.hidden = true;
  }

  begin(game, isReplay) {
    this.clear();
    this.game = game;
    this.isReplay = isReplay;
    this.ply = isReplay ? (game.opening_plies ?? 0) : Math.max(0, game.moves.length - delay);
    this.moved = performance.now();
    // Until its picture is there, so that nothing moves then. Layers stand in a square.
    const { columns, rows, layers } = game.board ?? { layers: 0 };
    this.shape(layers === 1 ? columns / rows : 1);
    this.element.hidden = false;
    this.find("board").replaceChildren();
    for (const side of SIDES) {
      set(this.find(`label-${side}`), game[side]);
      this.find(`piece-${side}`).replaceChildren();
    }
    this.show();
  }

  // Sets the width of the board by its height.
  shape(ratio) {
    this.element.style.setProperty("--ratio", ratio);
  }

  // Whether another game can take the place.
  isFree(now) {
    return !this.game || this.isReplay || (this.ended > 0 && now - this.ended > HELD);
  }

  tick(now) {
    if (!this.game) return;
    if (!this.isReplay) this.game = view.games.get(this.game.name) ?? this.game;
    const { moves, state } = this.game;
    const before = this.ply;
    if (this.isReplay || state === "ended") {
      const step = this.isReplay ? REPLAY_STEP : delay ? STEP : 0;
      if (!step) this.ply = moves.length;
      else if (this.ply < moves.length && now - this.moved > step) this.ply += 1;
    } else this.ply = Math.min(moves.length, Math.max(this.ply, moves.length - delay));
    if (this.ply !== before) this.moved = now;
    if (state === "ended" && this.ply === moves.length) this.ended ||= now;
    this.show();
  }

  show() {
    const { game } = this;
    if (!this.board && game.board) {
      const svg = smallBoard(game, () => this.game === game && this.show());
      if (svg) {
        const { width, height } = svg.viewBox.baseVal;
        this.shape(width / height);
        this.find("board").replaceChildren(svg);
        this.board = new Board(svg, { labels: false });
        for (const side of SIDES) this.find(`piece-${side}`).replaceChildren(piece(svg, game.board.look, side));
        this.drawn = -1;
      }
    }
    if (this.board && this.drawn !== `${this.ply} ${game.state}`) {
      this.board.show(game, this.ply);
      this.drawn = `${this.ply} ${game.state}`;
    }
    showStrips(game, this.ply, game.heard, view.stopped, this.find);
    const event = this.find("event");
    const title = view.tournaments.get(game.name.split("/games/")[0])?.title;
    if (event) set(event, title ?? "");
    const variant = this.find("variant");
    if (variant) set(variant, variants[game.variant] ?? "");
    const air = this.find("air");
    const isLive = !this.isReplay && !this.ended;
    set(air, this.isReplay ? _("Replay") : isLive ? _("Live") : _("Just ended"));
    air.classList.toggle("on-air", isLive);
    const values = { number: this.ply, moves: game.moves.length };
    const move = this.isReplay ? _("move %(number)s of %(moves)s", values) : _("move %(number)s", values);
    set(this.find("said"), this.ended ? result(game) : move);
  }
}

function piece(svg, look, side) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("class", `piece board ${look}`);
  picture.setAttribute("viewBox", `0 0 ${2 * HALF} ${2 * HALF}`);
  picture.append(copy(svg, `stone ${side}`, { x: HALF, y: HALF }));
  return picture;
}

// The points in the strips of the players say who won.
function result(game) {
  const reason = ending(game);
  if (["1-0", "0-1"].includes(game.result)) return reason;
  return game.result === "*" ? _("void") : _("a draw: %(reason)s", { reason });
}

const tiles = Array.from({ length: most }, () => new Tile());

function tick() {
  const now = performance.now();
  for (const tile of tiles) tile.tick(now);
  const shown = new Set(tiles.map((tile) => tile.game?.name));
  for (const game of view.games.values()) {
    if (game.state !== "running" || shown.has(game.name)) continue;
    const tile = tiles.find((each) => !each.game) ?? tiles.find((each) => each.isFree(now));
    if (tile) tile.begin(game, false);
  }
  const isLive = tiles.some((tile) => tile.game && !tile.isReplay && now - (tile.ended || now) < LINGER);
  for (const tile of tiles) {
    if (isLive && tile.game && (tile.isReplay || now - (tile.ended || now) > LINGER)) tile.clear();
    if (!isLive && hasView && replays.length && (tile.isReplay ? tile.ended && now - tile.ended > HELD : true))
      replay(tile);
  }
  const count = tiles.filter((tile) => tile.game).length;
  if (hasView) by("tiles").dataset.count = count;
  by("nothing").hidden = count > 0 || !hasView;
}

// Shows the next replay that no other board shows.
function replay(tile) {
  const shown = new Set(tiles.filter((each) => each !== tile).map((each) => each.game?.name));
  for (let tried = 0; tried < replays.length; tried++) {
    const game = replays[nextReplay++ % replays.length];
    if (!shown.has(game.name)) {
      tile.begin(game, true);
      return;
    }
  }
  tile.clear();
}

function showTournaments() {
  for (const table of document.querySelectorAll("[data-standings]")) {
    const told = view.tournaments.get(table.dataset.standings);
    if (!told?.standings.length) continue;
    const standings = [...told.standings].sort((a, b) => a.rank - b.rank);
    [...table.tBodies[0].rows].forEach((row, at) => {
      const standing = standings[at]?.standing;
      row.hidden = !standing;
      if (!standing) return;
      const texts = [place(standing, at + 1), standing.label, points(standing.points)];
      texts.forEach((text, column) => set(row.cells[column], String(text)));
    });
  }
  for (const each of view.tournaments.values()) {
    const place = document.querySelector(`[data-done="${each.name}"]`);
    if (place) set(place, ngettext("%(num)s game", "%(num)s games", each.games_done));
  }
}

// Hides the last rows of the panel that have no place, and says how many there are, with those that the page has not.
function fitRows() {
  const others = by("others");
  if (!others) return;
  const part = others.parentElement;
  const rows = [...part.querySelectorAll(":scope > ul > li, :scope > table > tbody > tr:not([hidden])")];
  for (const row of rows) row.classList.remove("beyond");
  let left = Math.max(0, Number(others.dataset.rows) - rows.length);
  for (const row of rows.reverse()) {
    others.hidden = !left;
    set(others, ngettext("and %(num)s other", "and %(num)s others", left));
    if (part.scrollHeight <= part.clientHeight) break;
    row.classList.add("beyond");
    left += 1;
  }
}

// As `displayed_place` of the server.
function place(standing, position) {
  if (!standing.rank) return position;
  const hasResult = standing.wins + standing.draws + standing.losses > 0 || standing.points > 0;
  return hasResult ? standing.rank : "–";
}

function points(value) {
  const whole = Math.floor(value);
  return whole === value ? count(whole) : `${whole ? count(whole) : ""}½`;
}

// Standings of a screen that nothing has changed, the next start, and the games to replay.
async function refresh() {
  try {
    const answer = await fetch(location.href, { cache: "no-cache" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    replays = JSON.parse(fresh.getElementById("replays").textContent);
    variants = JSON.parse(fresh.getElementById("variants").textContent);
    by("panel")?.replaceWith(fresh.getElementById("panel"));
    showTournaments();
    fitRows();
  } catch {
    // The site cannot be reached, which the events report.
  }
}

// The screen stays on while the page is visible, if the browser permits it.
async function stayAwake() {
  try {
    await navigator.wakeLock?.request("screen");
  } catch {
    // The browser does not permit it, for example with an empty battery.
  }
}

const full = by("full");
if (full) {
  const show = () => full.classList.toggle("ready", document.fullscreenEnabled && !document.fullscreenElement);
  full.addEventListener("click", () =>
    document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
  );
  document.addEventListener("fullscreenchange", show);
  show();
}
let resting = 0;
function awake() {
  tv.classList.remove("resting");
  clearTimeout(resting);
  resting = setTimeout(() => tv.classList.add("resting"), RESTING);
}
document.addEventListener("pointermove", awake);
addEventListener("resize", fitRows);
document.addEventListener("visibilitychange", () => !document.hidden && stayAwake());
stayAwake();
follow(tv.dataset.events, (told) => {
  view = told;
  showTournaments();
  if (!hasView) fitRows();
  hasView = true;
});
setInterval(tick, 100);
setInterval(() => !document.hidden && refresh(), REFRESHED);
tick();
