// Small live boards: one card for each game.
import { Board, smallBoard } from "./boards.js";

const boards = new WeakMap(); // By card.
const latest = new WeakMap(); // The arguments of `showGames`, by grid.
const KEPT = 5000; // Milliseconds.

// Every card keeps its place. The place of a game that has left stays empty until a new game takes it. If `more` games
// will follow, empty places at the end stay for a while, so that the boards keep their size.
export function showGames(grid, games, more = false) {
  latest.set(grid, [games, more]);
  const names = new Set(games.map((game) => game.name));
  const cards = new Map(
    [...grid.children].filter((card) => names.has(card.dataset.name)).map((card) => [card.dataset.name, card]),
  );
  const free = [...grid.children].filter((card) => !names.has(card.dataset.name));
  for (const game of games) {
    let card = cards.get(game.name);
    if (!card) {
      card = newCard(game, () => showGames(grid, ...latest.get(grid)));
      if (!card) continue;
      const place = free.shift();
      if (place) place.replaceWith(card);
      else grid.append(card);
    }
    fill(card, game);
  }
  for (const card of free) if (card.dataset.name) card.replaceWith(emptyCard());
  const kept = performance.now() - (more ? KEPT : 0);
  while (grid.lastElementChild && !(grid.lastElementChild.dataset.name || grid.lastElementChild.dataset.since > kept))
    grid.lastElementChild.remove();
}

function emptyCard() {
  const card = document.createElement("div");
  card.className = "small-game";
  card.dataset.since = performance.now();
  return card;
}

// A card with the board of this game; null until the board is `ready`.
function newCard(game, ready) {
  const board = game.board ? smallBoard(game, ready) : "";
  if (board === null) return null;
  const card = document.createElement("a");
  card.className = "small-game";
  card.dataset.name = game.name;
  card.href = `/${game.name}`;
  card.innerHTML = '<span class="names"></span><span class="said"></span>';
  card.prepend(board);
  return card;
}

function fill(card, game) {
  const said = game.state === "ended" ? game.result : game.moves.length ? `move ${game.moves.length}` : game.state;
  // The text changes with each move, like the board.
  if (game.board && card.querySelector(".said").textContent !== said) {
    if (!boards.has(card)) boards.set(card, new Board(card.querySelector("svg"), { labels: false }));
    boards.get(card).show(game);
  }
  card.title = `${game.first} – ${game.second}`;
  set(card.querySelector(".names"), card.title);
  set(card.querySelector(".said"), said);
}

function set(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
