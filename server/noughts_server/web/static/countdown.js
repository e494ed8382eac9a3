// Times until starts, which count down. `words.py` has the same words for pages without scripts.
const SECOND = 1000;

function until(moment) {
  const seconds = Math.ceil((new Date(moment) - Date.now()) / SECOND);
  if (seconds <= 0) return "a moment";
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours) return `${hours} h ${minutes % 60} min`;
  return minutes ? `${minutes} min ${String(seconds % 60).padStart(2, "0")} s` : `${seconds} s`;
}

function show() {
  for (const place of document.querySelectorAll("[data-until]")) {
    const text = until(place.dataset.until);
    if (place.textContent !== text) place.textContent = text;
  }
}

show();
setInterval(show, SECOND);
