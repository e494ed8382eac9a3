// Times until starts, which count down. `words.py` has the same words for pages without scripts.
import { _ } from "./words.js";

const SECOND = 1000;

function until(moment) {
  const seconds = Math.ceil((new Date(moment) - Date.now()) / SECOND);
  if (seconds <= 0) return _("a moment");
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return _("%(days)s d %(hours)s h", { days: Math.floor(hours / 24), hours: hours % 24 });
  if (hours) return _("%(hours)s h %(minutes)s min", { hours, minutes: minutes % 60 });
  if (!minutes) return _("%(seconds)s s", { seconds });
  return _("%(minutes)s min %(seconds)s s", { minutes, seconds: String(seconds % 60).padStart(2, "0") });
}

function show() {
  for (const place of document.querySelectorAll("[data-until]")) {
    const text = until(place.dataset.until);
    if (place.textContent !== text) place.textContent = text;
  }
}

show();
setInterval(show, SECOND);
