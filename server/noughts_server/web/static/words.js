// How a game ended, in the words of players; `words.py` has the same for pages.
const NUMBERS = ["", "", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

export function ending({ termination, moves = [], winning_cells: cells = [] }) {
  if (termination === "adjudicated" && !moves.length) return "walkover";
  if (termination === "line") return `${NUMBERS[cells.length] ?? cells.length} in a row`.trim();
  return termination === "timeout" ? "on time" : termination.replaceAll("_", " ");
}
