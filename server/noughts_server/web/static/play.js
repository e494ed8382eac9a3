// The page of a table: a board on which a visitor plays by mouse, touch and keyboard.
import { analyse } from "./analysis.js";
import { cellName, centres, copy, draw, element, ghost } from "./board.js";
import { showClocks } from "./clock.js";
import { confirmed } from "./confirm.js";
import { follow } from "./feed.js";
import { mistakes, showBetter } from "./mistakes.js";
import { chime, isSoundKept, keepSound, knock } from "./sound.js";
import { _, ending } from "./words.js";

const MOST_BETTER = 4; // Better moves that are named after a lost game.
const by = (id) => document.getElementById(id);
const read = (id) => JSON.parse(by(id).textContent);
const address = location.pathname;
const svg = document.querySelector("#board svg");
let table = read("table");
let game = read("game");
let heard = performance.now() - (game.age_ms ?? 0);
let stopped = null;
let pollTimer = 0;
let sentPly = -1; // The ply of the move that was sent last; -1: none.
let lesson = null; // The visitor's last mistake in a lost game, as soon as it is known.
let advice = null; // The hint that the visitor asked for last: the ply, and the moves that are better than others.

const title = document.title;
const csrf = table.csrf;
const board = game.board;
const count = board ? board.columns * board.rows * board.layers : 0;
const cells = [];
const ghosts = element("g", { class: "ghosts", "aria-hidden": "true" });
let focused = 0;
let pointed = -1;

const over = () => game.state === "ended";
const toMove = () => game.moves.length % 2;
const mine = () => !over() && !table.waiting && table.sides.includes(toMove());

function makeCells() {
  const group = element("g", { class: "cells" });
  const centre = centres(svg, board);
  // Screen readers read the cells, each with its stone, instead of the drawing.
  svg.removeAttribute("aria-hidden");
  for (const part of svg.children) part.setAttribute("aria-hidden", "true");
  for (let cell = 0; cell < count; cell++) {
    const made = copy(svg, "cell", centre(cell), { role: "button", tabindex: -1 });
    made.addEventListener("click", () => play(cell));
    made.addEventListener("focus", () => focus(cell));
    cells.push(made);
    group.append(made);
  }
  group.addEventListener("keydown", pressed);
  group.addEventListener(
    "pointerover",
    (event) => event.pointerType === "mouse" && showGhost(cells.indexOf(event.target)),
  );
  for (const away of ["pointerout", "focusout"]) group.addEventListener(away, () => showGhost(-1));
  // A board of up to 20 columns fits on a phone. A wider one scrolls, so that its cells are large enough for a finger.
  svg.style.minWidth = `${svg.viewBox.baseVal.width * 0.42}px`;
  svg.append(ghosts, group);
  focus(board.gravity ? 0 : Math.floor(board.rows / 2) * board.columns + Math.floor(board.columns / 2));
}

function focus(cell) {
  cells[focused].setAttribute("tabindex", -1);
  focused = cell;
  cells[cell].setAttribute("tabindex", 0);
  if (cells[cell].matches(":focus-visible")) showGhost(cell);
}

// Shows the stone of a move on this cell. Shows nothing for -1, a taken cell, or if the visitor is not to move.
function showGhost(cell) {
  pointed = cell;
  const at = cell < 0 || !mine() ? -1 : landing(cell);
  ghosts.replaceChildren(...(at < 0 || game.moves.includes(at) ? [] : ghost(svg, game, at)));
}

function pressed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    play(focused);
    return;
  }
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!steps) return;
  event.preventDefault();
  const to = next(...steps);
  if (to < 0) return;
  focus(to);
  cells[to].focus();
}

// Returns the nearest cell in this direction, in any layer; -1 at the edge.
function next(across, down) {
  const centre = centres(svg, board);
  const here = centre(focused);
  let nearest = { cell: -1, away: Infinity };
  for (let cell = 0; cell < count; cell++) {
    const x = centre(cell).x - here.x;
    const y = centre(cell).y - here.y;
    const away = across * x + down * y;
    if (across * y + down * x === 0 && away > 0 && away < nearest.away) nearest = { cell, away };
  }
  return nearest.cell;
}

// Returns the cell in which a stone lands.
function landing(cell) {
  if (!board.gravity) return cell;
  const taken = new Set(game.moves);
  const column = cell % board.columns;
  let lowest = cell;
  for (let row = board.rows - 1; row >= 0; row--) {
    lowest = row * board.columns + column;
    if (!taken.has(lowest)) return lowest;
  }
  return lowest;
}

async function play(cell) {
  if (over()) return say(_("This game is over: start a new one."));
  if (table.waiting) return say(_("Wait: the other person has not come yet."));
  if (!mine()) return say(_("Wait: it is not your turn."));
  if (sentPly === game.moves.length) return;
  const at = landing(cell);
  if (game.moves.includes(at)) return say(_("%(cell)s is taken.", { cell: cellName(board, at) }));
  sentPly = game.moves.length;
  if (!(await post("move", { cell: at, ply: game.moves.length }))) sentPly = -1;
}

