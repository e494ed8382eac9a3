// Small live boards with both players: one card for each game.
import { copy, cellName, element } from "./board.js";
import { Board, smallBoard } from "./boards.js";
import { clock } from "./clock.js";
import { POINTS, set, SIDES } from "./strips.js";
import { _, beforeFirstMove, ending } from "./words.js";

const boards = new WeakMap(); // By card.
const shown = new WeakMap(); // The game of each card.
const latest = new Map(); // The other arguments of `showGames`, by grid.
const KEPT = 5000; // Milliseconds.
const TICK = 250; // Milliseconds between two updates of the clocks.
const PIECE = 40; // The size of a cell of `board_svg.py`.
let ticking = 0;

// Every card keeps its place. A card of a game that has left stays if `keeps(name)`; else its place stays empty for a
// while, in which a new game can take it. Then the next cards move up. If no `more` games will follow, empty places at
// the end go at once. The clocks stop while the server cannot be reached (`stopped`). `eventOf(game)` is the
// tournament's title.
export function showGames(grid, games, { more = false, keeps = () => false, stopped = null, eventOf } = {}) {
  latest.set(grid, { games, options: { more, keeps, stopped, eventOf } });
  const names = new Set(games.map((game) => game.name));
  const cards = new Map(
    [...grid.children].filter((card) => names.has(card.dataset.name)).map((card) => [card.dataset.name, card]),
  );
  const free = [...grid.children].filter((card) => !names.has(card.dataset.name));
  for (const game of games) {
    let card = cards.get(game.name);
    if (!card) {
      card = newCard(game, () => {
        const { games: newest, options } = latest.get(grid);
        showGames(grid, newest, options);
      });
      if (!card) continue;
      if (eventOf) card.append(Object.assign(labelled("span", "event"), { textContent: eventOf(game) }));
      const place = free.shift();
      if (place) place.replaceWith(card);
      else grid.append(card);
    }
    fill(card, game);
  }
  for (const card of free) if (card.dataset.name && !keeps(card.dataset.name)) card.replaceWith(emptyCard());
  const longAgo = performance.now() - KEPT;
  for (const card of [...grid.children]) if (card.dataset.since <= longAgo) card.remove();
  while (!more && grid.lastElementChild && !grid.lastElementChild.dataset.name) grid.lastElementChild.remove();
  ticking ||= setInterval(tick, TICK);
  tick();
}

function emptyCard() {
  const card = document.createElement("div");
  card.className = "small-game";
  card.dataset.since = performance.now();
  return card;
}

// A card with the board of this game; null until the board is `ready`.
function newCard(game, ready) {
  const board = game.board ? smallBoard(game, ready) : "";
  if (board === null) return null;
  const card = document.createElement("a");
  card.className = "small-game";
  card.dataset.name = game.name;
  card.href = `/${game.name}`;
  card.title = `${game.first} – ${game.second}`;
  card.append(board, ...SIDES.map((side) => playerOf(game, board, side)), labelled("span", "said"));
  return card;
}

// The line of a player: piece, name, and the clock or the points.
function playerOf(game, board, side) {
  const line = labelled("span", `pair ${side}`);
  if (board) {
    const piece = element("svg", { viewBox: `0 0 ${PIECE} ${PIECE}`, "aria-hidden": "true" });
    piece.setAttribute("class", `piece ${board.getAttribute("class")}`);
    piece.append(copy(board, `stone ${side}`, { x: PIECE / 2, y: PIECE / 2 }));
    line.append(piece);
  }
  const label = labelled("span", "label");
  label.append(cut(game[side]));
  line.append(label, " ", document.createElement("b"));
  return line;
}

// A name that keeps its end if it is too long for its place, as in `words.py`.
const KEPT_END = 6;
function cut(name) {
  if (name.length <= 2 * KEPT_END) return name;
  const parts = labelled("span", "cut");
  for (const text of [name.slice(0, -KEPT_END), name.slice(-KEPT_END)])
    parts.append(Object.assign(document.createElement("span"), { textContent: text }));
  return parts;
}

function labelled(tag, kind) {
  return Object.assign(document.createElement(tag), { className: kind });
}

function fill(card, game) {
  shown.set(card, game);
  card.classList.toggle("live", game.state === "running");
  card.classList.toggle("over", game.state === "ended");
  const { moves, state } = game;
  const last = game.board ? cellName(game.board, moves.at(-1)) : moves.at(-1);
  const live = moves.length
    ? _("move %(number)s: %(cell)s", { number: moves.length, cell: last })
    : beforeFirstMove(game);
  const said = state === "ended" ? (game.result === "*" ? _("void") : ending(game)) : live;
  // The text changes with each move, like the board.
  if (game.board && card.querySelector(".said").textContent !== said) {
    if (!boards.has(card)) boards.set(card, new Board(card.querySelector("svg"), { labels: false }));
    boards.get(card).show(game);
  }
  set(card.querySelector(".said"), said);
}

// Shows the clocks of live games, and the points of games that are over.
function tick() {
  for (const [grid, { options }] of latest)
    for (const card of grid.children) if (shown.has(card)) showPlayers(card, shown.get(card), options.stopped);
}

function showPlayers(card, game, stopped) {
  const over = game.state === "ended";
  const running = game.state === "running" ? game.moves.length % 2 : -1;
  SIDES.forEach((side, number) => {
    const left = game[`${side}_clock_us`] ?? null;
    const gone = number === running ? ((stopped ?? performance.now()) - game.heard) * 1000 : 0;
    const time = left === null ? "" : clock(Math.max(0, left - gone));
    const points = POINTS[game.result]?.[number] ?? "";
    const line = card.querySelector(`.${side}.pair`);
    line.classList.toggle("to-move", number === running);
    line.classList.toggle("winner", over && points === "1");
    set(line.querySelector("b"), over ? points : time);
  });
}
