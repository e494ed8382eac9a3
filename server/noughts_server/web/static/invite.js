// The page on which newcomers register: takes the invitation from the address, and does the proof of work.
const form = document.querySelector("[data-register]");

function fillInvitation() {
  const invitation = location.hash.slice(1);
  if (!invitation.startsWith("inv_")) return;
  form.elements.invitation.value = invitation;
  form.querySelector("[data-invitation]").hidden = true;
  form.querySelector("[data-invited]").hidden = false;
  // The secret stays in the form only: not in the address bar, in pictures of the screen or in the history.
  history.replaceState(null, "", location.pathname);
}

function solveWhenNeeded() {
  const { challenge, solution, invitation } = form.elements;
  if (!challenge) return;
  form.querySelector("[data-solution]").hidden = true;
  let worker = null;
  form.addEventListener("submit", (event) => {
    if (invitation.value || solution.value) return;
    event.preventDefault();
    if (worker) return;
    form.querySelector(".busy").textContent = "Computing the proof of work ...";
    worker = new Worker(new URL("work.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      solution.value = data;
      form.submit();
    });
    worker.postMessage({ challenge: challenge.value, bits: Number(challenge.dataset.bits) });
  });
}

if (form) {
  fillInvitation();
  addEventListener("hashchange", fillInvitation);
  solveWhenNeeded();
}
