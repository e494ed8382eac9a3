// The form for a new tournament: its times are in the time zone of the visitor, and are sent in UTC.
const inputs = [...document.querySelectorAll("input[type=datetime-local]")];
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// Returns the value of a field for a time in the visitor's time zone.
const local = (moment) => new Date(moment - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

for (const input of inputs) {
  if (input.value) input.value = local(new Date(`${input.value}Z`));
  input.closest("p").querySelector(".zone").textContent = `(${zone.replaceAll("_", " ")})`;
}

document.querySelector("form.sheet").addEventListener("formdata", ({ formData }) => {
  for (const input of inputs) {
    if (input.value) formData.set(input.name, new Date(input.value).toISOString().slice(0, 16));
    // A browser reports an incomplete time as empty.
    else if (input.validity.badInput) formData.set(input.name, "incomplete");
  }
});
