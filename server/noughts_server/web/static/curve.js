// A rating curve that shows the values of a point, which the pointer or the arrow keys select. They come from the API.
import { _, locale, ngettext } from "./words.js";

const place = document.querySelector("[data-curve]");
const svg = place?.querySelector("svg.curve");
let points = [];
let asked = null;
let chosen = -1;

if (svg) {
  const dot = document.createElementNS(svg.namespaceURI, "circle");
  dot.setAttribute("class", "dot");
  dot.setAttribute("r", 5);
  const words = document.createElement("p");
  words.className = "note told";
  words.setAttribute("aria-live", "polite");
  const isTouched = window.matchMedia("(hover: none)").matches;
  words.textContent = isTouched
    ? _("Touch the curve for its values.")
    : _("Point at the curve, or use the arrow keys.");
  place.append(words);
  svg.tabIndex = 0;

  const ask = async () => {
    const answer = await fetch(place.dataset.curve);
    points = answer.ok ? (await answer.json()).points : [];
  };
  const load = () => (asked ??= ask());
  const corners = svg
    .querySelector(".line")
    .getAttribute("d")
    .slice(1)
    .split("L")
    .map((each) => each.split(" ").map(Number));
  const tell = (at) => {
    chosen = Math.min(Math.max(at, 0), Math.min(points.length, corners.length) - 1);
    const point = points[chosen];
    if (!point) return;
    dot.setAttribute("cx", corners[chosen][0]);
    dot.setAttribute("cy", corners[chosen][1]);
    svg.append(dot);
    const day = new Date(point.time).toLocaleDateString(locale, { dateStyle: "medium" });
    words.textContent = ngettext(
      "%(rating)s ± %(margin)s after %(num)s game, %(day)s",
      "%(rating)s ± %(margin)s after %(num)s games, %(day)s",
      Number(point.games),
      { rating: Math.round(point.rating), margin: Math.round(point.error95), day },
    );
  };
  svg.addEventListener("focus", load);
  const tellAtPointer = async (event) => {
    await load();
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    const away = corners.map(([at]) => Math.abs(at - x));
    tell(away.indexOf(Math.min(...away)));
  };
  svg.addEventListener("pointerdown", tellAtPointer);
  svg.addEventListener("pointermove", tellAtPointer);
  svg.addEventListener("keydown", async (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    await load();
    tell(chosen < 0 ? corners.length - 1 : chosen + step);
  });
}
