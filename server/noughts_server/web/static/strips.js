// The strips of the two players around a board: clocks, the side to move, the last scores and the result.
import { clock } from "./clock.js";

export const SIDES = ["first", "second"];
const POINTS = { "1-0": ["1", "0"], "0-1": ["0", "1"], "1/2-1/2": ["½", "½"] };
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
  if (!time?.bank_us) return time?.move_us || null;
  let left = time.bank_us;
  for (let at = openingPlies(game); at < ply; at++)
    if (at % 2 === side) left = Math.max(0, left - game.times_us[at]) + time.increment_us;
  return left;
}

// Returns the scores that a side reported up to a position, as pairs of ply and score.
export function scoresOf(game, side, ply = Infinity) {
  const all = Object.entries(game.scores ?? {}).map(([at, score]) => [Number(at), score]);
  return all.filter(([at]) => at % 2 === side && at < ply);
}

// The position after `ply` moves. In the newest one of a live game the clock of the side to move runs from the last ply
// (`heard`) until now, or until the server went away (`stopped`).
export function showStrips(game, ply, heard, stopped) {
  const newest = ply === game.moves.length;
  const over = game.state === "ended" && newest;
  SIDES.forEach((name, side) => {
    const toMove = !over && ply % 2 === side;
    const running = toMove && newest && game.state === "running";
    const left = clockAfter(game, side, ply);
    const gone = running ? ((stopped ?? performance.now()) - heard) * 1000 : 0;
    set(by(`clock-${name}`), left === null ? "" : clock(Math.max(0, left - gone)));
    set(by(`points-${name}`), over ? (POINTS[game.result]?.[side] ?? "") : "");
    const last = scoresOf(game, side, ply).at(-1);
    set(by(`score-${name}`), last ? scoreText(last[1]) : "");
    by(`strip-${name}`).classList.toggle("to-move", toMove);
    by(`strip-${name}`).classList.toggle("won", over && POINTS[game.result]?.[side] === "1");
  });
}

export function scoreText(score) {
  return `${score > 0 ? "+" : ""}${Math.abs(score) >= 100 ? Math.round(score) : Number(score.toFixed(2))}`;
}

export function set(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
