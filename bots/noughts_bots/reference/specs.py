"""Bot specs: names of bots on the command line, in files and in requests.

    [LABEL=]NAME[:key=value,...]             a reference bot            Old=nextstep:depth=3
    [LABEL=]KIND[{key=value,...}]:TARGET     a program or a plugin      Wine=gomocup{restart=on}:./pbrain-wine
    [LABEL=]exec[{dial=true}]:COMMAND        frames on its pipes, or on a stream that it opens itself: see `Speech`
    [LABEL=]KIND{key=value,...}:             a built-in kind            GPT=llm{model=NAME,url=URL}:
    [LABEL=]bot:NAME[@VERSION]               registered on a server     bot:alice-bot@2

Only a `=` before the first `:` or `{` ends a label; later ones belong to options.
"""

import re
import shlex
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from noughts_bots.reference.registry import BUILT_IN_KINDS, REFERENCE_BOTS, BuiltIn, Option
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotSpecError, did_you_mean
from noughts_proto.child_kinds import CHILD_KINDS, ChildKind, Speech
from noughts_referee.rules import Variant

_REFERENCE, _REGISTERED = "reference", "bot"
_SPEC_FORMS = "NAME[:key=value,...], KIND[{key=value,...}]:TARGET or bot:NAME[@VERSION]"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9\-_.:=,#+]")
_LONGEST_NAME = 60
"""Characters of a name made from a spec. Names of servers can be longer, so there is space for `#2` and the like."""


@dataclass(frozen=True)
class BotSpec:
    """A parsed spec. `str()` gives the spec without its label."""

    label: str | None
    """The bot's display name, if given."""
    kind: str
    """`reference`, `bot` (registered on a server), or the name of one of `noughts_proto.child_kinds` or
    `BUILT_IN_KINDS`."""
    target: str
    """A reference bot's name, a registered bot's `NAME` or `NAME@VERSION`, or the program, file or name to start."""
    options: dict[str, str] = field(default_factory=dict)
    """The options as written, in order."""

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        if self.kind == _REFERENCE:
            return f"{self.target}:{options}" if options else self.target
        return f"{self.kind}{{{options}}}:{self.target}" if options else f"{self.kind}:{self.target}"

    @property
    def child_kind(self) -> ChildKind | None:
        """The kind of child that the referee starts for the bot; None if it starts none."""
        return CHILD_KINDS.get(self.kind)

    @property
    def is_engine(self) -> bool:
        """Return whether the referee starts it as an engine, which has a protocol of its own instead of frames."""
        return self.child_kind is not None and not self.child_kind.speaks_frames

    @property
    def asks_an_endpoint(self) -> bool:
        """Return whether its moves are requests to an endpoint: they can cost money, and comments record them."""
        return self.kind in BUILT_IN_KINDS

    @property
    def short(self) -> str:
        """Return the spec as a name that is valid on a server: paths are cut to their last part, see `name_from`."""
        if self.kind in BUILT_IN_KINDS and (value := self.options.get(BUILT_IN_KINDS[self.kind].label_option)):
            return name_from(_last_part(value))
        files = {key: _last_part(value) for key, value in self.options.items()}
        target = " ".join(map(_last_part, self.target.split()))
        return name_from(str(replace(self, target=target, options=files)))


def name_from(text: str) -> str:
    """Return the text as a name that is valid on a server: cut, and with `_` for characters that names cannot have."""
    return _NOT_IN_NAMES.sub("_", text)[:_LONGEST_NAME]


def _last_part(text: str) -> str:
    return PurePath(text).name if "/" in text else text


def parse_spec(text: str) -> BotSpec:
    """Parse a spec. A reference bot must exist, but only `make_bot` checks its options. Raises BotSpecError."""
    label, rest = _split_label(text.strip())
    head = _head(rest)  # a name, a kind, or a command or path without its kind
    if head in CHILD_KINDS or head in BUILT_IN_KINDS:
        return _parse_child(text, label, head, rest[len(head) :])
    if head == _REGISTERED:
        return _parse_registered(text, label, rest[len(head) :])
    if _is_python_file(head) and rest[len(head) :][:1] in ("", ":"):
        return BotSpec(label, "py", rest)
    name, colon, options_text = rest.partition(":")
    _reference_bot(name, text)  # raises BotSpecError for an unknown name
    return BotSpec(label, _REFERENCE, name, _parse_options(text, options_text) if colon else {})


def _is_python_file(head: str) -> bool:
    """Return whether this is a Python file, perhaps with spaces in its path, and not a command like `python bot.py`."""
    return head.endswith(".py") and (len(head.split()) == 1 or _path_is(head, Path.is_file))


def _head(text: str) -> str:
    """Return the text before the first `:` or `{`: the name or kind, and before it LABEL= if there is a label."""
    return re.split("[:{]", text, maxsplit=1)[0]