// Sends an action, and returns the new state of the table. After a refusal, shows the reason and returns null.
async function post(action, fields) {
  say("");
  try {
    const answer = await fetch(`${address}/${action}`, {
      method: "POST",
      headers: { "x-csrf": csrf },
      body: new URLSearchParams({ game: game.name, ...fields }),
    });
    const told = await answer.json();
    if (answer.ok) return told;
    say(`${told.message} ${told.hint}`);
  } catch {
    say(_("The website cannot be reached. Try again."));
  }
  return null;
}

async function again(fields) {
  const live = !over() && game.moves.length > table.opening;
  if (live && !(await confirmed(_("Abandon this game and start a new one?"), _("New game")))) return;
  begin("again", fields);
}

async function begin(action, fields = {}) {
  const told = await post(action, fields);
  if (told) location.reload();
}

function say(words) {
  by("problem").textContent = words;
}

function status() {
  const [me] = table.sides;
  const alone = table.sides.length === 1;
  if (over()) {
    const winner = { "1-0": 0, "0-1": 1 }[game.result];
    if (winner === undefined) return game.result === "*" ? _("This game was cancelled.") : _("A draw.");
    const reason = game.termination === "resigned" ? _("the other side has resigned") : ending(game);
    const values = { player: table.names[winner], reason };
    if (alone && winner === me) return _("You have won: %(reason)s.", values);
    if (alone && game.termination === "resigned") return _("You have resigned.");
    if (lost()) return _("You have lost: %(reason)s.", values);
    return _("%(player)s has won: %(reason)s.", values);
  }
  if (table.waiting) return _("Waiting for the other person.");
  if (alone && mine()) return _("Your turn: you are %(pieces)s.", { pieces: table.pieces[me] });
  return _("%(player)s is to move.", { player: table.names[toMove()] });
}

// Whether the visitor has lost. Two people at one screen have not.
function lost() {
  const winner = { "1-0": 0, "0-1": 1 }[game.result];
  return over() && table.sides.length === 1 && winner === 1 - table.sides[0];
}

function won() {
  const winner = { "1-0": 0, "0-1": 1 }[game.result];
  return over() && winner !== undefined && !lost();
}

// After a lost game, names the visitor's last mistake as soon as the server has analysed the game.
let isTeaching = false;
function teach() {
  if (!lost() || isTeaching) return;
  isTeaching = true;
  by("lesson").hidden = false;
  reveal(by("lesson"));
  analyse(game.name, () => {
    const own = ({ ply }) => ply % 2 === table.sides[0] && ply >= table.opening;
    lesson = mistakes().filter(own).at(-1) ?? null;
    by("lesson-said").textContent = lessonWords();
    by("lesson-progress").hidden = true;
    if (!lesson) return;
    by("lesson-show").hidden = !board;
    if (by("from-here")) by("from-here").hidden = false;
    show();
    reveal(by("lesson"));
  });
}

// Scrolls only as far as necessary: on a phone, the lesson is below the board.
function reveal(place) {
  place.scrollIntoView({ block: "nearest" });
}

function lessonWords() {
  if (!lesson)
    return by("analysis").dataset.state === "done"
      ? _("The analysis found no single move that lost the game.")
      : _("This game could not be analysed.");
  const cell = cellName(board, game.moves[lesson.ply]);
  const values = { number: lesson.ply + 1, cell, effect: lesson.effect };
  const better = lesson.better.slice(0, MOST_BETTER).map((each) => cellName(board, each));
  if (!better.length) return _("Your move %(cell)s (%(number)s in the list) %(effect)s.", values);
  return _("Your move %(cell)s (%(number)s in the list) %(effect)s. Better: %(better)s.", {
    ...values,
    better: better.join(", "),
  });
}

// Whether the board shows the position after the mistake, with the better moves.
const isShown = () => by("lesson-show").getAttribute("aria-pressed") === "true";

