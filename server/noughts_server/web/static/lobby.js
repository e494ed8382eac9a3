// The form of a new game: a typed variant overrides the tiles, a tile hides the bots that do not play it, and presets
// fill in the clock. A game from a given position has no choice of variants.
import { ownTables } from "./own_tables.js";

const form = document.querySelector("form.lobby");
const other = form.elements.other;

for (const tile of form.querySelectorAll("[name=variant]"))
  tile.addEventListener("change", () => {
    other.value = "";
    filterOpponents();
    const cards = [...form.querySelectorAll(".card[data-plays]:not([hidden])")];
    // The server proposes the last one, too.
    if (botIsChosen()) cards.at(-1).querySelector("input").checked = true;
  });
other?.addEventListener("input", () => {
  const tile = other.value && chosenTile();
  if (tile) tile.checked = false;
  filterOpponents();
});
filterOpponents();

function chosenTile() {
  return form.querySelector("[name=variant]:checked");
}

function botIsChosen() {
  return Boolean(form.querySelector(".card[data-plays] :checked"));
}

// Hides the bots that do not play the chosen tile's variant, and the choice of marks if it is played with discs or
// stones. For a typed variant, the server checks the opponent.
function filterOpponents() {
  const tile = chosenTile();
  for (const card of form.querySelectorAll(".card[data-plays]"))
    card.hidden = Boolean(tile) && !card.dataset.plays.split(" ").includes(tile.value);
  const marks = form.querySelector(".my-mark");
  if (marks) marks.hidden = Boolean(tile) && !tile.parentNode.querySelector(".thumb.marks");
}

const presets = form.querySelector(".presets");
presets.hidden = false;
presets.addEventListener("click", ({ target: { dataset } }) => {
  if (dataset.bank === undefined) return;
  form.elements.bank.value = dataset.bank;
  form.elements.increment.value = dataset.increment;
  form.elements.move.value = "";
  mark();
});
form.addEventListener("input", mark);
mark();

function mark() {
  const { bank, increment, move } = form.elements;
  for (const button of presets.children) {
    button.setAttribute(
      "aria-pressed",
      bank.value === button.dataset.bank && increment.value === button.dataset.increment && !move.value,
    );
  }
}

const place = document.getElementById("tables");
for (const [address, { title }] of ownTables()) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = title.replace(" - Noughts", "");
  place.append(" ", link);
  place.hidden = false;
}
