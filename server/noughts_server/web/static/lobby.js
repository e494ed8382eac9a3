// The form of a new game: a typed variant overrides the tiles, and presets fill in the clock.
import { ownTables } from "./own_tables.js";

const form = document.querySelector("form.lobby");
const other = form.elements.other;

for (const tile of form.querySelectorAll("[name=variant]")) tile.addEventListener("change", () => (other.value = ""));
other.addEventListener("input", () => {
  const tile = other.value && form.querySelector("[name=variant]:checked");
  if (tile) tile.checked = false;
});

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
