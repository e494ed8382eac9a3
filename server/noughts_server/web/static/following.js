// Bots and tournaments that the visitor follows: while a page of the site is open, the browser shows a notification when
// one of their tournaments begins or ends. The names are stored in this browser only. One open page listens for all.
import { openEvents } from "./feed.js";
import { _ } from "./words.js";

const NAMES = "followed";
const STATES = "followed-states"; // The last known state by tournament; "other": it concerns nothing that is followed.
const MOST_STATES = 200;
const ENDED = ["other", "finished", "cancelled"];
const EVERY = 60_000; // Milliseconds.
const by = (name) => `/api/v1/${name}`;

function stored(key, empty) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? empty;
  } catch {
    return empty;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The browser stores nothing for this site, so the choice lasts as long as the page.
  }
}

function setState(name, state) {
  const states = Object.entries(stored(STATES, {})).filter(([other]) => other !== name);
  store(STATES, Object.fromEntries([...states, [name, state]].slice(-MOST_STATES)));
}

function notify(title, body, address) {
  const shown = new Notification(title, { body, tag: address });
  shown.addEventListener("click", () => {
    window.focus();
    location.href = address;
  });
}

// Compares a tournament with its last known state, and notifies if it has begun or ended. `quiet`: only remembers a
// tournament whose state was not known.
async function check(name, quiet) {
  if (ENDED.includes(stored(STATES, {})[name])) return;
  const answer = await fetch(by(name));
  if (!answer.ok) return;
  const told = await answer.json();
  const before = stored(STATES, {})[name]; // Another check can have notified in the meantime.
  const names = stored(NAMES, []);
  const bots = told.standings.filter((row) => names.includes(row.bot_version.split("/versions/")[0]));
  if (!names.includes(name) && !bots.length) {
    if (told.state !== "open") setState(name, "other");
    return;
  }
  if (before === told.state) return;
  setState(name, told.state);
  if (quiet && !before) return;
  const title = told.title || name.split("/")[1];
  if (told.state === "running" && before !== "paused")
    notify(_("%(title)s has begun", { title }), bots.map((row) => row.label).join(", "), `/${name}`);
  if (told.state === "cancelled") notify(_("%(title)s was cancelled", { title }), told.reason, `/${name}`);
  if (told.state !== "finished") return;
  const places = bots.map(({ label, rank }) =>
    _("%(label)s: place %(rank)s of %(places)s", { label, rank, places: told.standings.length }),
  );
  const winner = told.winners.length ? _("Winner: %(winner)s", { winner: told.winners.join(", ") }) : _("Winner: none");
  notify(_("%(title)s has ended", { title }), places.join(", ") || winner, `/${name}`);
}

const running = new Set();

// Follows the feed of all running tournaments, also in a hidden tab. The first time it only remembers them.
function listen() {
  let quiet = !("" in stored(STATES, {}));
  const changed = (tournaments) => {
    for (const { name, state } of tournaments) {
      if (state === "running" && running.has(name)) continue;
      if (state === "running") running.add(name);
      else running.delete(name);
      check(name, quiet);
    }
  };
  timer = setInterval(checkOthers, EVERY);
  return openEvents(by("featured/events"), (source) => {
    const tell = (kind, act) => source.addEventListener(kind, (event) => act(JSON.parse(event.data)));
    tell("snapshot", ({ tournaments }) => {
      const now = tournaments.map((each) => each.name);
      for (const name of running) if (!now.includes(name)) check(name, quiet);
      running.clear();
      changed(tournaments);
      checkOthers();
      if (quiet) setState("", "other");
      quiet = false;
    });
    tell("increments", ({ gone, tournaments }) => {
      changed(tournaments);
      for (const name of gone) {
        if (!running.delete(name)) continue;
        check(name, false);
      }
    });
  });
}

// Checks the tournaments that the feed does not have: some began or ended while no page was open, or in an instant. It
// also checks those that run, but whose last check failed.
function checkOthers() {
  const states = Object.entries(stored(STATES, {}));
  for (const [name, state] of states)
    if (!ENDED.includes(state) && !(running.has(name) && state === "running")) check(name, false);
}

// A newly followed bot can play in a tournament that concerned nothing before.
function forgetOthers() {
  store(STATES, Object.fromEntries(Object.entries(stored(STATES, {})).filter(([, state]) => state !== "other")));
  for (const name of running) check(name, true);
}

let timer = 0;
let events = null;
let release = null;

function start() {
  if (events || release || !stored(NAMES, []).length || Notification.permission !== "granted") return;
  const hold = () => {
    events = listen();
    return new Promise((done) => (release = done));
  };
  if (navigator.locks) navigator.locks.request("followed", hold);
  else hold();
}

function stop() {
  clearInterval(timer);
  events?.close();
  release?.();
  events = release = null;
}

function show(button) {
  const follows = stored(NAMES, []).includes(button.dataset.follow) && Notification.permission === "granted";
  button.setAttribute("aria-pressed", follows);
  button.textContent = follows ? _("Following") : _("Follow");
}

async function toggle(button) {
  const note = button.parentNode.querySelector(".note");
  const { follow: name, state } = button.dataset;
  const names = stored(NAMES, []);
  if (button.getAttribute("aria-pressed") === "true") {
    store(
      NAMES,
      names.filter((other) => other !== name),
    );
    if (names.length === 1) stop();
    note.textContent = "";
  } else if ((await Notification.requestPermission()) === "granted") {
    store(NAMES, [...new Set([...names, name])]);
    if (state) setState(name, state);
    else forgetOthers();
    note.textContent = _("You get a notification at its start and end while a page of this site is open.");
    start();
  } else {
    note.textContent = _("Your browser blocks notifications of this site.");
  }
  show(button);
}

if ("Notification" in window && "EventSource" in window) {
  for (const button of document.querySelectorAll("[data-follow]")) {
    button.closest("[hidden]").hidden = false;
    show(button);
    button.addEventListener("click", () => toggle(button));
  }
  start();
}
