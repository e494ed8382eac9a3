"""Bot specs with a placeholder for the value of each tuned parameter."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template


@dataclass(frozen=True, slots=True)
class SpecTemplate:
    """A bot spec with a `$name` for the value of each parameter."""

    text: str

    @property
    def names(self) -> set[str]:
        """Return the names of the parameters in the text."""
        return set(Template(self.text).get_identifiers())

    @property
    def is_valid(self) -> bool:
        """Return whether each `$` begins a name or is doubled."""
        return Template(self.text).is_valid()

    def text_with(self, values: Mapping[str, float]) -> str:
        """Return the spec with these values as text."""
        return Template(self.text).substitute({name: value_text(value) for name, value in values.items()})


def value_text(value: float) -> str:
    """Return a value as the bot gets it: whole numbers with all digits, others with six significant ones."""
    return str(int(value)) if value == int(value) else f"{value:.6g}"