function show() {
  teach();
  const result = won() ? _("Won") : lost() ? _("Lost") : game.result === "*" ? _("Cancelled") : _("Draw");
  document.title = over() ? `${table.sides.length === 1 ? result : game.result}: ${title}` : title;
  if (board) {
    const mistake = isShown() ? lesson : null;
    draw(svg, game, mistake ? mistake.ply + 1 : game.moves.length);
    showBetter(svg, game, mistake ?? currentAdvice());
    svg.classList.toggle("mistaken", Boolean(mistake));
    by("legend").hidden = !mistake;
    showGhost(pointed);
    if (!cells.length) makeCells();
    svg.classList.toggle("lost", lost());
    svg.classList.toggle("open", mine());
    const owner = new Map(game.moves.map((cell, ply) => [cell, table.pieces[ply % 2]]));
    const free = _("free");
    cells.forEach((cell, at) => cell.setAttribute("aria-label", `${cellName(board, at)}, ${owner.get(at) ?? free}`));
  }
  by("moves").innerHTML = game.moves.map((cell) => `<li><b>${board ? cellName(board, cell) : cell}</b></li>`).join("");
  by("moves").parentNode.scrollTop = 0; // The end of the list.
  const given = currentAdvice();
  const words = given ? `${status()} ${_("Hint: %(cell)s.", { cell: cellName(board, given.better[0]) })}` : status();
  if (by("status").textContent !== words) by("status").textContent = words;
  by("status").className = `outcome ${game.state}`;
  by("status").classList.toggle("lost", lost());
  by("status").classList.toggle("drawn", game.result === "1/2-1/2");
  by("again").classList.toggle("main", over() && !(lesson && by("from-here")));
  by("review").hidden = !over();
  by("resign").hidden = over();
  by("resign").disabled = table.waiting;
  if (by("hint")) by("hint").hidden = over();
  if (by("hint")) by("hint").disabled = !mine() || !board;
  if (by("stronger")) by("stronger").hidden = !won();
  showPoints();
  if (by("back"))
    by("back").disabled = !game.moves.some((_, ply) => ply >= table.start && table.sides.includes(ply % 2));
  if (by("invitation")) by("invitation").hidden = !table.waiting;
  showClocks(game, heard, stopped);
}

// Returns the hint for the position on the board; null if the visitor asked for none.
const currentAdvice = () => (mine() && advice?.ply === game.moves.length ? advice : null);

async function askHint() {
  by("hint").disabled = true;
  const { name } = game;
  const told = await post("hint", { ply: game.moves.length });
  if (told && name === game.name) advice = { ply: told.ply, better: [told.cell] };
  show();
}

// Shows the points of both sides in the games of this table, as soon as there are any.
function showPoints() {
  if (!table.points.some(Boolean)) return;
  for (const [number, side] of ["first", "second"].entries()) {
    const points = table.points[number];
    const whole = Math.floor(points);
    by(`points-${side}`).textContent = points === whole ? points : `${whole || ""}½`;
  }
}

// Asks for facts that the feed does not have: whether the other person has joined or started the next game. The site
// keeps the table as long as a browser asks.
async function ask() {
  clearTimeout(pollTimer);
  try {
    const answer = await fetch(`${address}/state`, { cache: "no-store" });
    if (answer.status === 404) return say(_("This table was cleared. Open the Play page to start again."));
    if (answer.ok) {
      const told = await answer.json();
      if (told.game !== game.name) return location.reload();
      table = told;
      show();
    }
  } catch {
    // The site cannot be reached, which the feed reports.
  }
  pollTimer = setTimeout(ask, over() || table.waiting ? 1500 : 20000);
}

const hasSound = () => by("sound").getAttribute("aria-pressed") === "true";
by("sound").setAttribute("aria-pressed", String(isSoundKept()));
by("sound").addEventListener("click", () => {
  by("sound").setAttribute("aria-pressed", String(!hasSound()));
  keepSound(hasSound());
  if (hasSound()) knock();
});
by("again").addEventListener("click", () => again({}));
by("swap").addEventListener("click", () => again({ swap: 1 }));
by("back")?.addEventListener("click", () => begin("back"));
by("hint")?.addEventListener("click", askHint);
by("resign").addEventListener("click", async () => {
  if (await confirmed(_("Resign this game?"), _("Resign"))) post("resign", {});
});
by("lesson-show").addEventListener("click", () => {
  by("lesson-show").setAttribute("aria-pressed", String(!isShown()));
  // On a phone, the lesson is below the board.
  if (by("board").getBoundingClientRect().top < 0) reveal(by("board"));
  show();
});
by("from-here")?.addEventListener("click", () => begin("back", { ply: lesson.ply }));

addEventListener("pagehide", () => navigator.sendBeacon(`${address}/leave`, new URLSearchParams({ csrf })));
addEventListener("pageshow", (event) => event.persisted && ask());

show();
if (mine() && game.moves.length > 0) cells[focused]?.focus({ preventScroll: true });
ask();
if (!over()) {
  let plies = game.moves.length; // The feed changes the game in place.
  const ticking = setInterval(() => showClocks(game, heard, stopped), 100);
  follow(`/api/v1/${game.name}/events`, (view) => {
    stopped = view.stopped;
    const now = view.games.get(game.name);
    if (!now) return;
    game = now;
    heard = now.heard;
    const isNew = game.moves.length > plies;
    plies = game.moves.length;
    if (isNew || over()) say("");
    if (isNew && hasSound()) knock();
    if (over() && won() && hasSound()) chime();
    if (over()) {
      clearInterval(ticking);
      ask();
    }
    show();
  });
}
