// The form of a new game: a typed variant overrides the tiles, the bots that do not play the game are hidden, one of the
// usual strength is chosen, presets fill in the clock, and a line next to the button says what was chosen. A game from a
// given position has no choice of variants.
import { showPresets } from "./presets.js";
import { showSize } from "./size.js";

const SETTLED = 400; // Milliseconds after the last key until the bots of a typed variant are fetched.
const KEY = "noughts-strength"; // The strength that the visitor chose last, in this browser.
const form = document.querySelector("form.lobby");
const other = form.elements.other;
const house = form.querySelector(".house");
const authors = [...form.querySelectorAll(".others > .card")]; // The bots of authors, the best first.
const words = house.dataset.words.split("|");
let timer = 0;
let isPicked = false; // Whether the visitor chose the bot, and not this script.
let typed = { variant: "", strengths: new Map(), spare: new Set() }; // The bots that play the typed variant.
const MOST_OTHERS = 6; // Bots of authors that are shown first.

for (const tile of form.querySelectorAll("[name=variant]"))
  tile.addEventListener("change", () => {
    other.value = "";
    showOpponents();
    chooseBot();
  });
other?.addEventListener("input", () => {
  const tile = other.value && chosenTile();
  if (tile) tile.checked = false;
  clearTimeout(timer);
  timer = setTimeout(askTyped, SETTLED);
  showOpponents();
});
showSize(form);
house.addEventListener("change", ({ target }) => {
  isPicked = true;
  keepStrength(Number(target.closest(".card").dataset.strength));
});
if (form.dataset.proposed === "true") {
  showOpponents();
  chooseBot();
} else showOpponents();

function chosenTile() {
  return form.querySelector("[name=variant]:checked");
}

// Returns the strength of a card's bot in the chosen game; undefined if it does not play it, null if that is unknown.
function strengthOf(card) {
  const tile = chosenTile();
  if (!tile && other?.value && typed.variant === other.value)
    return typed.strengths.get(card.querySelector("input").value);
  if (!tile) return other ? null : Number(card.dataset.strength);
  const at = card.dataset.plays.split(" ").indexOf(tile.value);
  return at < 0 ? undefined : Number(card.dataset.strengths.split(" ")[at]);
}

// Returns whether a card's bot is only shown with all bots, because another one is as strong in the chosen game.
function isSpare(card) {
  const tile = chosenTile();
  if (tile) return card.dataset.spare.split(" ").includes(tile.value);
  if (!other) return card.classList.contains("spare");
  return typed.variant === other.value && typed.spare.has(card.querySelector("input").value);
}

// Shows the bots that play the chosen game, the weakest first, and the choice of marks if it is played with marks.
function showOpponents() {
  const cards = [...house.querySelectorAll(".card")].map((card) => [card, strengthOf(card)]);
  for (const [card, strength] of cards) {
    card.hidden = strength === undefined;
    if (strength) showStrength(card, strength);
    card.querySelector(".strength").hidden = !strength;
    card.classList.toggle("spare", isSpare(card));
  }
  const order = [...cards].sort(([, one], [, another]) => (one ?? 0) - (another ?? 0)).map(([card]) => card);
  if (order.some((card, at) => card !== cards[at][0])) {
    const focused = document.activeElement;
    house.append(...order);
    if (house.contains(focused)) focused.focus();
  }
  const tile = chosenTile();
  // Bots of others play a typed game if it is not known otherwise.
  for (const each of form.querySelectorAll(".online-bots[data-plays], .online-bots [data-plays]")) {
    if (!tile && !other) continue;
    each.hidden = tile ? !each.dataset.plays.split(" ").includes(tile.value) : each.matches(".online-bots");
    if (each.hidden) for (const input of each.querySelectorAll(":checked")) input.checked = false;
  }
  showOthers(tile?.value ?? other?.value);
  if (!form.querySelector("[name=opponent]:checked")) chooseAny();
  const marks = form.querySelector(".my-mark");
  if (marks) marks.hidden = Boolean(tile) && !tile.parentNode.querySelector(".thumb.marks");
  showFirst(tile);
}

function showStrength(card, strength) {
  card.dataset.strength = strength;
  card.querySelector(".level").setAttribute("width", 10 * strength);
  const [number, word] = card.querySelector(".strength").children;
  number.textContent = strength;
  word.textContent = words[strength - 1];
}

