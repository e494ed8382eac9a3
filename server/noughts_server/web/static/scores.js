// The bots' scores of their positions as a graph and a bar, from the first player's point of view (`valueOf`).
import { element } from "./board.js";
import { SIDES, scoresOf, valueOf } from "./strips.js";
import { _, reason } from "./words.js";

const LEAST = 3; // The number of scores of a bot that is enough for a scale.
const RESULTS = { "1-0": 1, "1/2-1/2": 0, "0-1": -1 };
const WIDTH = 320;
const HEIGHT = 64;
const EDGE = 4;
const by = (id) => document.getElementById(id);

function curve(game, side) {
  return scoresOf(game, side).map(([at, score]) => [at, (side ? -1 : 1) * valueOf(game, side, score)]);
}

export function showScores(game, ply) {
  const curves = [0, 1].map((side) => curve(game, side));
  by("scores").hidden = curves.flat().length < 2;
  showBar(
    game,
    ply,
    curves.map((points) => points.filter(([at]) => at < ply).at(-1)?.[1]),
    curves.every((points) => points.length >= LEAST),
  );
  if (by("scores").hidden) return;
  const plies = Math.max(2, game.moves.length);
  const x = (at) => (EDGE + (at / (plies - 1)) * (WIDTH - 2 * EDGE)).toFixed(1);
  const y = (value) => (HEIGHT / 2 - value * (HEIGHT / 2 - EDGE)).toFixed(1);
  const lines = curves.map((points, side) => {
    const places = points.map(([at, value]) => `${x(at)} ${y(value)}`);
    // A single score is a line of length 0, whose round ends make a dot.
    return element("path", {
      class: `line ${SIDES[side]}`,
      d: places.length ? `M${(places.length > 1 ? places : [...places, ...places]).join("L")}` : "",
    });
  });
  const here = x(Math.max(0, ply - 1));
  by("score-graph").replaceChildren(
    element("path", { class: "here", d: `M${EDGE} ${HEIGHT / 2}H${WIDTH - EDGE}M${here} 2V${HEIGHT - 2}` }),
    ...lines,
  );
}

// Shows the mean of the bots' scores as a bar, full if the first player wins, and the result in the last position of a game
// that is over. It needs enough scores of both bots.
function showBar(game, ply, values, both) {
  const bar = by("score-bar");
  bar.hidden = !both;
  if (!both) return;
  const result = game.state === "ended" && ply === game.moves.length ? RESULTS[game.result] : undefined;
  const known = values.filter((value) => value !== undefined);
  const mean = known.reduce((sum, value) => sum + value, 0) / (known.length || 1);
  bar.firstElementChild.style.height = `${50 + 50 * (result ?? mean)}%`;
  bar.title = result === undefined ? opinion(game, mean) : `${game.result}, ${reason(game)}`;
  bar.setAttribute("aria-label", bar.title);
}

function opinion(game, mean) {
  if (Math.abs(mean) < 0.05) return _("The bots' scores: equal.");
  return _("The bots' scores: better for %(player)s.", { player: mean > 0 ? game.first : game.second });
}

// The ply under the pointer.
export function plyAt(event, game) {
  const box = by("score-graph").getBoundingClientRect();
  return Math.round(((event.clientX - box.left) / box.width) * (game.moves.length - 1)) + 1;
}
