// Boards as SVG: geometry, stones, last move, winning line and move numbers as one text. `board_svg.py` writes the same
// text on the server. Change both together, because a test compares them.

const CELL = 40, HALF = 20;
const EDGE = 8; // Space around a board without labels.
const BEYOND = 12; // How far the winning line reaches beyond the centres of its last stones.
const SIDES = ["first", "second"];

export function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function cellName(board, cell) {
  const { column, row } = square(board, cell);
  const name = board.names[column] + (board.rows - row);
  return board.layers > 1 ? layerOf(board, cell) + 1 + name : name;
}

// The places of the layers, which stand in rows of equal length, with labels or without.
export function layoutOf(board, labels = true) {
  const width = board.columns * CELL, height = board.rows * CELL;
  const across = Math.ceil(Math.sqrt(board.layers)), down = Math.ceil(board.layers / across);
  // Labels have about 11 px on a board that is as wide as a phone; the style sheet scales them elsewhere.
  const font = Math.floor(Math.max(across * width, down * height) / 28) + 1;
  const label = labels ? Math.floor((font * 8) / 5) : EDGE;
  const top = board.layers > 1 ? label : EDGE;
  const wide = label + width + EDGE, high = top + height + label;
  const corner = (layer) => ({ x: label + (layer % across) * wide, y: top + Math.floor(layer / across) * high });
  const centre = (cell) => {
    const { x, y } = corner(layerOf(board, cell)), { column, row } = square(board, cell);
    return { x: x + column * CELL + HALF, y: y + row * CELL + HALF };
  };
  return { board, width, height, font, label, across, wholeWidth: across * wide, wholeHeight: down * high, corner, centre };
}

function layerOf(board, cell) {
  return Math.floor(cell / (board.columns * board.rows));
}

// Column and row of the cell in its layer.
function square(board, cell) {
  return { column: cell % board.columns, row: Math.floor(cell / board.columns) % board.rows };
}

function labelsOf({ board, width, height, label, corner }) {
  const away = Math.floor(label / 2);
  return range(board.layers).flatMap((layer) => {
    const { x, y } = corner(layer);
    return [
      ...board.names.map((name, column) => text("name", x + column * CELL + HALF, y + height + away, name)),
      ...range(board.rows).map((row) => text("name", x - away, y + row * CELL + HALF, board.rows - row)),
      ...(board.layers > 1 ? [text("name", x + Math.floor(width / 2), y - away, `layer ${layer + 1}`)] : []),
    ];
  });
}

// The straight lines of winning cells through the last move, in its layer.
function winningLines({ board, centre }, won, last) {
  const at = square(board, last), ends = new Map();
  for (const cell of won) {
    if (cell === last || layerOf(board, cell) !== layerOf(board, last)) continue;
    const { column, row } = square(board, cell), x = column - at.column, y = row - at.row;
    const step = divisor(Math.abs(x), Math.abs(y)) * (cell > last ? 1 : -1);
    const way = `${x / step},${y / step}`;
    if (!ends.has(way)) ends.set(way, { x: x / step, y: y / step, cells: [last] });
    ends.get(way).cells.push(cell);
  }
  return [...ends.values()].map(({ x, y, cells }) => {
    const one = centre(Math.min(...cells)), other = centre(Math.max(...cells));
    const ahead = x * BEYOND, down = y * BEYOND;
    return tag("path", "win-line", { d: `M${one.x - ahead} ${one.y - down}L${other.x + ahead} ${other.y + down}` });
  });
}

function divisor(one, other) {
  return other ? divisor(other, one % other) : one;
}

// Stones on the intersections of a wooden board. Places are the centres of stones, or the corner of a layer.
const stones = {
  marksBelow: false, // Whether winning cells and the last move are marked under the stones.
  back(layout, x, y) {
    const stars = layout.board.stars.map((cell) => {
      const { column, row } = square(layout.board, cell);
      return circle("star", x + column * CELL + HALF, y + row * CELL + HALF, 4);
    });
    return [rect("wood", x, y, layout.width, layout.height), grid(layout, x, y, HALF), ...stars];
  },
  stone: (cell, side, x, y) => tag("circle", `stone ${side}`, { "data-cell": cell, cx: x, cy: y, r: 18 }),
  front: () => [],
  mark: circle,
};

// Discs behind the holes of a plate.
const plate = {
  ...stones,
  back: ({ width, height }, x, y) => [rect("behind", x, y, width, height)],
  front({ board, width, height }, x, y) {
    const places = range(board.columns * board.rows).map((cell) => square(board, cell));
    const hole = "a16 16 0 1 0 32 0a16 16 0 1 0 -32 0z";
    const holes = places.map(({ column, row }) => `M${x + column * CELL + 4} ${y + row * CELL + HALF}${hole}`);
    return [tag("path", "cover", { d: `M${x} ${y}h${width}v${height}h-${width}z${holes.join("")}` })];
  },
};

// Crosses and noughts in squares.
const marks = {
  ...stones,
  marksBelow: true,
  back: (layout, x, y) => [rect("paper", x, y, layout.width, layout.height), grid(layout, x, y, 0)],
  stone(cell, side, x, y, cross) {
    if (cross) return tag("path", `stone ${side} cross`, { "data-cell": cell, d: `M${x - 10} ${y - 10}l20 20m0 -20l-20 20` });
    return tag("circle", `stone ${side} nought`, { "data-cell": cell, cx: x, cy: y, r: 11 });
  },
  mark: (kind, x, y) => rect(kind, x - HALF, y - HALF, CELL, CELL),
};

