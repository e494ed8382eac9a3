// Boards as the SVG text that `board.svg.jinja` writes on the server. Change both together: a test compares them.

const CELL = 40;
const HALF = 20;
const EDGE = 2;
const APART = 8; // Space around a board without labels, and between layers.
const BEYOND = 12; // How far the winning line reaches beyond the centres of its last stones.
// A board of more columns or rows is cropped to its stones with so many free ones around, but not below a least size.
const LARGEST_WHOLE = 20;
const AROUND = 3;
const LEAST_CROPPED = 15;
const SIDES = ["first", "second"];

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

// The places of the layers, which stand in rows of equal length, with labels or without. Of a large board it has only
// the area in use, if `used` are the cells of all moves: cells outside have no place.
export function layoutOf(board, { labels = true, used = null } = {}) {
  const [{ start: left, size: columns }, { start: above, size: rows }] = area(board, used);
  const width = columns * CELL;
  const height = rows * CELL;
  const across = Math.ceil(Math.sqrt(board.layers));
  const down = Math.ceil(board.layers / across);
  // Labels have about 11 px on a board that is as wide as a phone; the style sheet scales them elsewhere.
  const font = Math.floor(Math.max(across * width, down * height) / 28) + 1;
  const edge = board.layers > 1 ? APART : EDGE;
  const label = labels ? Math.floor((font * 8) / 5) : edge;
  const top = board.layers > 1 ? label : edge;
  const wide = label + width + edge;
  const high = top + height + label;
  const corner = (layer) => ({ x: label + (layer % across) * wide, y: top + Math.floor(layer / across) * high });
  // Column and row of the cell in what is shown of its layer.
  const square = (cell) => ({
    column: (cell % board.columns) - left,
    row: (Math.floor(cell / board.columns) % board.rows) - above,
  });
  const centre = (cell) => {
    const { x, y } = corner(layerOf(board, cell));
    const { column, row } = square(cell);
    return { x: x + column * CELL + HALF, y: y + row * CELL + HALF };
  };
  const shows = (cell) => {
    const { column, row } = square(cell);
    return column >= 0 && column < columns && row >= 0 && row < rows;
  };
  return {
    board,
    left,
    above,
    columns,
    rows,
    width,
    height,
    font,
    label,
    across,
    wholeWidth: across * wide,
    wholeHeight: down * high,
    corner,
    square,
    centre,
    shows,
  };
}

// The first of the columns that are shown and their number, and the same of the rows.
function area({ columns, rows, layers }, used) {
  const all = [columns, rows];
  if (used === null || layers > 1 || Math.max(...all) <= LARGEST_WHOLE) return all.map((size) => ({ start: 0, size }));
  const cells = used.length ? used : [Math.floor(rows / 2) * columns + Math.floor(columns / 2)];
  const places = [cells.map((cell) => cell % columns), cells.map((cell) => Math.floor(cell / columns))];
  const ends = places.map((at) => ({ low: Math.min(...at), high: Math.max(...at) }));
  const most = Math.max(LEAST_CROPPED, ...ends.map(({ low, high }) => high - low + 1 + 2 * AROUND));
  return ends.map(({ low, high }, axis) => {
    const size = Math.min(most, all[axis]);
    return { start: Math.max(0, Math.min(all[axis] - size, Math.floor((low + high + 1 - size) / 2))), size };
  });
}

function layerOf(board, cell) {
  return Math.floor(cell / (board.columns * board.rows));
}

function labelsOf({ board, left, above, columns, rows, width, height, label, corner }) {
  const away = Math.floor(label / 2);
  return range(board.layers).flatMap((layer) => {
    const { x, y } = corner(layer);
    return [
      ...board.names
        .slice(left, left + columns)
        .map((name, column) => text("name", x + column * CELL + HALF, y + height + away, name)),
      ...range(rows).map((row) => text("name", x - away, y + row * CELL + HALF, board.rows - above - row)),
      ...(board.layers > 1 ? [text("name", x + Math.floor(width / 2), y - away, `layer ${layer + 1}`)] : []),
    ];
  });
}

