"""TEMPORARY, to be replaced."""
from dataclasses import dataclass, field
from typing import Any
from noughts_bots.bot import Bot
from noughts_bots.reference.random_ import Random as RandomBot
from noughts_referee.rules import Variant

@dataclass(frozen=True)
class BotSpec:
    label: str | None
    name: str
    options: dict[str, str] = field(default_factory=dict)
    def __str__(self) -> str:
        return self.name + "".join(f":{k}={v}" for k, v in self.options.items())

def parse_spec(text: str) -> BotSpec:
    return BotSpec(None, text)

def unique_labels(specs: Any) -> list[str]:
    out: list[str] = []
    for s in specs:
        n, k = str(s), 2
        while n in out:
            n = f"{s}#{k}"; k += 1
        out.append(n)
    return out

def make_bot(spec: BotSpec, variant: Variant) -> Bot:
    return RandomBot()
