// What every page does: times in the reader's zone, and questions before actions that cannot be undone.
import { confirmed } from "./confirm.js";

export function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.title = time.textContent;
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}

showTimes(document);

document.addEventListener("submit", async (event) => {
  const form = event.target, question = form.dataset.confirm;
  if (!question) return;
  event.preventDefault();
  const { action } = form;
  // While the question was open, the page may have put another action in this place.
  if ((await confirmed(question, event.submitter.textContent)) && form.isConnected && form.action === action) form.submit();
});
