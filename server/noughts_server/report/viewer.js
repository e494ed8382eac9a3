// Steps through the games of a report. The page puts `board.js` before it, which shows moves on the boards.
const MARKS = ["X", "O"];

// A game as it stands in the page, by names.
function read(data, row) {
  const [
    number,
    variant,
    drawn,
    first,
    second,
    result,
    termination,
    opening,
    moves,
    times,
    won,
    lines,
    fault,
    adjudication,
  ] = row;
  return {
    number,
    result,
    termination,
    opening,
    moves,
    times,
    fault,
    adjudication,
    winning_cells: won,
    winning_lines: lines,
    drawn: data.boards[drawn],
    board: data.variants[variant],
    first: data.labels[first],
    second: data.labels[second],
  };
}

function words(game, ply) {
  const parts = [`Ply ${ply} of ${game.moves.length}`];
  if (ply > 0) {
    const side = (ply - 1) % 2;
    const time = game.times[ply - 1];
    const put = ply <= game.opening ? ", opening" : time === undefined ? "" : `, ${milliseconds(time)}`;
    parts.push(`${MARKS[side]} ${side ? game.second : game.first}: ${cellName(game.board, game.moves[ply - 1])}${put}`);
  }
  if (ply === game.moves.length) {
    parts.push(`${game.result}, ${game.termination}`);
    if (game.fault) parts.push(`the loser ${game.fault}`);
    if (game.adjudication) parts.push(game.adjudication);
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
    case "ArrowLeft":
      return Math.max(0, ply - 1);
    case "ArrowRight":
      return Math.min(plies, ply + 1);
    case "Home":
      return 0;
    case "End":
      return plies;
    default:
      return null;
  }
}

// The games of one bot, or all of them for "".
function chosen(games, bot) {
  return games.filter((game) => !bot || game.first === bot || game.second === bot);
}

function start(document) {
  const holder = document.getElementById("games-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const games = data.games.map((row) => read(data, row));
  const by = (id) => document.getElementById(id);
  const list = by("game-list");
  const filter = by("game-filter");
  const slider = by("game-ply");
  let game = null;
  let drawn = ""; // The board on the page.
  let ply = 0;

  function show() {
    if (drawn !== game.drawn) by("game-board").innerHTML = drawn = game.drawn;
    draw(by("game-board").firstChild, game, ply);
    const said = words(game, ply);
    by("game-words").textContent = said;
    by("game-title").textContent = title(game);
    slider.max = game.moves.length;
    slider.value = ply;
    slider.setAttribute("aria-valuetext", said);
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
    list.replaceChildren(
      ...found.map((each) => {
        const option = document.createElement("option");
        option.value = each.number;
        option.textContent = title(each);
        return option;
      }),
    );
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
  for (const [id, key] of [
    ["game-begin", "Home"],
    ["game-back", "ArrowLeft"],
    ["game-on", "ArrowRight"],
    ["game-end", "End"],
  ]) {
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

if (typeof document !== "undefined") start(document);
