// Small boards that move: a card a game.
import { draw } from "./board.js";
import { follow } from "./feed.js";

export function showGames(grid, games) {
  const cards = new Map([...grid.children].filter((card) => card.dataset.name).map((card) => [card.dataset.name, card]));
  const kept = games.map((game) => {
    const card = cards.get(game.name) ?? newCard(game);
    fill(card, game);
    return card;
  });
  // A card keeps its place when another game takes it: boards do not jump about.
  if (kept.length !== grid.children.length || kept.some((card, at) => grid.children[at] !== card)) grid.replaceChildren(...kept);
}

function newCard(game) {
  const card = document.createElement("a");
  card.className = "small-game";
  card.dataset.name = game.name;
  card.href = `/${game.name}`;
  card.innerHTML = '<svg class="board" aria-hidden="true"></svg><span class="names"></span><span class="said"></span>';
  return card;
}

function fill(card, game) {
  if (game.board) draw(card.querySelector("svg"), game, game.moves.length);
  const said = game.state === "ended" ? game.result : game.moves.length ? `ply ${game.moves.length}` : game.state;
  set(card.querySelector(".names"), `${game.first} – ${game.second}`);
  set(card.querySelector(".said"), said);
}

function set(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

function showTournaments(place, tournaments) {
  place.replaceChildren(
    ...tournaments.map((each) => {
      const link = document.createElement("a");
      link.href = `/${each.name}`;
      const total = each.games_total ? ` of ${each.games_total.toLocaleString()}` : "";
      link.textContent = `${each.title || each.name.split("/")[1]}: ${each.games_done.toLocaleString()}${total} games`;
      return link;
    }),
  );
}

const grid = document.querySelector("#grid[data-events]");
if (grid) {
  let drawing = 0;
  follow(grid.dataset.events, (view) => {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => {
      showGames(grid, [...view.games.values()]);
      showTournaments(document.getElementById("running-tournaments"), [...view.tournaments.values()]);
      document.getElementById("grid-empty").hidden = view.games.size > 0;
    });
  });
}