// Shows the bots of authors that play the game: first those with a rating in it, which they show. The last are spare.
function showOthers(variant) {
  const place = form.querySelector(".others");
  if (!place) return;
  const isRated = (card) => Boolean(variant) && card.dataset.main === variant;
  for (const card of authors) {
    const rating = card.querySelector(".rating");
    if (rating) rating.hidden = !isRated(card);
  }
  place.append(...authors.filter(isRated), ...authors.filter((card) => !isRated(card)));
  const players = [...place.children].filter((card) => !card.hidden);
  players.forEach((card, at) => card.classList.toggle("spare", at >= MOST_OTHERS));
  place.parentNode.hidden = !players.length;
}

// On a phone, the bots of authors are folded, so that the choices below them are near.
const folded = form.querySelector(".authors:not(:has(:checked))");
if (folded && matchMedia("(max-width: 46rem)").matches) folded.open = false;

// Offers to show the spare bots of each group.
function offerAll() {
  for (const button of form.querySelectorAll(".show-all")) {
    const place = button.parentNode.querySelector(":scope > :is(.house, .others)");
    button.hidden = place.matches(".all") || !place.querySelector(".spare:not([hidden], :has(:checked))");
  }
}
for (const button of form.querySelectorAll(".show-all"))
  button.addEventListener("click", () => {
    button.parentNode.querySelector(":scope > :is(.house, .others)").classList.add("all");
    button.hidden = true;
  });

// Names the pieces of the side that begins.
function showFirst(tile) {
  const place = document.getElementById("first-mover");
  if (!place) return;
  const look = ["plate", "stones"].find((each) => tile?.parentNode.querySelector(`.thumb.${each}`));
  place.textContent = look ? place.dataset[look] : "";
  place.hidden = !look;
}

// Says what was chosen: game, opponent with its strength, and clock.
function showChoice() {
  const tile = chosenTile();
  const card = form.querySelector("[name=opponent]:checked")?.closest("label");
  const strength = card?.querySelector(".strength:not([hidden])")?.children;
  const name = [".name", "b", "span"].map((each) => card?.querySelector(each)).find(Boolean)?.textContent ?? "";
  const about = house.contains(card) ? card.querySelector(".note").textContent : "";
  document.getElementById("about-bot").textContent = about ? `${name}: ${about}` : "";
  offerAll();
  document.getElementById("choice").textContent = [
    tile ? tile.parentNode.querySelector("span").textContent : other?.value,
    strength ? `${name} (${strength[0].textContent}: ${strength[1].textContent})` : name,
    form.querySelector(".presets [aria-pressed=true]:not([data-bank=''])")?.textContent,
  ]
    .filter(Boolean)
    .join(" · ");
}

// Chooses the first bot of the website that plays the game; `chooseBot` finds a better one.
function chooseAny() {
  const first = house.querySelector(".card:not([hidden]) input");
  if (first) first.checked = true;
  chooseBot();
}

// If a bot of the website is the opponent, chooses the visible one whose strength is nearest to the visitor's, unless
// the visitor has chosen one that plays the game.
function chooseBot() {
  const chosen = house.querySelector(":checked")?.closest(".card");
  if (!chosen || (isPicked && !chosen.hidden)) return;
  const wanted = keptStrength();
  const away = (card) => Math.abs(Number(card.dataset.strength) - wanted);
  const cards = [...house.querySelectorAll(".card:not([hidden], .spare)")];
  const best = cards.reduce((one, another) => (one && away(one) <= away(another) ? one : another), null);
  if (best) best.querySelector("input").checked = true;
}

// Reads which bots play the typed variant from the page of that variant.
async function askTyped() {
  const variant = other.value;
  if (!variant || chosenTile()) return;
  const answer = await fetch(`/play?${new URLSearchParams({ variant })}`).catch(() => null);
  if (!answer?.ok || other.value !== variant) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const cards = [...page.querySelectorAll(".house .card[data-strength]")];
  if (!cards.length) return;
  typed = {
    variant,
    strengths: new Map(cards.map((card) => [card.querySelector("input").value, Number(card.dataset.strength)])),
    spare: new Set(cards.filter((card) => card.matches(".spare")).map((card) => card.querySelector("input").value)),
  };
  showOpponents();
  chooseBot();
  showChoice();
}

function keptStrength() {
  try {
    return Number(localStorage[KEY]) || Number(house.dataset.usual);
  } catch {
    return Number(house.dataset.usual); // This browser stores nothing.
  }
}

function keepStrength(strength) {
  try {
    if (strength) localStorage[KEY] = strength;
  } catch {
    // This browser stores nothing.
  }
}

showPresets(form, showChoice);
for (const type of ["input", "change"]) form.addEventListener(type, showChoice);
showChoice();
