// The strips of the two players around a board: clocks, the side to move, the last scores and the result.
import { clock } from "./clock.js";
import { _, locale } from "./words.js";

export const SIDES = ["first", "second"];
export const POINTS = { "1-0": ["1", "0"], "0-1": ["0", "1"], "1/2-1/2": ["½", "½"] };
const by = (id) => document.getElementById(id);

// The number of moves of the opening, which took no time.
export function openingPlies(game) {
  if (game.opening_plies !== undefined) return game.opening_plies;
  const timed = game.times_us.findIndex((time) => time > 0);
  return timed < 0 ? 0 : timed;
}

// Returns a side's clock after `ply` moves in microseconds; null for a side without a limit.
function clockAfter(game, side, ply) {
  const told = game[`${SIDES[side]}_clock_us`];
  if (told !== undefined && ply === game.moves.length) return told;
  const time = game[`${SIDES[side]}_time`] ?? game.time;
  // Records have the times of the tournament, and the feed those of the game.
  const factor = game.time === undefined ? (game.time_factor ?? 1) : 1;
  if (!time?.bank_us) return factor * time?.move_us || null;
  let left = factor * time.bank_us;
  for (let at = openingPlies(game); at < ply; at++)
    if (at % 2 === side) left = Math.max(0, left - game.times_us[at]) + factor * time.increment_us;
  return left;
}

// Whether a side's clock ran out at the end. With a limit for each move too, that can have run out instead of the clock.
function hasLostOnTime(game, side, over) {
  const lost = over && POINTS[game.result]?.[side] === "0" && game.termination === "timeout";
  const time = game[`${SIDES[side]}_time`] ?? game.time;
  return lost && !(time?.bank_us && time.move_us);
}

// Returns the scores that a side reported up to a position, as pairs of ply and score.
export function scoresOf(game, side, ply = Infinity) {
  const all = Object.entries(game.scores ?? {}).map(([at, score]) => [Number(at), score]);
  return all.filter(([at]) => at % 2 === side && at < ply);
}

// The position after `ply` moves. In the newest one of a live game the clock of the side to move runs from the last ply
// (`heard`) until now, or until the server went away (`stopped`). `find` returns an element of the strips by its name.
export function showStrips(game, ply, heard, stopped, find = by) {
  const newest = ply === game.moves.length;
  const over = game.state === "ended" && newest;
  SIDES.forEach((name, side) => {
    const toMove = !over && ply % 2 === side;
    const running = toMove && newest && game.state === "running";
    const left = hasLostOnTime(game, side, over) ? 0 : clockAfter(game, side, ply);
    const gone = running ? ((stopped ?? performance.now()) - heard) * 1000 : 0;
    set(find(`clock-${name}`), left === null ? "" : clock(Math.max(0, left - gone)));
    set(find(`points-${name}`), over ? (POINTS[game.result]?.[side] ?? "") : "");
    const last = scoresOf(game, side, ply).at(-1);
    const score = find(`score-${name}`);
    // Each bot reports its own opinion, so that both can report that they are winning.
    set(score, last ? _("says: %(opinion)s", { opinion: scoreWord(game, side, last[1]) }) : "");
    score.title = last ? _("The score that the bot reported: %(score)s", { score: scoreText(last[1]) }) : "";
    find(`strip-${name}`).classList.toggle("to-move", toMove);
    find(`strip-${name}`).classList.toggle("late", hasLostOnTime(game, side, over));
    find(`strip-${name}`).classList.toggle("won", over && POINTS[game.result]?.[side] === "1");
  });
}

// Engines use about 100 for a small advantage: a chance p of winning is the score 200 ln(p / (1 - p)), as in
// `gomocup/scores.py`. Bots whose scores are all smaller have a smaller scale; scores from -1 to 1 are values.
const OF_ENGINES = 100;
const SCALE_OF_ENGINES = 200;
const SMALL_SCALE = 5;
// Values of positions that have a word: chances of winning of 95 % and 65 %.
const WINNING = 0.9;
const BETTER = 0.3;

// Returns what a side's score stands for, from -1 (lost) to 1 (won). The scale follows from the side's largest score.
export function valueOf(game, side, score) {
  const largest = Math.max(...scoresOf(game, side).map(([, each]) => Math.abs(each)));
  if (largest <= 1) return score;
  return Math.tanh(score / (2 * (largest >= OF_ENGINES ? SCALE_OF_ENGINES : SMALL_SCALE)));
}

function scoreWord(game, side, score) {
  const value = valueOf(game, side, score);
  if (Math.abs(value) < BETTER) return _("equal");
  if (Math.abs(value) < WINNING) return value > 0 ? _("better") : _("worse");
  return value > 0 ? _("winning") : _("losing");
}

// Returns a score with few characters, e.g. `+35`, `-0.25` or `+1M`.
export function scoreText(score) {
  const size = Math.abs(score);
  const text = size >= 100 ? Math.round(score) : Number(score.toFixed(2));
  return `${score > 0 ? "+" : ""}${size < 100_000 ? text : text.toLocaleString(locale, { notation: "compact" })}`;
}

export function set(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
