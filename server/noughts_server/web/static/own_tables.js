// The tables of this browser: the lobby leads back to them. The site clears a table 30 s after it was left.
const KEY = "noughts-tables";

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
      [location.pathname]: { title: document.title, left },
    });
  } catch {
    // This browser keeps nothing.
  }
}

export function ownTables() {
  return Object.entries(read()).filter(([, { left }]) => !left || Date.now() - left < 30_000);
}
