// Shows moves on a board that `board_svg.py` drew for scripts: copies of its parts, at the centres that it names.

const SIDES = ["first", "second"];
const FALL = 250; // Milliseconds in which a disc falls.

export function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function cellName(board, cell) {
  const name = board.names[cell % board.columns] + (board.rows - (Math.floor(cell / board.columns) % board.rows));
  return board.layers > 1 ? layerOf(board, cell) + 1 + name : name;
}

function layerOf(board, cell) {
  return Math.floor(cell / (board.columns * board.rows));
}

// Returns the function from a cell to its centre on this board; null for a cell that a cropped board does not show.
export function centres(svg, board) {
  const xs = svg.dataset.x.split(" ").map(Number);
  const ys = svg.dataset.y.split(" ").map(Number);
  return (cell) => {
    const layer = layerOf(board, cell);
    const x = xs[layer * board.columns + (cell % board.columns)];
    const y = ys[layer * board.rows + (Math.floor(cell / board.columns) % board.rows)];
    return x >= 0 && y >= 0 ? { x, y } : null;
  };
}

// Returns whether the board shows the cells of all moves of the game.
export function covers(svg, game) {
  const centre = centres(svg, game.board);
  return game.moves.every((cell) => centre(cell));
}

// Returns a copy, at this place, of the part whose classes begin with `kind`.
export function copy(svg, kind, place, attributes = {}) {
  const made = svg.querySelector(`defs > [data-part^="${kind}"]`).cloneNode();
  made.setAttribute("class", made.dataset.part);
  made.removeAttribute("data-part");
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (place) made.setAttribute("transform", `translate(${place.x} ${place.y})`);
  return made;
}

// Returns the parts that show a possible move on this cell: its stone and, if stones fall, the column.
export function ghost(svg, game, cell) {
  const { board, moves } = game;
  const centre = centres(svg, board);
  const stone = copy(svg, `stone ${SIDES[moves.length % 2]}`, centre(cell), { "data-cell": cell });
  stone.classList.replace("stone", "ghost");
  const area = board.columns * board.rows;
  const top = layerOf(board, cell) * area + (cell % board.columns);
  return board.gravity ? [copy(svg, "column", centre(top)), stone] : [stone];
}

// Shows the game after `ply` moves, with the numbers of the last `numbers` moves. Replaces only parts that differ, so
// that the other stones do not flicker.
export function draw(svg, game, ply, numbers = 0) {
  const { board, moves } = game;
  const centre = centres(svg, board);
  const shown = moves.slice(0, ply).map((cell, at) => ({ cell, side: SIDES[at % 2], order: at + 1, at: centre(cell) }));
  const seen = shown.filter(({ at }) => at);
  const over = shown.length > 0 && shown.length === moves.length;
  const won = over ? (game.winning_cells ?? []) : [];
  const marks = won.flatMap((cell) => (centre(cell) ? [copy(svg, "won", centre(cell))] : []));
  const last = shown.at(-1);
  const below = svg.querySelector(".below");
  const dot = last?.at && !numbers && !(won.length && below) ? [copy(svg, `last ${last.side}`, last.at)] : [];
  const ends = (won.length ? (game.winning_lines ?? []) : []).map((cells) => cells.map(centre));
  const lines = ends.filter((each) => each.every(Boolean)).map((each) => line(svg, ...each));
  const numbered = seen.filter(({ order }) => order > shown.length - numbers);
  const orders = numbered.map(({ side, order, at }) => {
    const made = copy(svg, `order ${side}`, at);
    made.textContent = order;
    made.classList.toggle("newest", order === shown.length);
    return made;
  });

  const played = svg.querySelector(".played");
  const before = played.children.length;
  const kind = won.length ? `played ${SIDES[shown.length % 2]}-lost` : "played";
  if (played.getAttribute("class") !== kind) played.setAttribute("class", kind);
  fill(
    played,
    seen.map(({ cell, side, at }) => copy(svg, `stone ${side}`, at, { "data-cell": cell })),
  );
  if (below) fill(below, [...marks, ...dot]);
  fill(svg.querySelector(".top"), below ? [...lines, ...orders] : [...marks, ...lines, ...dot, ...orders]);
  if (board.gravity && seen.length === before + 1) fall(svg, played.lastChild, last.at);
}

// Returns the winning line, which is a little longer than the distance of its ends.
function line(svg, from, to) {
  const beyond = Number(svg.dataset.beyond);
  const x = beyond * Math.sign(to.x - from.x);
  const y = beyond * Math.sign(to.y - from.y);
  return copy(svg, "win-line", null, { d: `M${from.x - x} ${from.y - y}L${to.x + x} ${to.y + y}` });
}

function fill(group, parts) {
  parts.forEach((part, at) => {
    const before = group.children[at];
    if (!before) group.append(part);
    else if (!before.isEqualNode(part)) before.replaceWith(part);
  });
  while (group.children.length > parts.length) group.lastChild.remove();
}

// Animates the newest disc: it falls from above the board. What marks it appears when it has landed.
function fall(svg, stone, { x, y }) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { height } = stone.getBBox();
  const transform = [`translate(${x}px, -${height / 2}px)`, `translate(${x}px, ${y}px)`];
  stone.animate({ transform }, { duration: FALL, easing: "ease-in" });
  for (const mark of svg.querySelectorAll(".top > :not(.order), .top > .newest"))
    mark.animate({ opacity: [0, 0] }, { duration: FALL });
}
