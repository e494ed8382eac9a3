"""Bots in Python: `py:package.module:Class`, `py:./file.py:Class`, or `py:NAME` for a bot of an installed package.

The class is a `Bot`, or any callable that returns one. It can be omitted if a file has one bot: `py:./file.py`. Options
are passed by name, as text, or as int, float or bool (`true`, `false`) if that is the parameter's annotation (also with
`| None`).
"""

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from noughts_bots.hosts import folder
from noughts_bots.hosts.installed import GROUP
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import BotSpecError, did_you_mean
from noughts_proto.child_kinds import module_and_class
from noughts_referee.rules.variant_plugins import installed

Loaded = TypeVar("Loaded")

_FORMS = "py:package.module:Class, py:./file.py:Class, or py:NAME for a bot of an installed package"
_BOOLEANS = {"true": True, "false": False}


def load(target: str, options: Mapping[str, str]) -> Bot:
    """Load the bot. Raises BotSpecError, whose cause is the exception of the author's code, if any."""
    spec = f"py:{target}"
    subject = f"bot '{spec}'"
    make = _maker_of(target, subject)
    arguments = _arguments(make, options, spec, subject)
    try:
        bot = make(**arguments)
    except Exception as error:
        raise BotSpecError(subject, _error_text(error), "a bot", "correct the exception in its constructor") from error
    if not isinstance(bot, Bot):
        advice = "name a subclass of noughts_bots.Bot, or a function that returns one"
        raise BotSpecError(subject, f"{bot!r:.80}", "a noughts_bots.Bot", advice)
    variants: object = bot.variants
    if isinstance(variants, str):
        advice = f'write variants = ("{variants}",)'
        raise BotSpecError(subject, f"variants = {variants!r:.80}", "a tuple of names", advice)
    return bot


def _maker_of(target: str, subject: str) -> Callable[..., Any]:
    """Return the class or function that returns the bot. Raises BotSpecError."""
    module_path, name = module_and_class(target)
    if not module_path:
        value = _installed(target, subject)
    else:
        module = _module(module_path, subject)
        value = _attribute(module, module_path, name or _only_bot(module, module_path, subject), subject)
    if not callable(value):
        raise BotSpecError(subject, f"{value!r:.80}", "a class, or a function that returns a bot", "name another")
    maker: Callable[..., Any] = value
    return maker


def _installed(name: str, subject: str) -> Any:
    by_name = installed(GROUP)
    points = by_name.get(name, ())
    if not points:
        known = f"the installed {', '.join(sorted(by_name))}" if by_name else f"an entry point of the group {GROUP}"
        advice = did_you_mean(name, by_name, before="py:") or f"write {_FORMS}"
        raise BotSpecError(subject, f"name {name!r}", known, advice)
    if len(points) > 1:
        packages = " and ".join(sorted(point.dist.name if point.dist else "a package" for point in points))
        raise BotSpecError(subject, f"a bot from {packages}", "one from a single package", "uninstall one of them")
    (point,) = points
    return _load_guarded(point.load, subject, f"reinstall or fix the package that brings {point.value}")


def _module(module_path: str, subject: str) -> ModuleType:
    """Import a module by its name or file. Raises BotSpecError."""
    plugin_folder = folder()
    _add_to_path(plugin_folder)
    if module_path.endswith(".py") or "/" in module_path:
        file = plugin_folder / Path(module_path).expanduser()
        if not os.path.isfile(file):
            raise BotSpecError(subject, f"{file}, which is not a file", "a Python file", f"write {_FORMS}")
        return _load_guarded(lambda: _from_file(file), subject, f"correct {module_path}")
    if not all(part.isidentifier() for part in module_path.split(".")):
        raise BotSpecError(subject, repr(module_path), "the name of a module", f"write {_FORMS}")
    advice = f"correct it, or install it; Python also looks for modules in {plugin_folder}"
    return _load_guarded(lambda: importlib.import_module(module_path), subject, advice)


def _add_to_path(plugin_folder: Path) -> None:
    """Make modules of the folder importable, before those of installed packages but after Python's own."""
    if str(plugin_folder) in sys.path:
        return
    first_of_packages = len(sys.path)
    for index, path in enumerate(sys.path):
        if path.endswith(("site-packages", "dist-packages")):
            first_of_packages = index
            break
    sys.path.insert(first_of_packages, str(plugin_folder))


