// Tables that are sorted by a click on the head of a column; a second click reverses the order.
import { locale } from "./words.js";

const text = new Intl.Collator(locale, { numeric: true, sensitivity: "base" });

// Turns the heads of all tables in this element into buttons.
export function makeSortable(root) {
  for (const head of root.querySelectorAll("table[data-sort] thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
  }
}

// Sorts new tables in the order that the visitor chose for the tables that they replace.
export function keepSorting(now, fresh) {
  const before = now.querySelector("table[data-sort] th[aria-sort]");
  const table = fresh.querySelector("table[data-sort]");
  if (before && table)
    sort(table, table.tHead.rows[0].cells[before.cellIndex], before.getAttribute("aria-sort") === "descending");
}

function valueOf(row, column) {
  const cell = row.cells[column];
  const told =
    cell.dataset.value ?? cell.textContent.trim().replaceAll(",", "").replaceAll("\u00a0", "").replace("½", ".5");
  return told !== "" && isFinite(told) ? Number(told) : told;
}

function sort(table, head, falling) {
  const body = table.tBodies[0];
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const keyed = [...body.rows].map((row) => [valueOf(row, head.cellIndex), row]);
  keyed.sort(
    ([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : text.compare(a, b)) * (falling ? -1 : 1),
  );
  body.append(...keyed.map(([, row]) => row));
}

makeSortable(document);
document.addEventListener("click", ({ target }) => {
  const head = target.closest("table[data-sort] thead th");
  if (!head) return;
  const table = head.closest("table");
  const sorted = head.getAttribute("aria-sort");
  // The largest number is first, but of ranks the lowest.
  const numbers = head.cellIndex > 0 && typeof valueOf(table.tBodies[0].rows[0], head.cellIndex) === "number";
  sort(table, head, sorted ? sorted === "ascending" : numbers);
});
