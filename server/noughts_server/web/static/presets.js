// Buttons that fill in the clock of a form: the group `.presets`, for the fields `bank`, `increment` and `move`.

// Shows the buttons, marks the one with the values of the fields, and calls `changed` after a click.
export function showPresets(form, changed = () => {}) {
  const { bank, increment, move } = form.elements;
  const presets = form.querySelector(".presets");
  function mark() {
    for (const button of presets.children) {
      const { bank: base, increment: added, move: maximum } = button.dataset;
      const same = bank.value === base && increment.value === added && move.value === maximum;
      button.setAttribute("aria-pressed", same);
    }
  }
  presets.addEventListener("click", ({ target: { dataset } }) => {
    if (dataset.bank === undefined) return;
    [bank.value, increment.value, move.value] = [dataset.bank, dataset.increment, dataset.move];
    mark();
    changed();
  });
  form.addEventListener("input", mark);
  presets.hidden = false;
  mark();
}
