// The fields for the size of a board: columns, rows, and how many in a row win. They fill in the name of the variant.
export function showSize(form) {
  const place = form.querySelector(".size");
  const { other } = form.elements;
  if (!place || !other) return;
  const fields = [...place.querySelectorAll("input")];
  const read = () => {
    const size = /^mnk:(\d+),(\d+),(\d+)$/.exec(other.value);
    fields.forEach((field, at) => (field.value = size ? size[at + 1] : ""));
  };
  read();
  other.addEventListener("input", read);
  for (const tile of form.querySelectorAll("[name=variant]"))
    tile.addEventListener("change", () => fields.forEach((field) => (field.value = "")));
  place.addEventListener("input", (event) => {
    event.stopPropagation();
    if (!fields.every((field) => field.value && field.validity.valid)) return;
    const typed = fields.map((field) => field.value);
    other.value = `mnk:${typed.join(",")}`;
    other.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