def _from_file(file: Path) -> ModuleType:
    _add_to_path(file.parent.resolve())  # so that the file can import files next to it, as a program can
    # A separate name, because the file can have the name of another module.
    name = f"noughts_plugin_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_guarded(load: Callable[[], Loaded], subject: str, advice: str) -> Loaded:
    """Return the result of `load`. An author's module can raise anything, including SystemExit. Raises BotSpecError."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        cause = _in_authors_frames(error)
        raise BotSpecError(subject, _error_text(error), "a module that can be imported", advice) from cause


def _in_authors_frames(error: BaseException) -> BaseException | None:
    """Return the error with only the part of its traceback that begins with the author's code; None without any."""
    own_files = ("<frozen", str(Path(importlib.__file__).parent), __file__)
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(own_files):
        frames = frames.tb_next
    return None if frames is None else error.with_traceback(frames)


def _attribute(module: ModuleType, module_path: str, name: str, subject: str) -> Any:
    """Return the attribute with this dotted name. Raises BotSpecError."""
    attribute: Any = module
    for part in name.split("."):
        attribute = getattr(attribute, part, None)
        if attribute is None:
            bots = _bots_of(module)
            examples = f", e.g. {', '.join(sorted(bots))}" if bots else ""
            expected = f"a class or a function of {module_path}{examples}"
            raise BotSpecError(subject, f"name {name!r}", expected, did_you_mean(name, bots) or f"write {_FORMS}")
    return attribute


def _only_bot(module: ModuleType, module_path: str, subject: str) -> str:
    """Return the name of the module's only bot. Raises BotSpecError if it has none or several."""
    bots = _bots_of(module)
    if len(bots) != 1:
        got = f"{len(bots)} classes that are bots" + (f" ({', '.join(bots)})" if bots else "")
        advice = f"write `class Mine(Bot)`, or name a function that returns a bot: py:{module_path}:FUNCTION"
        if bots:
            advice = f"name one: py:{module_path}:{bots[0]}"
        raise BotSpecError(subject, got, f"one in {module_path}", advice)
    return bots[0]


def _bots_of(module: ModuleType) -> list[str]:
    """Return the names of the bots that the module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Bot) and value.__module__ == module.__name__
    ]


def _arguments(make: Callable[..., Any], options: Mapping[str, str], spec: str, subject: str) -> dict[str, Any]:
    """Return the options as keyword arguments of `make`. Raises BotSpecError."""
    parameters = _parameters(make)
    takes_any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    known = {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in options:
            advice = f"write py{{{name}=VALUE}}:{spec.removeprefix('py:')}"
            raise BotSpecError(subject, f"no option {name}", f"a value for {name}", advice)
    for name in options:
        if name not in known and not takes_any_name:
            expected = f"one of {', '.join(known)}" if known else "no options"
            raise BotSpecError(subject, f"option {name}", expected, did_you_mean(name, known) or "leave it out")
    return {
        name: _converted(known[name].annotation if name in known else str, name, value, subject)
        for name, value in options.items()
    }


def _parameters(make: Callable[..., Any]) -> list[inspect.Parameter]:
    if isinstance(make, type) and not _has_own(make, "__init__") and not _has_own(make, "__new__"):
        return []  # `inspect` would return the same, but it needs a millisecond to read the documentation of `object`
    try:
        return list(inspect.signature(make, eval_str=True).parameters.values())
    except ValueError:  # a callable of an extension without a signature: it gets all options
        return [inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)]
    except Exception:  # annotations that only type checkers can read
        return list(inspect.signature(make).parameters.values())


def _has_own(kind: type, name: str) -> bool:
    return getattr(kind, name) is not getattr(object, name)


def _converted(annotation: Any, name: str, value: str, subject: str) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        # `int | None` counts as int.
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        annotation = kinds[0] if len(kinds) == 1 else str
    try:
        if annotation in (bool, "bool"):
            return _BOOLEANS[value]
        if annotation in (int, "int"):
            return int(value)
        if annotation in (float, "float"):
            return float(value)
    except (KeyError, ValueError):
        kind = getattr(annotation, "__name__", annotation)
        expected = {"bool": "true or false", "int": "a whole number"}.get(kind, "a number")
        raise BotSpecError(f"{subject}, option {name}", value, expected, f"write {name}=VALUE") from None
    return value


def _error_text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