// The straight lines of winning cells through the last move, in its layer.
function winningLines({ board, square, centre }, won, last) {
  const at = square(last);
  const ends = new Map();
  for (const cell of won) {
    if (cell === last || layerOf(board, cell) !== layerOf(board, last)) continue;
    const { column, row } = square(cell);
    const x = column - at.column;
    const y = row - at.row;
    const step = divisor(Math.abs(x), Math.abs(y)) * (cell > last ? 1 : -1);
    const way = `${x / step},${y / step}`;
    if (!ends.has(way)) ends.set(way, { x: x / step, y: y / step, cells: [last] });
    ends.get(way).cells.push(cell);
  }
  return [...ends.values()].map(({ x, y, cells }) => {
    const one = centre(Math.min(...cells));
    const other = centre(Math.max(...cells));
    const ahead = x * BEYOND;
    const down = y * BEYOND;
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
    const stars = layout.board.stars.filter(layout.shows).map((cell) => {
      const { column, row } = layout.square(cell);
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
  front({ columns, rows, width, height, square }, x, y) {
    const places = range(columns * rows).map(square);
    const hole = "a16 16 0 1 0 32 0a16 16 0 1 0 -32 0z";
    const holes = places.map(({ column, row }) => `M${x + column * CELL + 4} ${y + row * CELL + HALF}${hole}`);
    return [tag("path", "cover", { d: `M${x} ${y}h${width}v${height}h-${width}z${holes.join("")}` })];
  },
};

// Crosses and noughts in squares.
const marks = {
  ...stones,
  marksBelow: true,
  back: ({ width, height }, x, y) => [rect("paper", x, y, width, height)],
  front: (layout, x, y) => [grid(layout, x, y, 0)],
  stone(cell, side, x, y, cross) {
    if (cross)
      return tag("path", `stone ${side} cross`, { "data-cell": cell, d: `M${x - 10} ${y - 10}l20 20m0 -20l-20 20` });
    return tag("circle", `stone ${side} nought`, { "data-cell": cell, cx: x, cy: y, r: 11 });
  },
  mark: (kind, x, y) => rect(kind, x - HALF, y - HALF, CELL, CELL),
};

const LOOKS = { stones, plate, marks };

// The lines of the layer whose corner is here; without inset they are around the cells. Where the board continues, they
// reach the edge.
function grid({ board, left: before, above: over, columns, rows, width, height }, x, y, inset) {
  const more = inset ? 0 : 1;
  const left = before ? 1 : inset;
  const above = over ? 1 : inset;
  const right = before + columns === board.columns ? inset : 1;
  const below = over + rows === board.rows ? inset : 1;
  const down = range(columns + more).map(
    (column) => `M${x + inset + column * CELL} ${y + above}v${height - above - below}`,
  );
  const across = range(rows + more).map((row) => `M${x + left} ${y + inset + row * CELL}h${width - left - right}`);
  return tag("path", "lines", { d: [...down, ...across].join("") });
}

// The board after `ply` moves, by default all: the attributes of its svg element and the parts of its groups. `numbers`:
// how many of the last moves have their number; `swapped`: the first side has the noughts; `whole`: a large board, too, is
// shown with its unused parts.
function drawing(game, ply, { numbers = 0, labels = true, swapped = false, whole = false } = {}) {
  const { board, moves } = game;
  const layout = layoutOf(board, { labels, used: whole ? null : moves });
  const look = LOOKS[board.look];
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
    attributes: {
      class: `board ${board.look}`,
      viewBox: `0 0 ${layout.wholeWidth} ${layout.wholeHeight}`,
      "font-size": layout.font,
      "aria-hidden": true,
    },
    groups: [
      ["back", back],
      [`played${loser}`, played],
      ["top", top],
    ],
  };
}

// The board as text.
export function boardSvg(game, ply, options) {
  const { attributes, groups } = drawing(game, ply, options);
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${value}"`)
    .join("");
  return `<svg${written}>${groups.map(([kind, parts]) => `<g class="${kind}">${parts.join("")}</g>`).join("")}</svg>`;
}

// What the next move on this cell would add: its stone and, where stones fall, the column.
export function ghostSvg(game, cell, { swapped = false } = {}) {
  const { board, moves } = game;
  const layout = layoutOf(board);
  const side = SIDES[moves.length % 2];
  const { x, y } = layout.centre(cell);
  const above = layout.corner(layerOf(board, cell)).y;
  const column = board.gravity ? rect("column", x - HALF, above, CELL, layout.height) : "";
  return column + LOOKS[board.look].stone(cell, side, x, y, (side === "first") !== swapped).replace("stone", "ghost");
}

// Makes a board that was drawn before, here or by the server, the board after `ply` moves. Only parts that differ are
// replaced, so stones that stay do not flicker.
export function draw(svg, game, ply, options) {
  const { attributes, groups } = drawing(game, ply, options);
  for (const name of ["viewBox", "font-size"])
    if (svg.getAttribute(name) !== String(attributes[name])) svg.setAttribute(name, attributes[name]);
  groups.forEach(([kind, parts], at) => {
    const group = svg.children[at];
    const before = group.children.length;
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
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { y, height } = stone.getBBox();
  stone.animate({ transform: [`translateY(-${y + height}px)`, "none"] }, { duration: 250, easing: "ease-in" });
}

function range(length) {
  return Array.from({ length }, (_, at) => at);
}

function tag(name, kind, attributes, words = "") {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${value}"`)
    .join("");
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
