// The form for a new tournament: its address follows from the title, fields of other formats are not sent, and the
// estimate follows the fields. Its times are in the time zone of the visitor, and are sent in UTC.
import { showPresets } from "./presets.js";
import { showSize } from "./size.js";

const form = document.querySelector("form.organise");
const inputs = [...document.querySelectorAll("input[type=datetime-local]")];
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// Returns the value of a field for a time in the visitor's time zone.
const local = (moment) => new Date(moment - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

for (const input of inputs) {
  if (input.value) input.value = local(new Date(`${input.value}Z`));
  input.closest("p").querySelector(".zone").textContent = `(${zone.replaceAll("_", " ")})`;
}

form.addEventListener("formdata", ({ formData }) => {
  for (const input of inputs) {
    if (input.value) formData.set(input.name, new Date(input.value).toISOString().slice(0, 16));
    // A browser reports an incomplete time as empty.
    else if (input.validity.badInput) formData.set(input.name, "incomplete");
  }
});

const { title, id, other } = form.elements;
// As `address_of` in `new_tournament.py`.
const addressOf = (text) =>
  text
    .normalize("NFKD")
    .replace(/[^\x00-\x7f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");
let written = !id || (id.value && id.value !== addressOf(title.value));
id?.addEventListener("input", () => (written = Boolean(id.value)));
title.addEventListener("input", () => {
  if (!written) id.value = addressOf(title.value);
});

for (const tile of form.querySelectorAll("[type=radio][name=variant]"))
  tile.addEventListener("change", () => (other.value = ""));
other?.addEventListener("input", () => {
  const tile = other.value && form.querySelector("[name=variant]:checked");
  if (tile) tile.checked = false;
});

showSize(form);

// Names the day and the time at which the tournament repeats.
const { start_at: start, repeat } = form.elements;
const weekly = repeat?.querySelector("[value=weekly]");
function showWeek() {
  const day = new Date(start.value);
  const words = { weekday: "long", hour: "2-digit", minute: "2-digit" };
  weekly.textContent = start.value ? `every ${day.toLocaleString("en-GB", words)}` : "every week at this time";
}
if (weekly) {
  showWeek();
  start.addEventListener("input", showWeek);
}

// Shows the fields of the chosen format only. The style hides them, too, for browsers without scripts.
function showFormat() {
  const chosen = form.querySelector("[name=schedule]:checked")?.value;
  for (const field of form.querySelectorAll("[data-formats]")) {
    const has = field.dataset.formats.split(" ").includes(chosen);
    const input = field.querySelector("input, select");
    input.disabled = !has;
    if (has) continue;
    field.querySelector(".fault")?.remove();
    input.removeAttribute("aria-invalid");
  }
}

// Shows what is chosen in each step, and what is missing.
function showSteps() {
  const words = (name) => form.querySelector(`[name=${name}]:checked`)?.closest("label");
  const chosen = {
    1: title.value || id?.value,
    2: words("schedule")?.querySelector("b").textContent,
    3: start.value ? "at a set time" : "you start it",
  };
  for (const place of form.querySelectorAll("[data-step]")) {
    const text = chosen[place.dataset.step]?.trim();
    place.textContent = text || place.dataset.missing;
    place.closest("a").classList.toggle("missing", !text);
  }
  const noTitle = document.getElementById("no-title");
  if (noTitle) noTitle.hidden = Boolean(chosen[1]);
}

const WAIT = 300;
const NOT_ESTIMATED = ["csrf", "openings_text", "own_times"];
let timer = 0;
let asked = 0;

function changed() {
  showFormat();
  showSteps();
  clearTimeout(timer);
  timer = setTimeout(estimate, WAIT);
}

async function estimate() {
  const fields = [...new FormData(form)].filter(([name, value]) => value && !NOT_ESTIMATED.includes(name));
  const request = ++asked;
  try {
    const answer = await fetch(`/organise/estimate?${new URLSearchParams(fields)}`);
    const text = await answer.text();
    if (answer.ok && request === asked) document.getElementById("estimate").innerHTML = text;
  } catch {
    // The site cannot be reached; the button that creates the tournament says so.
  }
}

form.querySelector(".without-script").hidden = true;
form.addEventListener("input", changed);
showPresets(form, changed);
showFormat();
showSteps();
