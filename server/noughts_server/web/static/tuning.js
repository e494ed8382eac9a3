// The page of a running tuning: its parts, which the site renders.
import { refreshParts } from "./parts.js";

const EVERY = 3000;
const page = document.getElementById("tuning");

async function refresh() {
  if (!document.hidden) {
    try {
      await refreshParts(page);
    } catch {
      // The site cannot be reached; try again.
    }
  }
  if (page.querySelector(".state").dataset.state === "running") setTimeout(refresh, EVERY);
}

setTimeout(refresh, EVERY);
