// One game: its board at any ply, its moves, clocks and scores; live while it is played.
import { cellName, draw, element } from "./board.js";
import { showClocks } from "./clock.js";
import { follow } from "./feed.js";

const by = (id) => document.getElementById(id);
const svg = document.querySelector("#board svg");
let game = JSON.parse(by("game").textContent);
let heard = performance.now() - (game.age_ms ?? 0);
let stopped = null;
let ply = linkedPly() ?? game.moves.length;
let following = ply === game.moves.length;

// The ply that the address names, as in `#12`.
function linkedPly() {
  const named = /^#(\d+)$/.exec(location.hash);
  return named ? Math.min(Number(named[1]), game.moves.length) : null;
}

function show() {
  if (game.board) draw(svg, game, ply, { numbers: Number(by("numbers").value) });
  const slider = by("ply");
  slider.max = game.moves.length;
  slider.value = ply;
  const words = sentence();
  slider.setAttribute("aria-valuetext", words);
  by("words").textContent = words;
  by("outcome").textContent = outcome();
  by("outcome").className = `outcome ${game.state}`;
  const link = by("link");
  if (link) link.href = `#${ply}`;
  if (by("picture")) by("picture").href = `/${game.name}.svg?ply=${ply}&numbers=${by("numbers").value}`;
  for (const [id, off] of [["begin", ply === 0], ["back", ply === 0], ["on", ply === game.moves.length], ["end", ply === game.moves.length]]) by(id).disabled = off;
  showMoves();
  showScores();
  showClocks(game, heard, stopped);
}

function sentence() {
  const parts = [`Move ${ply} of ${game.moves.length}`];
  if (ply > 0) {
    const side = (ply - 1) % 2;
    const time = game.times_us[ply - 1];
    const opening = ply <= (game.opening_plies ?? 0);
    parts.push(`${side ? "O" : "X"} ${side ? game.second : game.first}: ${cell(game.moves[ply - 1])}${opening ? ", opening" : time === undefined ? "" : `, ${seconds(time)}`}`);
  }
  const said = parts.join(". ") + ".";
  return game.state === "ended" && ply === game.moves.length ? `${said} ${outcome()}` : said;
}

function cell(number) {
  return game.board ? cellName(game.board, number) : String(number);
}

function outcome() {
  if (game.state === "waiting") return game.moves.length ? "Waiting for the players to reconnect." : "The game has not started.";
  if (game.state !== "ended") return `${game.moves.length % 2 ? game.second : game.first} is to move.`;
  const winner = { "1-0": game.first, "0-1": game.second }[game.result];
  const ending = game.termination.replaceAll("_", " ");
  if (winner) return `${winner} won, ${game.result}: ${ending}.`;
  return game.result === "*" ? "Void: it counts for nothing." : `A draw: ${ending}.`;
}

function seconds(micros) {
  return micros < 1000 ? `${micros} µs` : micros < 1e6 ? `${(micros / 1000).toFixed(1)} ms` : `${(micros / 1e6).toFixed(2)} s`;
}

function showMoves() {
  const list = by("moves");
  while (list.children.length > game.moves.length) list.lastChild.remove();
  if (list.dataset.drawn !== "yes") {
    list.replaceChildren();
    list.dataset.drawn = "yes";
  }
  for (let at = list.children.length; at < game.moves.length; at++) {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", () => go(at + 1));
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  [...list.children].forEach((item, at) => {
    const button = item.firstChild, name = cell(game.moves[at]);
    if (button.textContent !== name) button.textContent = name;
    button.title = game.times_us[at] === undefined ? "" : seconds(game.times_us[at]);
    if (at === ply - 1) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  const current = list.children[ply - 1];
  if (current) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
}

function showScores() {
  const told = Object.entries(game.scores ?? {}).map(([at, score]) => [Number(at), score]);
  by("scores").hidden = told.length < 2;
  if (told.length < 2) return;
  const values = told.map(([, score]) => score);
  const least = Math.min(...values), most = Math.max(...values), plies = Math.max(2, game.moves.length);
  const x = (at) => 4 + (at / (plies - 1)) * 312, y = (score) => 114 - ((score - least) / (most - least || 1)) * 108;
  const lines = [0, 1].map((side) => {
    const points = told.filter(([at]) => at % 2 === side);
    const path = points.map(([at, score]) => `${x(at).toFixed(1)} ${y(score).toFixed(1)}`).join("L");
    return element("path", { class: `line ${side ? "second" : "first"}`, d: path ? `M${path}` : "" });
  });
  const here = x(Math.max(0, ply - 1)).toFixed(1);
  by("score-graph").replaceChildren(element("path", { class: "here", d: `M${here} 2V118` }), ...lines);
}

function go(to) {
  ply = Math.max(0, Math.min(game.moves.length, to));
  following = ply === game.moves.length;
  history.replaceState(null, "", following ? location.pathname : `#${ply}`);
  show();
}

const KEYS = { ArrowLeft: () => ply - 1, ArrowRight: () => ply + 1, Home: () => 0, End: () => game.moves.length };

addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in KEYS) || event.target.closest("input, select, .scroll")) return;
  event.preventDefault();
  go(KEYS[event.key]());
});
by("ply").addEventListener("input", (event) => go(Number(event.target.value)));
for (const [id, key] of [["begin", "Home"], ["back", "ArrowLeft"], ["on", "ArrowRight"], ["end", "End"]]) by(id).addEventListener("click", () => go(KEYS[key]()));
by("score-graph").addEventListener("click", (event) => {
  const box = by("score-graph").getBoundingClientRect();
  go(Math.round(((event.clientX - box.left) / box.width) * (game.moves.length - 1)) + 1);
});
by("numbers")?.addEventListener("change", show);
addEventListener("hashchange", () => go(linkedPly() ?? game.moves.length));

show();
if (game.state !== "ended") {
  const ticking = setInterval(() => showClocks(game, heard, stopped), 100);
  follow(`/api/v1/${game.name}/events`, (view) => {
    stopped = view.stopped;
    const now = view.games.get(game.name);
    if (!now) return;
    game = now;
    heard = now.heard;
    if (following || ply > game.moves.length) ply = game.moves.length;
    if (game.state === "ended") clearInterval(ticking);
    show();
  });
}
