// The page of a game: its board at any ply, its moves, clocks and scores. It follows a live game.
import { analyse } from "./analysis.js";
import { goOn, keepAround } from "./around.js";
import { cellName } from "./board.js";
import { Board } from "./boards.js";
import { copyText } from "./clipboard.js";
import { follow } from "./feed.js";
import { markedMistakes, showBetter, showMistakes } from "./mistakes.js";
import { showOpinion } from "./opinion.js";
import { plyAt, showScores } from "./scores.js";
import { chime, isSoundKept, keepSound, knock } from "./sound.js";
import { openingPlies, set, showStrips } from "./strips.js";
import { onPointed, showLine, showThoughts } from "./thoughts.js";
import { _, fault, locale, ngettext, reason } from "./words.js";

const SHORTEST = 150;
const LONGEST = 8000; // Milliseconds between two moves of automatic play.
const by = (id) => document.getElementById(id);
const drawnBoard = document.querySelector("#board svg");
const board = drawnBoard && new Board(drawnBoard);
let game = JSON.parse(by("game").textContent);
const { first, second } = game; // The names as the page shows them: the feed has the names of entries.
let heard = performance.now() - (game.age_ms ?? 0);
let stopped = null;
let ply = linkedPly() ?? game.moves.length;
let isChosen = linkedPly() !== null; // Whether the visitor has chosen the position, and not this page.
let following = ply === game.moves.length;
let left = game.moves.length; // The number of moves when the visitor left the newest position.
let playing = 0;

// Returns the ply in the address, e.g. `?ply=12` or `#12`; null without one.
function linkedPly() {
  const named = new URLSearchParams(location.search).get("ply") ?? /^#(\d+)$/.exec(location.hash)?.[1];
  return named ? Math.min(Number(named), game.moves.length) : null;
}

function show() {
  const numbers = Number(by("numbers")?.value ?? 0);
  board?.show(game, ply, { numbers, whole: pressed("zoom") });
  const slider = by("ply");
  slider.max = game.moves.length;
  slider.value = ply;
  const words = sentence();
  slider.setAttribute("aria-valuetext", words);
  set(by("words"), words);
  set(by("outcome"), outcome());
  by("outcome").className = `outcome ${game.state}`;
  by("outcome").classList.toggle("drawn", game.result === "1/2-1/2");
  if (by("link")) by("link").value = `${location.origin}/${game.name}?ply=${ply}`;
  if (by("picture")) by("picture").href = `/${game.name}.svg?ply=${ply}&numbers=${numbers}`;
  if (by("png")) by("png").href = `/${game.name}.png?ply=${ply}`;
  if (by("sgf")) by("sgf").hidden = game.state !== "ended";
  if (by("explorer"))
    by("explorer").href = by("explorer").href.replace(
      /moves=.*/,
      `moves=${game.moves.slice(0, Math.min(ply, 12)).join()}`,
    );
  for (const [id, off] of [
    ["begin", ply === 0],
    ["back", ply === 0],
    ["on", ply === game.moves.length],
    ["end", ply === game.moves.length],
  ])
    by(id).disabled = off;
  const mistake = showMistakes(game, isChosen ? ply : -1, cell, go);
  if (board) showBetter(board.svg, game, mistake);
  showTry(mistake);
  showOpinion(game, ply);
  showLive();
  showScores(game, ply);
  showThoughts(game, ply, cell);
  showMoves(); // After what takes space from the list of moves, which scrolls to the current one.
  showStrips(game, ply, heard, stopped);
}

function sentence() {
  const where = _("Move %(number)s of %(moves)s.", { number: ply, moves: game.moves.length });
  if (!ply) return where;
  const time = game.times_us[ply - 1];
  const values = { player: ply % 2 ? game.first : game.second, cell: cell(game.moves[ply - 1]) };
  const move =
    ply <= openingPlies(game)
      ? _("%(player)s: %(cell)s, opening.", values)
      : time === undefined
        ? _("%(player)s: %(cell)s.", values)
        : _("%(player)s: %(cell)s, %(time)s.", { ...values, time: seconds(time) });
  return `${where} ${move}`;
}

function cell(number) {
  return game.board ? cellName(game.board, number) : String(number);
}

