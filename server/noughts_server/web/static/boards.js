// Boards on a page. The website draws the empty boards, and this script shows the moves on them.
import { covers, draw } from "./board.js";

const RETRY = 5000; // Milliseconds until a request that failed can be repeated.
const MOST = 50;
const drawn = new Map(); // The newest answers, as promises of the SVG text, by address.

// Returns an empty board for the game. A large board is cropped to the area around the outermost stones, unless `whole`
// is true. Returns null if the website cannot be reached.
async function emptyBoard(game, labels, whole) {
  const used = outermost(game).join();
  const address = `/board?${new URLSearchParams({ variant: game.variant, labels, whole, used })}`;
  if (!drawn.has(address)) drawn.set(address, load(address));
  if (drawn.size > MOST) drawn.delete(drawn.keys().next().value);
  const text = await drawn.get(address);
  return text && new DOMParser().parseFromString(text, "text/html").querySelector("svg");
}

async function load(address) {
  try {
    const answer = await fetch(address);
    if (answer.ok) return await answer.text();
  } catch {
    // The website cannot be reached, which the events report.
  }
  setTimeout(() => drawn.delete(address), RETRY);
  return null;
}

function outermost({ board, moves }) {
  const first = (order) => moves.reduce((best, cell) => (order(cell) < order(best) ? cell : best), moves[0]);
  const column = (cell) => cell % board.columns;
  return moves.length
    ? [first((cell) => cell), first((cell) => -cell), first(column), first((cell) => -column(cell))]
    : [];
}

// Returns a board without labels for a card of this game. Returns null at the first call for a variant: it requests the
// board, and calls `ready` when a later call will return it.
const small = new Map(); // Boards by variant; null while one is requested.
export function smallBoard(game, ready) {
  const known = small.get(game.variant);
  if (known === undefined) {
    small.set(game.variant, null);
    emptyBoard(game, false, false).then((svg) => {
      if (svg) small.set(game.variant, svg);
      else small.delete(game.variant);
      if (svg) ready();
    });
  }
  return known ? known.cloneNode(true) : null;
}

// A board on the page. It replaces its SVG by another one of the website if a stone is outside of the visible area, or if
// the visitor switches between the whole board and the area in use.
export class Board {
  constructor(svg, { labels = true } = {}) {
    this.svg = svg;
    this.labels = labels;
    this.whole = false;
    this.asking = false;
  }

  show(game, ply = game.moves.length, { numbers = 0, whole = false } = {}) {
    this.shown = [game, ply, { numbers, whole }];
    draw(this.svg, game, ply, numbers);
    if (!this.asking && (whole !== this.whole || !covers(this.svg, game))) this.redraw(game, whole);
  }

  async redraw(game, whole) {
    this.asking = true;
    const fresh = await emptyBoard(game, this.labels, whole);
    this.asking = false;
    if (!fresh) return;
    this.svg.replaceWith(fresh);
    this.svg = fresh;
    this.whole = whole;
    this.show(...this.shown);
  }
}
