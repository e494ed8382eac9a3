"""Bots in Python: `py:package.module:Class`, `py:./file.py:Class`, or `py:NAME` for a bot of an installed package.

The class can be omitted if a file has one bot: `py:./file.py`. The class is a `Bot`, or any callable that returns one.
Options are passed by name as text, or as int, float or bool (`true`, `false`) if the parameter is annotated so, also
with `| None`.
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
    subject = f"bot 'py:{target}'"
    make = _maker_of(target, subject)
    arguments = _arguments(make, options, subject)
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
    where, name = module_and_class(target)
    if not where:
        value = _installed(target, subject)
    else:
        module = _module(where, subject)
        value = _named(module, where, name or _only_bot(module, where, subject), subject)
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


def _module(where: str, subject: str) -> ModuleType:
    here = folder()
    _add_to_path(here)
    if where.endswith(".py") or "/" in where:
        file = here / Path(where).expanduser()
        if not os.path.isfile(file):
            raise BotSpecError(subject, f"{file}, which is not a file", "a Python file", f"write {_FORMS}")
        return _load_guarded(lambda: _from_file(file), subject, f"correct {where}")
    if not all(part.isidentifier() for part in where.split(".")):
        raise BotSpecError(subject, repr(where), "the name of a module", f"write {_FORMS}")
    advice = f"correct it, or install it; Python also looks for modules in {here}"
    return _load_guarded(lambda: importlib.import_module(where), subject, advice)


def _add_to_path(here: Path) -> None:
    """Make modules of the folder importable, before installed ones but after Python's own."""
    if str(here) not in sys.path:
        package_indexes = (
            index for index, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages"))
        )
        sys.path.insert(next(package_indexes, len(sys.path)), str(here))


def _from_file(file: Path) -> ModuleType:
    _add_to_path(file.parent.resolve())  # so that it can import its neighbours, as a program can
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
    """Return the error with its traceback from the author's first frame on; None if it has no such frame."""
    own_files = ("<frozen", str(Path(importlib.__file__).parent), __file__)
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(own_files):
        frames = frames.tb_next
    return None if frames is None else error.with_traceback(frames)


def _named(module: ModuleType, where: str, name: str, subject: str) -> Any:
    attribute: Any = module
    for part in name.split("."):
        attribute = getattr(attribute, part, None)
        if attribute is None:
            bots = _bots_of(module)
            expected = f"a class or a function of {where}" + (f", e.g. {', '.join(sorted(bots))}" if bots else "")
            raise BotSpecError(subject, f"name {name!r}", expected, did_you_mean(name, bots) or f"write {_FORMS}")
    return attribute


def _only_bot(module: ModuleType, where: str, subject: str) -> str:
    bots = _bots_of(module)
    if len(bots) != 1:
        got = f"{len(bots)} classes that are bots" + (f" ({', '.join(bots)})" if bots else "")
        advice = f"write `class Mine(Bot)`, or name a function that returns a bot: py:{where}:FUNCTION"
        if bots:
            advice = f"name one: py:{where}:{bots[0]}"
        raise BotSpecError(subject, got, f"one in {where}", advice)
    return bots[0]


def _bots_of(module: ModuleType) -> list[str]:
    """Return the names of the bots that the module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Bot) and value.__module__ == module.__name__
    ]


def _arguments(make: Callable[..., Any], options: Mapping[str, str], subject: str) -> dict[str, Any]:
    parameters = _parameters(make)
    takes_any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    known = {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in options:
            spec = subject.removeprefix("bot '").removesuffix("'").replace("py:", f"py{{{name}=VALUE}}:", 1)
            raise BotSpecError(subject, f"no option {name}", f"a value for {name}", f"write {spec}")
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
        return []  # `inspect` also finds this out, but takes a millisecond to read the documentation of `object`
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