function outcome() {
  if (game.state === "waiting")
    return game.moves.length ? _("Waiting for the players to reconnect.") : _("The game has not started.");
  if (game.state !== "ended")
    return _("Live: %(player)s is to move.", { player: game.moves.length % 2 ? game.second : game.first });
  const winner = { "1-0": game.first, "0-1": game.second }[game.result];
  const values = { winner, reason: reason(game) };
  if (winner) return _("%(winner)s won: %(reason)s.", values);
  return game.result === "*" ? _("Void: it counts for nothing.") : _("A draw: %(reason)s.", values);
}

// Shows the fault by which a bot lost a game that has just ended. The events do not have it.
async function showFault() {
  const answer = await fetch(`/api/v1/${game.name}`).catch(() => null);
  game.fault = answer?.ok ? (await answer.json()).game.fault : "";
  by("fault").hidden = !game.fault;
  if (!game.fault) return;
  by("fault").textContent = `${fault(game)}.`;
  show();
}

// Returns e.g. `3.7 s`, `0.05 s` or `< 0.01 s`, which does not break between two lines.
function seconds(micros) {
  const digits = micros < 1e5 ? 2 : 1;
  const number = (value) =>
    value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const words = _("%(seconds)s s", { seconds: number(Math.max(micros / 1e6, 0.01)) });
  return (micros < 1e4 ? `< ${words}` : words).replaceAll(" ", "\u00a0");
}

// The link that opens this position against a bot: the position before the last move if the game ended on the board, and
// the one before a mistake.
function showTry(mistake) {
  const link = by("try");
  if (!link) return;
  const over = game.state === "ended" && ["line", "board_full"].includes(game.termination);
  const start = mistake ? mistake.ply : Math.min(ply, game.moves.length - (over ? 1 : 0));
  const query = new URLSearchParams({ variant: link.dataset.variant, moves: game.moves.slice(0, start).join() });
  link.href = `/play?${query}`;
  const words = mistake ? _("Play this move yourself") : _("Play the last move yourself");
  set(link, start === ply ? _("Play on from here yourself") : words);
}

// The button to the newest position, with the number of moves since the visitor left it.
function showLive() {
  by("live").hidden = game.state === "ended" || following;
  const missed = Math.max(0, game.moves.length - left);
  set(
    by("live"),
    missed ? ngettext("%(num)s new move, back to live", "%(num)s new moves, back to live", missed) : _("Back to live"),
  );
}

// Each move is a link to its position, with its mark if it is a mistake, and its thinking time.
function showMoves() {
  const list = by("moves");
  const marks = new Map(markedMistakes().map((each) => [each.ply, each]));
  while (list.children.length > game.moves.length) list.lastChild.remove();
  for (let at = list.children.length; at < game.moves.length; at++) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `/${game.name}?ply=${at + 1}`;
    item.append(link);
    list.append(item);
  }
  [...list.children].forEach((item, at) => {
    const link = item.firstChild;
    const { mark = "", words = "" } = marks.get(at) ?? {};
    const name = `${cell(game.moves[at])}${mark}`;
    if (link.dataset.move !== name) {
      const time = game.times_us[at];
      const shownMark = document.createElement("i");
      shownMark.title = words;
      shownMark.textContent = mark;
      link.dataset.move = name;
      link.replaceChildren(cell(game.moves[at]), shownMark);
      link.dataset.time = at < openingPlies(game) ? _("opening") : time === undefined ? "" : seconds(time);
    }
    if (at === ply - 1) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  });
  scrollToMove();
}

// Scrolls the list so that the current move is in its middle.
function scrollToMove() {
  const current = by("moves").children[ply - 1];
  const place = by("moves").parentElement;
  place.scrollTop = current ? current.offsetTop + (current.offsetHeight - place.clientHeight) / 2 : 0;
}

function go(to) {
  const before = ply;
  isChosen = true;
  if (following) left = game.moves.length;
  ply = Math.max(0, Math.min(game.moves.length, to));
  following = ply === game.moves.length;
  history.replaceState(null, "", following ? location.pathname : `?ply=${ply}`);
  if (ply === before + 1) sound();
  show();
}

function sound() {
  if (pressed("sound")) knock();
}

// Plays the moves one after the other, each after its thinking time.
function play() {
  clearTimeout(playing);
  playing = 0;
  if (pressed("play") && ply === game.moves.length && game.state === "ended") press("play", false);
  by("play").setAttribute("aria-label", pressed("play") ? _("Pause") : _("Play"));
  if (!pressed("play") || ply === game.moves.length) return;
  const wait = Math.max(SHORTEST, Math.min(LONGEST, (game.times_us[ply] ?? 0) / 1000));
  playing = setTimeout(
    () => {
      go(ply + 1);
      play();
    },
    wait / Number(by("speed").value),
  );
}