def _split_label(text: str) -> tuple[str | None, str]:
    label, equals, _ = _head(text).partition("=")
    if not equals:
        return None, text
    if not label.strip() or not label.isprintable():
        raise _unreadable(text, "a label before '=', as in Old=nextstep:depth=3")
    return label.strip(), text[len(label) + 1 :].strip()


def _parse_child(text: str, label: str | None, kind: str, rest: str) -> BotSpec:
    options: dict[str, str] = {}
    if rest.startswith("{"):
        options_text, brace, rest = rest[1:].partition("}")
        if not brace:
            raise _unreadable(text, f"a closing brace, as in {kind}{{key=value}}:TARGET")
        options = _parse_options(text, options_text)
    target = rest[1:].strip()
    is_built_in = kind in BUILT_IN_KINDS
    if not rest.startswith(":") or bool(target) is is_built_in:
        expected = f"a colon at the end, as in {kind}{{key=value}}:"
        raise _unreadable(text, expected if is_built_in else f"what to start, as in {kind}:TARGET")
    return BotSpec(label, kind, target, options)


def _parse_registered(text: str, label: str | None, rest: str) -> BotSpec:
    name, at, version = rest[1:].partition("@")
    if not rest.startswith(":") or not name.strip() or (at and not version.strip()):
        raise _unreadable(text, "bot:NAME or bot:NAME@VERSION")
    return BotSpec(label, _REGISTERED, rest[1:].strip())


