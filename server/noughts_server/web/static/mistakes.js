// The mistakes that the analysis found, next to the board. Each leads to its position, with the better moves on the board.
import { centres, element, ghost } from "./board.js";
import { _, ngettext } from "./words.js";

const MOST_BETTER = 8; // Better moves that are drawn.
const MOST_MARKED = 10; // If a game has more mistakes, the list of moves marks only the most costly ones.
const by = (id) => document.getElementById(id);

// Returns the mistakes of the analysis on the page in the order of play: the moves before each, its mark, what it did, whether it is one of the
// most costly ones, the better moves, and a sentence.
export function mistakes() {
  const all = [...document.querySelectorAll("#analysis [data-mark]")].map((item) => {
    const { ply, mark, effect } = item.dataset;
    const better = [...item.querySelectorAll(`.variation[data-line="${ply}"]`)];
    return {
      ply: Number(ply),
      mark,
      effect,
      isCostly: item.classList.contains("costly"),
      better: better.map((each) => Number(each.dataset.cells)),
      words: item.querySelector(".effect").textContent.replace(/\s+/g, " ").trim(),
    };
  });
  return all.sort((one, another) => one.ply - another.ply);
}

// Returns the mistakes that the list of moves marks.
export function markedMistakes() {
  const all = mistakes();
  return all.length > MOST_MARKED ? all.filter((each) => each.isCostly) : all;
}

// Draws the better moves pale on the board that shows the position after the mistake; removes them without a mistake.
export function showBetter(svg, game, mistake) {
  svg.querySelector(".hints")?.remove();
  if (!mistake) return;
  const before = { ...game, moves: game.moves.slice(0, mistake.ply) };
  const centre = centres(svg, game.board);
  const visible = mistake.better.filter((each) => centre(each)).slice(0, MOST_BETTER);
  const group = element("g", { class: "hints", "aria-hidden": "true" });
  group.append(...visible.map((each) => ghost(svg, before, each).at(-1)));
  svg.insertBefore(group, svg.querySelector(".ghosts"));
}

// Shows a button for each of the most costly mistakes, one more that shows the buttons of the others, and a sentence about
// the mistake that led to the position after `ply` moves. Returns that mistake.
export function showMistakes(game, ply, cell, go) {
  const place = by("mistakes");
  if (!place || game.state !== "ended") return undefined;
  const all = mistakes();
  const here = all.find((each) => each.ply === ply - 1);
  const buttons = by("mistake-buttons");
  if (buttons.querySelectorAll("[data-ply]").length !== all.length)
    buttons.replaceChildren(
      ...all.map((each) => {
        const button = document.createElement("button");
        const mark = document.createElement("b");
        button.type = "button";
        button.dataset.ply = each.ply;
        button.classList.toggle("minor", !each.isCostly);
        mark.textContent = each.mark;
        button.append(`${each.ply + 1}. ${cell(game.moves[each.ply])}`, mark);
        button.title = each.words;
        button.addEventListener("click", () => go(each.ply + 1));
        return button;
      }),
      ...others(buttons, all.filter((each) => !each.isCostly).length),
    );
  [...buttons.querySelectorAll("[data-ply]")].forEach((button, at) => {
    if (all[at] === here) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  const words = here?.words ?? summary(all.length);
  if (by("mistake").textContent !== words) by("mistake").textContent = words;
  place.hidden = !words || by("analysis")?.dataset.state === "unavailable"; // The section below the board says why.
  return here;
}

// Returns the button that shows the buttons of the other mistakes, if there are any.
function others(place, number) {
  if (!number) return [];
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = ngettext("%(num)s other", "%(num)s others", number);
  button.addEventListener("click", () => {
    place.classList.add("all");
    button.remove();
  });
  return [button];
}

// Returns the number of mistakes or, without one, what the analysis says.
function summary(number) {
  if (number)
    return ngettext(
      "%(num)s mistake. Choose it to see the better move.",
      "%(num)s mistakes. Choose one to see the better move.",
      number,
    );
  const analysis = by("analysis");
  const isDone = analysis?.dataset.state === "done";
  const said = analysis?.querySelector(isDone ? ".sentence" : "p")?.firstChild;
  return analysis?.dataset.state === "none" ? "" : (said?.textContent.trim() ?? "");
}
