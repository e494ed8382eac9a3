// What the bots' searches reported: the last thought of each side at the position, with its line on the board while the
// visitor points at it, and the comment on the last move.
import { draw } from "./board.js";
import { SIDES, scoreText, scoresOf } from "./strips.js";
import { _, ngettext } from "./words.js";

const by = (id) => document.getElementById(id);

// Returns the ply and the thought of the side's last move before `ply` that has one.
function lastThought(game, side, ply) {
  const plies = Object.keys(game.thoughts ?? {}).map(Number);
  const at = Math.max(...plies.filter((each) => each % 2 === side && each < ply));
  return at >= 0 ? [at, game.thoughts[at]] : null;
}

// Returns the words for a thought, e.g. `8. h8: score +35, 12 moves deep, 34,000 positions`, and its line as names of cells.
function words(game, at, thought, cell) {
  const score = scoresOf(game, at % 2).find(([ply]) => ply === at)?.[1];
  const parts = [
    score === undefined ? "" : _("score %(score)s", { score: scoreText(score) }),
    thought.depth ? ngettext("%(num)s move deep", "%(num)s moves deep", thought.depth) : "",
    thought.nodes ? ngettext("%(num)s position", "%(num)s positions", thought.nodes) : "",
  ].filter(Boolean);
  const move = at < game.moves.length ? ` ${cell(game.moves[at])}` : "";
  return `${at + 1}.${move}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

// Language models' comments are records as JSON, of which the texts of the answers are for people.
function remark(text) {
  try {
    const answers = JSON.parse(text).answers.map((answer) => answer.text ?? answer.said);
    return answers.filter((answer) => typeof answer === "string").join("\n") || text;
  } catch {
    return text;
  }
}

export function showThoughts(game, ply, cell) {
  const place = by("thinking");
  if (!place) return;
  const found = SIDES.map((_, side) => lastThought(game, side, ply));
  const comment = game.comments?.[ply === game.moves.length && game.comments[ply] ? ply : ply - 1] ?? "";
  place.hidden = !Object.keys(game.thoughts ?? {}).length && !Object.keys(game.comments ?? {}).length;
  found.forEach((thought, side) => {
    const line = by(`thought-${SIDES[side]}`);
    line.hidden = !thought;
    if (!thought) return;
    const [at, { pv }] = thought;
    const names = document.createElement("span");
    names.textContent = pv.map(cell).join(" ");
    if (pv.length) line.dataset.line = at;
    else delete line.dataset.line;
    const piece = by(`strip-${SIDES[side]}`).querySelector(".piece")?.cloneNode(true) ?? "";
    line.replaceChildren(piece, words(game, at, thought[1], cell), names);
    line.title = pv.length ? _("The expected moves are on the board while you point here.") : "";
  });
  const note = by("comment");
  note.hidden = !comment;
  note.textContent = comment && remark(comment);
}

// Shows moves after a ply on the board: they are numbered and pale.
export function showLine(svg, game, at, line) {
  const moves = [...game.moves.slice(0, at), ...line];
  draw(svg, { ...game, moves, winning_cells: [] }, moves.length, line.length);
  for (const stone of [...svg.querySelectorAll(".played > *")].slice(-line.length)) stone.classList.add("expected");
}

// Calls `show` with the ply that a line begins at and its moves if the visitor points at it or has focused it, and `hide`
// after it. A line without moves of its own is that of the thought at its ply.
export function onPointed(game, show, hide) {
  const lineOf = (event) => event.target.closest?.("[data-line]")?.dataset;
  for (const begin of ["mouseover", "focusin"])
    addEventListener(begin, (event) => {
      const data = lineOf(event);
      if (!data) return;
      const at = Number(data.line);
      const line = data.cells?.split(" ").map(Number) ?? game().thoughts[at]?.pv ?? [];
      if (line.length) show(at, line);
    });
  for (const end of ["mouseout", "focusout"])
    addEventListener(end, (event) => {
      if (lineOf(event) !== undefined) hide();
    });
}
