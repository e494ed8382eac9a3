// The texts of scripts in the language of the page. The English text stands where it is shown, and is the key of the
// texts in other languages, which `messages.LANGUAGE.js` defines.
const { lang } = document.documentElement;
const isOwn = navigator.language.split("-")[0] === lang.split("-")[0];

// The language and region for numbers and times: undefined, those of the browser, if they fit the language of the page.
export const locale = isOwn ? undefined : lang;

function filled(text, values) {
  return Object.entries(values).reduce((all, [name, value]) => all.replaceAll(`%(${name})s`, value), text);
}

// Returns a text in the language of the page; `%(name)s` in it stands for a value.
export function _(text, values = {}) {
  return filled(globalThis.messages?.[text] ?? text, values);
}

// Returns the form of a text that fits the number, which `%(num)s` stands for.
export function ngettext(one, many, number, values = {}) {
  const forms = globalThis.messages?.[one];
  const text = forms ? forms[globalThis.plural(number)] : number === 1 ? one : many;
  return filled(text, { num: count(number), ...values });
}

export function count(number) {
  return number.toLocaleString(locale);
}

// Returns how a game ended, in the words of players; `words.py` has the same for pages.
export function ending({ termination, moves = [], winning_cells: cells = [], winning_lines: lines = [], board }) {
  if (termination === "adjudicated" && !moves.length) return _("walkover");
  if (termination === "line")
    return inRow(lines.length > 1 || board?.layers > 1 ? longest(board, cells, lines) : cells.length);
  const words = {
    board_full: _("board full"),
    illegal_move: _("illegal move"),
    timeout: _("on time"),
    disconnected: _("disconnected"),
    crashed: _("crashed"),
    resigned: _("resigned"),
    adjudicated: _("adjudicated"),
    void: _("void"),
  };
  return words[termination] ?? termination.replaceAll("_", " ");
}

// Returns why a game ended, for a sentence about its result: what the loser did, with its name, else `ending`. `words.py`
// has the same for pages.
export function reason(game) {
  const loser = { "1-0": game.second, "0-1": game.first }[game.result];
  const deeds = {
    illegal_move: _("%(loser)s made an illegal move", { loser }),
    timeout: _("%(loser)s ran out of time", { loser }),
    disconnected: _("%(loser)s lost the connection", { loser }),
    crashed: _("%(loser)s crashed", { loser }),
    resigned: game.fault ? _("%(loser)s's program failed", { loser }) : _("%(loser)s resigned", { loser }),
  };
  return (loser && deeds[game.termination]) ?? ending(game);
}

// Returns the loser and its fault; `words.py` has the same for pages.
export function fault(game) {
  if (game.termination === "resigned") return `${reason(game)}. ${game.fault.replace(/^resigned: /, "")}`;
  return `${game.result === "1-0" ? game.second : game.first} ${game.fault}`;
}

// Returns the length of the longest winning line. On a board with layers all are as long as the board is wide.
function longest({ columns, layers }, cells, lines) {
  if (layers > 1) return Math.min(columns, cells.length);
  const row = (cell) => Math.floor(cell / columns);
  const steps = ([a, b]) => Math.max(row(b) - row(a), Math.abs((a % columns) - (b % columns)));
  return 1 + Math.max(...lines.map(steps));
}

function inRow(length) {
  const words = {
    0: _("in a row"),
    2: _("two in a row"),
    3: _("three in a row"),
    4: _("four in a row"),
    5: _("five in a row"),
    6: _("six in a row"),
    7: _("seven in a row"),
    8: _("eight in a row"),
    9: _("nine in a row"),
  };
  return words[length] ?? _("%(length)s in a row", { length });
}

// Returns the words for a live game without moves; `words.py` has the same for pages.
export function beforeFirstMove({ state }) {
  return state === "running" ? _("about to begin") : _("waiting");
}
