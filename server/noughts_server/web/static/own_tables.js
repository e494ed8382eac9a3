// The tables of this browser, to which the Play page has links. The site removes a table 30 s after its page was closed.
const KEY = "noughts-tables";
const title = document.title; // Without the result, which the page adds at the end of a game.

function read() {
  try {
    return JSON.parse(localStorage[KEY]);
  } catch {
    return {};
  }
}

export function keepTable(left = 0) {
  try {
    localStorage[KEY] = JSON.stringify({
      ...Object.fromEntries(ownTables()),
      [location.pathname]: { title, left },
    });
  } catch {
    // This browser stores nothing.
  }
}

export function ownTables() {
  return Object.entries(read()).filter(([, { left }]) => !left || Date.now() - left < 30_000);
}