const pressed = (id) => by(id)?.getAttribute("aria-pressed") === "true";
const press = (id, on) => by(id).setAttribute("aria-pressed", String(on));

// The actions of buttons and keys.
const ACTIONS = {
  begin: () => go(0),
  back: () => go(ply - 1),
  on: () => go(ply + 1),
  end: () => go(game.moves.length),
  live: () => go(game.moves.length),
  play() {
    if (!pressed("play") && ply === game.moves.length) go(0);
    press("play", !pressed("play"));
    play();
  },
  flip() {
    press("flip", !pressed("flip"));
    by("stage").classList.toggle("flipped", pressed("flip"));
  },
  zoom() {
    press("zoom", !pressed("zoom"));
    show();
  },
  sound() {
    press("sound", !pressed("sound"));
    keepSound(pressed("sound"));
    sound();
  },
  help: () => by("keys").showModal(),
};
const KEYS = {
  ArrowLeft: "back",
  ArrowRight: "on",
  Home: "begin",
  End: "end",
  " ": "play",
  f: "flip",
  z: "zoom",
  s: "sound",
  "?": "help",
};

addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, dialog, .scroll")) return;
  if (event.key === " " && event.target.closest("a, button, summary")) return;
  if (event.key === "n" && by("numbers")) {
    by("numbers").selectedIndex = (by("numbers").selectedIndex + 1) % by("numbers").length;
    by("numbers").dispatchEvent(new Event("change"));
  }
  const action = KEYS[event.key];
  if (!action || !by(action)) return;
  event.preventDefault();
  ACTIONS[action]();
});
for (const [id, act] of Object.entries(ACTIONS)) by(id)?.addEventListener("click", act);
by("ply").addEventListener("input", (event) => go(Number(event.target.value)));
by("moves").addEventListener("click", (event) => {
  const item = event.target.closest("li");
  if (!item || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go([...by("moves").children].indexOf(item) + 1);
});
by("score-graph").addEventListener("click", (event) => go(plyAt(event, game)));
by("speed").addEventListener("change", play);
for (const id of ["speed", "numbers"]) {
  by(id)?.addEventListener("change", () => {
    keep(id, by(id).value);
    show();
  });
}
onPointed(
  () => game,
  (at, line) => {
    if (!board) return;
    showBetter(board.svg, game, null);
    showLine(board.svg, game, at, line);
  },
  () => show(),
);
addEventListener("hashchange", () => go(linkedPly() ?? game.moves.length));
for (const button of document.querySelectorAll("[data-copy]")) {
  const field = by(button.dataset.copy);
  button.addEventListener("click", () => copyText(button, field.value, () => field.select()));
}

// Choices of the visitor are stored in this browser, if it permits that.
function keep(name, value) {
  try {
    localStorage.setItem(`game-${name}`, value);
  } catch {
    // The browser does not permit it.
  }
}

function kept(name) {
  try {
    return localStorage.getItem(`game-${name}`);
  } catch {
    return null;
  }
}

for (const id of ["speed", "numbers"]) {
  const value = kept(id);
  const select = by(id);
  if ([...(select?.options ?? [])].some((option) => option.value === value)) select.value = value;
}
if (isSoundKept()) press("sound", true);

show();
new ResizeObserver(scrollToMove).observe(by("moves").parentElement);
if (by("around")) keepAround(game.name);
if (game.state === "ended") analyse(game.name, show);
else {
  let isOver = false; // The feed changes the game in place.
  const ticking = setInterval(() => showStrips(game, ply, heard, stopped), 100);
  follow(`/api/v1/${game.name}/events`, (view) => {
    stopped = view.stopped;
    const now = view.games.get(game.name);
    const before = game.moves.length;
    if (!now) return;
    game = Object.assign(now, { first, second });
    heard = now.heard;
    if (following || ply > game.moves.length) ply = game.moves.length;
    if (following && game.moves.length === before + 1) sound();
    if (!isOver && game.state === "ended") {
      isOver = true;
      clearInterval(ticking);
      document.title = `${game.result} ${document.title}`;
      by("match")?.remove(); // Its score is that before this game.
      if (pressed("sound") && ["1-0", "0-1"].includes(game.result)) chime();
      showFault();
      if (following && by("around")) goOn(game.name);
      analyse(game.name, show);
    }
    show();
    if (pressed("play") && !playing) play();
  });
}
