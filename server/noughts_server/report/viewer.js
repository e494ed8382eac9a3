// Steps through the games of a report. What it draws follows from (game, ply) alone: see `view`.
"use strict";

const FIRST = "X", SECOND = "O";

// A game as it stands in the page, by names.
function read(data, row) {
  const [number, variant, first, second, result, termination, opening, moves, times, line, fault] = row;
  return {
    number, result, termination, opening, moves, times, line, fault,
    variant: data.variants[variant], first: data.labels[first], second: data.labels[second],
  };
}

function cellName(variant, cell) {
  const column = cell % variant.columns;
  const above = Math.floor(cell / variant.columns);
  const layer = Math.floor(above / variant.rows);
  const name = variant.columnNames[column] + (variant.rows - above % variant.rows);
  return variant.layers > 1 ? (layer + 1) + name : name;
}

// What the board shows after `ply` moves: stones by cell, and a sentence.
function view(game, ply) {
  const shown = Math.max(0, Math.min(ply, game.moves.length));
  const stones = game.moves.slice(0, shown).map((cell, index) => ({
    cell, mark: index % 2 ? SECOND : FIRST, number: index + 1, last: index === shown - 1,
    won: shown === game.moves.length && game.line.includes(cell),
  }));
  return { ply: shown, stones, words: words(game, shown) };
}

function words(game, ply) {
  const parts = [`Ply ${ply} of ${game.moves.length}`];
  if (ply > 0) {
    const side = (ply - 1) % 2;
    const time = game.times[ply - 1];
    const put = ply <= game.opening ? ", opening" : time === undefined ? "" : `, ${milliseconds(time)}`;
    parts.push(`${side ? SECOND : FIRST} ${side ? game.second : game.first}: ${cellName(game.variant, game.moves[ply - 1])}${put}`);
  }
  if (ply === game.moves.length) {
    parts.push(`${game.result}, ${game.termination}`);
    if (game.fault) parts.push(`the loser ${game.fault}`);
  }
  return parts.join(". ") + ".";
}

function milliseconds(time) {
  return time < 1000 ? `${time} ms` : `${(time / 1000).toFixed(2)} s`;
}

function title(game) {
  return `#${game.number}  ${game.first} – ${game.second}  ${game.result}  ${game.termination}, ${game.moves.length} plies`;
}

// Which ply a key leads to; null: the key is not for the board.
function keyed(key, ply, plies) {
  switch (key) {
    case "ArrowLeft": return Math.max(0, ply - 1);
    case "ArrowRight": return Math.min(plies, ply + 1);
    case "Home": return 0;
    case "End": return plies;
    default: return null;
  }
}

// The games of one bot, or all of them for "".
function chosen(games, bot) {
  return games.filter((game) => !bot || game.first === bot || game.second === bot);
}

const SVG = "http://www.w3.org/2000/svg";

function element(document, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The board as SVG: 10 units a cell, layers beside each other.
function board(document, game, state) {
  const { columns, rows, layers } = game.variant;
  const width = layers * (columns * 10 + 8), height = rows * 10 + 8;
  const large = columns > 9;
  const svg = element(document, "svg", {
    viewBox: `0 0 ${width} ${height}`, class: large ? "board" : "board small", "aria-hidden": "true",
    style: `max-width: ${width * 0.42}rem`,
  });
  for (let layer = 0; layer < layers; layer++) {
    const left = layer * (columns * 10 + 8) + 7;
    svg.append(element(document, "rect", { x: left, y: 1, width: columns * 10, height: rows * 10, class: "wood" }));
    for (let column = 0; column <= columns; column++) {
      svg.append(element(document, "path", { d: `M${left + column * 10} 1v${rows * 10}`, class: "grid" }));
    }
    for (let row = 0; row <= rows; row++) {
      svg.append(element(document, "path", { d: `M${left} ${1 + row * 10}h${columns * 10}`, class: "grid" }));
    }
    for (let column = 0; column < columns; column++) {
      svg.append(element(document, "text", { x: left + column * 10 + 5, y: height - 1.2, class: "name" }, game.variant.columnNames[column]));
    }
    for (let row = 0; row < rows; row++) {
      svg.append(element(document, "text", { x: left - 3.4, y: row * 10 + 7.6, class: "name" }, String(rows - row)));
    }
  }
  for (const stone of state.stones) {
    const column = stone.cell % columns, above = Math.floor(stone.cell / columns);
    const x = Math.floor(above / rows) * (columns * 10 + 8) + 7 + column * 10, y = 1 + above % rows * 10;
    const side = stone.mark === FIRST ? "first" : "second";
    if (stone.won) svg.append(element(document, "rect", { x, y, width: 10, height: 10, class: "won" }));
    if (large) {
      svg.append(element(document, "circle", { cx: x + 5, cy: y + 5, r: 4.3, class: `stone ${side}` }));
      svg.append(element(document, "text", { x: x + 5, y: y + 6.4, class: `number ${side}` }, String(stone.number)));
    } else if (stone.mark === FIRST) {
      svg.append(element(document, "path", { d: `M${x + 2.2} ${y + 2.2}l5.6 5.6m0 -5.6l-5.6 5.6`, class: "cross" }));
    } else {
      svg.append(element(document, "circle", { cx: x + 5, cy: y + 5, r: 3, class: "nought" }));
    }
    if (stone.last) svg.append(element(document, "rect", { x: x + 0.5, y: y + 0.5, width: 9, height: 9, class: "last" }));
  }
  return svg;
}

function start(document) {
  const holder = document.getElementById("games-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const games = data.games.map((row) => read(data, row));
  const by = (id) => document.getElementById(id);
  const list = by("game-list"), filter = by("game-filter"), slider = by("game-ply");
  let game = null, ply = 0;

  function show() {
    const state = view(game, ply);
    ply = state.ply;
    by("game-board").replaceChildren(board(document, game, state));
    by("game-words").textContent = state.words;
    by("game-title").textContent = title(game);
    slider.max = game.moves.length;
    slider.value = ply;
    slider.setAttribute("aria-valuetext", state.words);
  }
  function go(to) {
    ply = to;
    show();
  }
  function pick(wanted) {
    game = wanted;
    go(game.moves.length);
  }
  function fill() {
    const found = chosen(games, filter.value);
    list.replaceChildren(...found.map((each) => {
      const option = document.createElement("option");
      option.value = each.number;
      option.textContent = title(each);
      return option;
    }));
    list.selectedIndex = 0;
    pick(found[0]);
  }
  for (const label of data.labels) {
    const option = document.createElement("option");
    option.value = option.textContent = label;
    filter.append(option);
  }
  filter.addEventListener("change", fill);
  list.addEventListener("change", () => pick(games.find((each) => String(each.number) === list.value)));
  slider.addEventListener("input", () => go(Number(slider.value)));
  for (const [id, key] of [["game-begin", "Home"], ["game-back", "ArrowLeft"], ["game-on", "ArrowRight"], ["game-end", "End"]]) {
    by(id).addEventListener("click", () => go(keyed(key, ply, game.moves.length)));
  }
  by("game-board").addEventListener("keydown", (event) => {
    const to = event.altKey || event.ctrlKey || event.metaKey ? null : keyed(event.key, ply, game.moves.length);
    if (to === null) return;
    event.preventDefault();
    go(to);
  });
  fill();
  by("game-viewer").hidden = false;
}

if (typeof document === "undefined") module.exports = { read, cellName, view, title, keyed, chosen };
else start(document);
