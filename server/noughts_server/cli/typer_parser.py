"""The commands for typer, where it is installed: for help, for lines that are wrong, and for completion."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from noughts_server.cli.commands import Command, Group, LoadedCommand
from noughts_server.cli.parameters import Argument, Completes


class _WordlessFlags:
    """Help that names no type beside a flag, which takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as help and errors read them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_WordlessFlags, TyperCommand):
    """A command."""


class _Group(_WordlessFlags, TyperGroup):
    """A group of them."""


def typer_app(root: Group, path: Sequence[str] | None = None) -> typer.Typer:
    """The commands for typer. With a path only the command there is loaded; the others are listed, but do nothing."""
    app = typer.Typer(
        name=root.name,
        cls=_Group,
        context_settings={"help_option_names": ["--help", "-h"]},
        no_args_is_help=True,
        rich_markup_mode="rich",
        # Our errors are messages; what is left is a fault of this program, for which a plain traceback is best.
        pretty_exceptions_enable=False,
        epilog=root.epilog,
    )
    app.callback(help=_escaped(root.summary))(_root)
    _fill(app, root, root.name, path)
    return app


def _fill(app: typer.Typer, group: Group, line: str, path: Sequence[str] | None) -> None:
    for child in group.children:
        beneath = f"{line} {child.name}"
        if path is not None and list(path[:1]) != [child.name]:
            app.command(child.name, help=_escaped(child.summary), rich_help_panel=child.panel)(_root)
        elif isinstance(child, Command):
            app.command(child.name, cls=_Command, **_page(child, loaded := child.load(beneath)))(_callback(loaded))
        else:
            inner = typer.Typer(cls=_Group, help=_escaped(child.summary), no_args_is_help=True, rich_markup_mode="rich")
            _fill(inner, child, beneath, None if path is None else path[1:])
            app.add_typer(inner, name=child.name, rich_help_panel=child.panel)


def _page(command: Command, loaded: LoadedCommand) -> dict[str, Any]:
    """What its help says."""
    heading = "[bold]Example:[/bold]" if len(command.examples) == 1 else "[bold]Examples:[/bold]"
    return {
        "help": _escaped("\n\n".join(loaded.paragraphs)),
        "epilog": "\n\n".join([heading, *map(_escaped, command.examples)]),
        "rich_help_panel": command.panel,
    }


def _callback(loaded: LoadedCommand) -> Callable[..., None]:
    """A function with the command's parameters, declared as typer expects them."""

    def run(**values: Any) -> None:
        loaded.run(**values)

    parameters = [_translated(parameter) for parameter in loaded.parameters]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _translated(parameter: inspect.Parameter) -> inspect.Parameter:
    (declared,), kind = parameter.annotation.__metadata__, parameter.annotation.__origin__
    complete = None if declared.completes is None else _completion(declared.completes)
    if isinstance(declared, Argument):
        info: Any = typer.Argument(
            metavar=declared.metavar,
            help=declared.help,
            show_default=declared.show_default,
            autocompletion=complete,
        )
    else:
        info = typer.Option(
            *declared.names,
            metavar=declared.metavar,
            help=declared.help,
            min=declared.min,
            max=declared.max,
            show_default=declared.show_default,
            rich_help_panel=declared.panel,
            autocompletion=complete,
        )
    return parameter.replace(annotation=Annotated[kind, info])


def _completion(what: Completes) -> Callable[..., list[str]]:
    """What a shell offers, as typer asks for it."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from noughts_server.cli.completion import candidates

        return [each for each in candidates(what, ctx.params.get("server")) if each.startswith(incomplete)]

    return complete


def _print_version(wanted: bool) -> None:
    if wanted:
        from noughts_server.version import software_version

        typer.echo(f"noughts {software_version()}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Before every command; and in the place of those that are only listed."""


def _escaped(text: str) -> str:
    # Brackets are markup to the help's renderer.
    return text.replace("[", r"\[")
