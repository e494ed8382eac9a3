import { _ } from "./words.js";

// Asks before an action that cannot be undone. The promise is true if the visitor agrees.
export function confirmed(question, action) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "question");
  dialog.innerHTML =
    '<form method="dialog"><p id="question"></p><div class="actions"><button value="yes" class="danger"></button><button value="no" autofocus></button></div></form>';
  dialog.querySelector("p").textContent = question;
  dialog.querySelector("button").textContent = action;
  dialog.querySelector("[autofocus]").textContent = _("No, go back");
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
