// The form for a new test: presets fill in its clock, and the version before the chosen one is proposed as its opponent.
import { showPresets } from "./presets.js";

const form = document.querySelector("form.new-test");
const { new: tested, base } = form.elements;

tested.addEventListener("change", () => {
  const { before } = tested.selectedOptions[0].dataset;
  if (before) base.value = before;
});

showPresets(form);
