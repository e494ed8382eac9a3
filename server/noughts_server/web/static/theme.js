// The visitor's choice of light or dark colours, which the documentation shares. It runs before the page is drawn.
{
  const KEY = "theme"; // The theme of the documentation has the same key and values.
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  // This is no module, so that it runs early: it cannot import `words.js`, which has the same function.
  const _ = (text) => globalThis.messages?.[text] ?? text;
  const WORDS = {
    auto: _("Colours: as the device"),
    light: _("Colours: light"),
    dark: _("Colours: dark"),
  };
  const root = document.documentElement;
  const kept = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // The browser does not permit it.
    }
  };
  const show = () => {
    root.dataset.theme = kept() in NEXT ? kept() : "auto";
    const button = document.getElementById("theme");
    if (!button) return;
    button.setAttribute("aria-label", WORDS[root.dataset.theme]);
    button.title = button.getAttribute("aria-label");
  };
  show();
  addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme")?.addEventListener("click", () => {
      try {
        localStorage.setItem(KEY, NEXT[root.dataset.theme]);
      } catch {
        return;
      }
      show();
    });
  });
  // Another tab, or the documentation in one, has changed the choice.
  addEventListener("storage", show);
  addEventListener("pageshow", show);
}