def _parse_options(text: str, options_text: str) -> dict[str, str]:
    """Parse `key=value,...`. `text` is the whole spec, for errors."""
    options: dict[str, str] = {}
    # A number without a key belongs to the value before it: `variants=tictactoe mnk:7,7,4`.
    for part in re.split(r",(?!\s*\d+\s*(?:[, ]|$))", options_text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not key or not equals or not value:
            raise _unreadable(text, "options as key=value, separated by commas")
        if key in options:
            raise _unreadable(text, f"option {key} only once")
        options[key] = value
    return options


def _unreadable(text: str, expected: str) -> BotSpecError:
    return BotSpecError("bot spec", repr(text), expected, f"a spec is {_SPEC_FORMS}")


def speech(spec: BotSpec) -> Speech:
    """Return how a program of the kind `exec` communicates, according to its options; FRAMES for all other kinds.

    Raises BotSpecError for invalid options of a kind whose options are known.
    """
    kind = spec.child_kind
    subject = f"bot {str(spec)!r}"
    if kind is None or kind.options is None:
        return Speech.FRAMES
    if unknown := [option for option in spec.options if option not in kind.options]:
        expected = f"none but {' or '.join(kind.options)}" if kind.options else "none"
        advice = "put arguments of the program into the command itself"
        raise BotSpecError(subject, f"options {', '.join(unknown)}", expected, advice)
    dial, frames = spec.options.get("dial", "false"), spec.options.get("frames", "binary")
    if dial not in ("true", "false"):
        advice = "true: it connects by itself; else it plays on its standard input and output"
        raise BotSpecError(f"{subject}, option dial", dial, "true or false", advice)
    if frames not in ("binary", "json"):
        advice = "binary: each message after its length; json: one per line"
        raise BotSpecError(f"{subject}, option frames", frames, "binary or json", advice)
    if dial == "true" and frames == "json":
        raise BotSpecError(subject, "dial=true and frames=json", "one of them", "a stream has its own frames")
    if dial == "true":
        return Speech.STREAM
    return Speech.JSON if frames == "json" else Speech.FRAMES


def connects_itself(spec: BotSpec) -> bool:
    """Return whether the bot is a program that opens a stream itself after its start: `exec{dial=true}:COMMAND`."""
    return speech(spec) is Speech.STREAM


def make_bot(spec: BotSpec, variant: Variant | None = None) -> BuiltInBot:
    """Create the reference bot of a spec. With a variant, also check that the bot plays it.

    Raises:
        BotSpecError: an unknown bot or option, or a kind that cannot be created here.
        VariantRefused: the bot does not play the variant.
    """
    if spec.kind != _REFERENCE:
        raise _not_made_here(spec)
    return make_built_in(spec, variant)


def make_built_in(spec: BotSpec, variant: Variant | None = None) -> BuiltInBot:
    """Create the bot of a spec: a reference bot, or a kind in `BUILT_IN_KINDS`. Only for processes of the bot's author.

    With a variant, also check that the bot plays it. Raises the errors of `make_bot`.
    """
    if spec.kind not in (_REFERENCE, *BUILT_IN_KINDS):
        raise _not_made_here(spec)
    built_in = BUILT_IN_KINDS.get(spec.kind) or _reference_bot(spec.target, str(spec))
    bot = built_in.bot(**_read_options(built_in, spec))
    if variant is not None:
        bot.require(variant)
    return bot


def _not_made_here(spec: BotSpec) -> BotSpecError:
    if spec.kind == _REGISTERED:
        advice = "a registered bot plays where it is logged in: use `noughts tournament run` or `challenge`"
        return BotSpecError(f"bot {str(spec)!r}", "a bot registered on a server", "a reference bot", advice)
    expected = f"a reference bot ({', '.join(REFERENCE_BOTS)})"
    advice = "such a bot needs a separate process and cannot play here; `noughts bot check` tries one"
    if spec.kind in BUILT_IN_KINDS:
        advice = "use it in `noughts bot run`, `match` or `tournament run`"
    return BotSpecError(f"bot {str(spec)!r}", f"kind {spec.kind}", expected, advice)


def _reference_bot(name: str, text: str) -> BuiltIn:
    """Return the reference bot with this name. `text` is the whole spec, for errors. Raises BotSpecError."""
    bot = REFERENCE_BOTS.get(name)
    if bot is None:
        known = [*REFERENCE_BOTS, *(f"{kind}:" for kind in (_REGISTERED, *CHILD_KINDS, *BUILT_IN_KINDS))]
        raise BotSpecError(f"bot {text!r}", f"name {name!r}", f"one of {', '.join(known)}", _advice(text, name, known))
    return bot


def _advice(text: str, name: str, known: Iterable[str]) -> str:
    """Return advice for an unknown name: it can be a file or a program without its kind, or a typing error."""
    label, _ = _split_label(text.strip())
    before = "" if label is None else f"{label}="
    program = name.split()[0] if name.split() else ""
    suffix = PurePath(name).suffix.lower()
    if suffix in (".so", ".dylib", ".dll") and program == name:
        return f"did you mean {before}dll:{name}?"
    if suffix == ".py" and shutil.which(program) is None:
        return f"a Python file is {shell_word(f'{before}py:{name}')}; check that it exists"
    if name and _path_is(name, Path.is_dir):
        file = shlex.quote(f"{before}{next(iter(sorted(Path(name).glob('*.py'))), Path(name, 'FILE.py'))}")
        return f"name a file in this folder, such as {file}"
    if "/" in name or "\\" in name or program != name:
        # A name with spaces is a command with arguments, unless there is a file with exactly this path.
        command = shlex.quote(name) if program != name and _path_is(name, Path.is_file) else name
        lines, gomocup, frames = (shell_word(f"{before}{kind}:{command}") for kind in ("lines", "gomocup", "exec"))
        return (
            f"a program is started as {lines} (one question and one cell per line),"
            f" {gomocup} (a Gomocup engine) or {frames} (frames)"
        )
    return did_you_mean(name.lower(), known) or "`noughts bot list --reference` shows them"


def shell_word(spec: str) -> str:
    """Return the spec as it is typed in a shell, in quotes if it needs them."""
    return f'"{spec}"' if "'" in spec and not set(spec) & set('"$`\\!') else shlex.quote(spec)


def _path_is(name: str, test: Callable[[Path], bool]) -> bool:
    """Return the result of a test such as `Path.is_file`; False for a name that cannot be a path."""
    try:
        return test(Path(name).expanduser())
    except (OSError, RuntimeError, ValueError):  # too long, a user who does not exist, a null character
        return False


def _read_options(built_in: BuiltIn, spec: BotSpec) -> dict[str, Any]:
    """Return the values of the spec's options. Raises BotSpecError."""
    known = {option.name: option for option in built_in.options}
    for key in spec.options:
        if key not in known:
            expected = f"one of {', '.join(known)}" if known else "no options"
            advice = did_you_mean(key.lower(), known) or f"write {built_in.syntax}"
            raise BotSpecError(f"bot {str(spec)!r}", f"option {key}", expected, advice)
    for option in built_in.options:
        if option.required and option.name not in spec.options:
            advice = f"add {option.name}={option.expected}"
            raise BotSpecError(f"bot {str(spec)!r}", f"no {option.name}", built_in.syntax, advice)
    return {key: _read_value(known[key], built_in, spec, value) for key, value in spec.options.items()}


def _read_value(option: Option, built_in: BuiltIn, spec: BotSpec, value: str) -> Any:
    try:
        return option.read(value)
    except (KeyError, ValueError):
        subject = f"bot {str(spec)!r}, option {option.name}"
        raise BotSpecError(subject, value, option.expected, f"write {built_in.syntax}") from None


def unique_labels(specs: Iterable[BotSpec]) -> list[str]:
    """Return a distinct name for each spec: its label, or a name made from the spec, with a number if it is repeated.

    Equal specs become `random`, `random#2`. Raises BotSpecError if two specs have the same label.
    """
    specs = list(specs)
    taken: set[str] = set()
    for spec in specs:
        if spec.label in taken:
            advice = "give each bot its own label, or none"
            raise BotSpecError("labels", f"{spec.label!r} twice", "each label once", advice)
        if spec.label is not None:
            taken.add(spec.label)
    return [spec.label if spec.label is not None else _free_label(spec.short, taken) for spec in specs]


def _free_label(name: str, taken: set[str]) -> str:
    """Return `name`, or the first free one of `name#2`, `name#3`, ..., and add it to `taken`."""
    label = name
    number = 1
    while label in taken:
        number += 1
        label = f"{name}#{number}"
    taken.add(label)
    return label
