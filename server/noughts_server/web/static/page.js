// Shared by all pages: local times, questions before actions, the search key, filters, copy buttons, and long names.
import { copyText } from "./clipboard.js";
import { confirmed } from "./confirm.js";
import { _, locale } from "./words.js";

export function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.title = time.textContent;
    time.textContent = moment.toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
  }
}

showTimes(document);

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const question = form.dataset.confirm;
  if (!question) return;
  event.preventDefault();
  const { action, id } = form;
  // While the question was open, an update of the page can have replaced the form by another one.
  if (
    (await confirmed(question, event.submitter.textContent)) &&
    form.isConnected &&
    form.action === action &&
    form.id === id
  )
    form.submit();
});

addEventListener("keydown", (event) => {
  const search = document.querySelector("form.search input");
  if (
    event.key !== "/" ||
    !search ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.target.closest("input, select, textarea")
  )
    return;
  event.preventDefault();
  search.focus();
  search.select();
});

for (const form of document.querySelectorAll("form[data-filters]")) {
  form.addEventListener("change", (event) => event.target.matches("select, [type=checkbox]") && form.requestSubmit());
  // Empty fields are not part of the address.
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });
}

for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", () => {
    form.querySelector(".busy").textContent = form.dataset.busy;
    form.querySelector("[type=submit]").disabled = true;
  });
}
addEventListener(
  "pageshow",
  (event) =>
    event.persisted &&
    document.querySelectorAll("form[data-busy] [type=submit]").forEach((button) => (button.disabled = false)),
);

export function makeCopyable(root) {
  for (const code of root.querySelectorAll("code[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = _("Copy");
    button.addEventListener("click", () =>
      copyText(button, code.textContent, () => getSelection().selectAllChildren(code)),
    );
    code.after(" ", button);
  }
}

makeCopyable(document);

// On a phone the tabs scroll sideways: scroll to the selected one.
const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.closest("ul").scrollLeft = tab.offsetLeft - (innerWidth - tab.offsetWidth) / 2;

// A shortened name is shown in full while its cell has the focus, which keyboards and touch screens can set.
export function reachNames(root) {
  for (const cell of root.querySelectorAll("tbody th[title], tbody .who[title]")) {
    if (cell.scrollWidth > cell.clientWidth && !cell.querySelector("a")) cell.tabIndex = 0;
  }
}

reachNames(document);

// Followed bots and tournaments.
let follows = null;
try {
  follows = localStorage.getItem("followed");
} catch {
  // The browser stores nothing for this site.
}
if (follows || document.querySelector("[data-follow]")) import("./following.js");
