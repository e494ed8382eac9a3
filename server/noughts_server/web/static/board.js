// Boards as SVG: ten units a cell, layers beside each other; crosses and noughts, or on large boards numbered stones.

const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function cellName(board, cell) {
  const column = cell % board.columns, above = Math.floor(cell / board.columns);
  const layer = Math.floor(above / board.rows);
  const name = board.names[column] + (board.rows - (above % board.rows));
  return board.layers > 1 ? layer + 1 + name : name;
}

// The svg element shows the first `ply` moves of the game, with noughts for crosses if `swapped`. Only what has changed is touched: stones that stay do not flicker.
export function draw(svg, game, ply, swapped = false) {
  const board = game.board;
  if (svg.dataset.variant !== game.variant) prepare(svg, game);
  const stones = svg.querySelector(".stones");
  const shown = Math.max(0, Math.min(ply, game.moves.length));
  const fits = shown >= stones.children.length && game.moves.slice(0, stones.children.length).every((cell, at) => stones.children[at].dataset.cell === String(cell));
  if (!fits) {
    const keep = [...stones.children].findIndex((stone, at) => at >= shown || stone.dataset.cell !== String(game.moves[at]));
    while (keep >= 0 && stones.children.length > keep) stones.lastChild.remove();
  }
  while (stones.children.length < shown) stones.append(stone(board, game.moves[stones.children.length], stones.children.length, swapped));
  const won = shown === game.moves.length ? (game.winning_cells ?? []) : [];
  svg.querySelector(".won-cells").replaceChildren(...won.map((cell) => square(board, cell, 0, "won")));
  svg.querySelector(".last-cell").replaceChildren(...(shown ? [square(board, game.moves[shown - 1], 0.5, "last")] : []));
}

function prepare(svg, game) {
  const { columns, rows, layers, names } = game.board;
  const width = layers * (columns * 10 + 8), height = rows * 10 + 8;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", isLarge(game.board) ? "board large" : "board");
  svg.dataset.variant = game.variant;
  const back = element("g", { class: "back" });
  for (let layer = 0; layer < layers; layer++) {
    const left = layer * (columns * 10 + 8) + 7;
    back.append(element("rect", { x: left, y: 1, width: columns * 10, height: rows * 10, class: "wood" }));
    let lines = "";
    for (let column = 0; column <= columns; column++) lines += `M${left + column * 10} 1v${rows * 10}`;
    for (let row = 0; row <= rows; row++) lines += `M${left} ${1 + row * 10}h${columns * 10}`;
    back.append(element("path", { d: lines, class: "lines" }));
    for (let column = 0; column < columns; column++) back.append(element("text", { x: left + column * 10 + 5, y: height - 1.6, class: "name" }, names[column]));
    for (let row = 0; row < rows; row++) back.append(element("text", { x: left - 3.4, y: row * 10 + 7.4, class: "name" }, String(rows - row)));
  }
  svg.replaceChildren(back, element("g", { class: "won-cells" }), element("g", { class: "stones" }), element("g", { class: "last-cell" }));
}

function isLarge(board) {
  return board.columns > 9 || board.gravity;
}

// Where the cell's corner is.
export function place(board, cell) {
  const column = cell % board.columns, above = Math.floor(cell / board.columns);
  return { x: Math.floor(above / board.rows) * (board.columns * 10 + 8) + 7 + column * 10, y: 1 + (above % board.rows) * 10 };
}

function square(board, cell, inset, kind) {
  const { x, y } = place(board, cell);
  return element("rect", { x: x + inset, y: y + inset, width: 10 - 2 * inset, height: 10 - 2 * inset, class: kind });
}

function stone(board, cell, ply, swapped) {
  const { x, y } = place(board, cell);
  const side = ply % 2 ? "second" : "first";
  const made = element("g", { class: `stone ${side}${board.gravity ? " falls" : ""}` });
  made.dataset.cell = cell;
  if (isLarge(board)) {
    made.append(element("circle", { cx: x + 5, cy: y + 5, r: 4.3, class: "disc" }));
    if (!board.gravity) made.append(element("text", { x: x + 5, y: y + 6.4, class: "order" }, String(ply + 1)));
  } else if ((side === "first") !== swapped) {
    made.append(element("path", { d: `M${x + 2.4} ${y + 2.4}l5.2 5.2m0 -5.2l-5.2 5.2`, class: "cross" }));
  } else {
    made.append(element("circle", { cx: x + 5, cy: y + 5, r: 2.9, class: "nought" }));
  }
  return made;
}
