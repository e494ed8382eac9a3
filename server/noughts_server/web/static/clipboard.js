// Buttons that copy a text.
import { _ } from "./words.js";

// Copies a text. Without HTTPS, scripts cannot use the clipboard: `select` selects the text instead.
export async function copyText(button, text, select) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = _("Copied");
  } catch {
    select();
    button.textContent = _("Selected");
  }
}