const LOOKS = { stones, plate, marks };

// The lines of the layer whose corner is here; without inset they are around the cells.
function grid({ board, width, height }, left, above, inset) {
  const more = inset ? 0 : 1, x = left + inset, y = above + inset;
  const down = range(board.columns + more).map((column) => `M${x + column * CELL} ${y}v${height - 2 * inset}`);
  const across = range(board.rows + more).map((row) => `M${x} ${y + row * CELL}h${width - 2 * inset}`);
  return tag("path", "lines", { d: [...down, ...across].join("") });
}

// The board after `ply` moves, by default all: the attributes of its svg element and the parts of its groups. `numbers`:
// how many of the last moves have their number; `swapped`: the first side has the noughts.
function drawing(game, ply, { numbers = 0, labels = true, swapped = false } = {}) {
  const { board, moves } = game, layout = layoutOf(board, labels), look = LOOKS[board.look];
  const shown = moves.slice(0, ply);
  const won = shown.length && shown.length === moves.length ? (game.winning_cells ?? []) : [];
  const places = shown.map((cell, at) => ({ side: SIDES[at % 2], cell, ...layout.centre(cell) }));
  const corners = range(board.layers).map(layout.corner);

  const back = corners.flatMap(({ x, y }) => look.back(layout, x, y));
  if (labels) back.push(...labelsOf(layout));
  const played = places.map(({ side, cell, x, y }) => look.stone(cell, side, x, y, (side === "first") !== swapped));
  const top = corners.flatMap(({ x, y }) => look.front(layout, x, y));
  const marked = look.marksBelow ? back : top;
  if (won.length) {
    marked.push(...won.map(layout.centre).map(({ x, y }) => look.mark("won", x, y, 18)));
    top.push(...winningLines(layout, won, shown.at(-1)));
  } else if (places.length && !numbers) {
    const { side, x, y } = places.at(-1);
    marked.push(look.mark(`last ${side}`, x, y, 5));
  }
  for (let at = Math.max(0, places.length - numbers); at < places.length; at++) {
    const { side, x, y } = places[at];
    const kind = `order ${side}${at === places.length - 1 ? " newest" : ""}`;
    top.push(text(kind, x, y, at + 1));
  }

  const loser = won.length ? ` ${SIDES[shown.length % 2]}-lost` : "";
  return {
    attributes: { class: `board ${board.look}`, viewBox: `0 0 ${layout.wholeWidth} ${layout.wholeHeight}`, "font-size": layout.font, "aria-hidden": true },
    groups: [["back", back], [`played${loser}`, played], ["top", top]],
  };
}

// The board as text.
export function boardSvg(game, ply, options) {
  const { attributes, groups } = drawing(game, ply, options);
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`).join("");
  return `<svg${written}>${groups.map(([kind, parts]) => `<g class="${kind}">${parts.join("")}</g>`).join("")}</svg>`;
}

// What the next move on this cell would add: its stone and, where stones fall, the column.
export function ghostSvg(game, cell, { swapped = false } = {}) {
  const { board, moves } = game, layout = layoutOf(board), side = SIDES[moves.length % 2];
  const { x, y } = layout.centre(cell), above = layout.corner(layerOf(board, cell)).y;
  const column = board.gravity ? rect("column", x - HALF, above, CELL, layout.height) : "";
  return column + LOOKS[board.look].stone(cell, side, x, y, (side === "first") !== swapped).replace("stone", "ghost");
}

const STILL = matchMedia("(prefers-reduced-motion: reduce)");

// Makes a board that was drawn before, here or by the server, the board after `ply` moves. Only parts that differ are
// replaced, so stones that stay do not flicker.
export function draw(svg, game, ply, options) {
  drawing(game, ply, options).groups.forEach(([kind, parts], at) => {
    const group = svg.children[at], before = group.children.length;
    if (group.getAttribute("class") !== kind) group.setAttribute("class", kind);
    parts.forEach((part, number) => {
      const child = group.children[number];
      if (!child) group.insertAdjacentHTML("beforeend", part);
      else if (child.outerHTML !== part) child.outerHTML = part;
    });
    while (group.children.length > parts.length) group.lastChild.remove();
    if (game.board.gravity && kind.startsWith("played") && parts.length === before + 1) fall(group.lastChild);
  });
}

// A disc that was just played falls from above the board.
function fall(stone) {
  if (STILL.matches) return;
  const { y, height } = stone.getBBox();
  stone.animate({ transform: [`translateY(-${y + height}px)`, "none"] }, { duration: 250, easing: "ease-in" });
}

function range(length) {
  return Array.from({ length }, (_, at) => at);
}

function tag(name, kind, attributes, words = "") {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`).join("");
  return `<${name} class="${kind}"${written}>${words}</${name}>`;
}

function rect(kind, x, y, width, height) {
  return tag("rect", kind, { x, y, width, height });
}

function circle(kind, x, y, radius) {
  return tag("circle", kind, { cx: x, cy: y, r: radius });
}

function text(kind, x, y, words) {
  return tag("text", kind, { x, y }, words);
}
