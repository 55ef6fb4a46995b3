"""Parameters of commands, made from what settings models declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.runs.declaring import Settings

WorkspaceFolder = Annotated[
    Path | None, typer.Option("--workspace", metavar="DIR", help="Holds .chase/; default: found upward.")
]
DataFolder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The benchmark's data folder, where it has one.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of text.")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what it would take at most; run and write nothing.", rich_help_panel="Money"),
]


def takes(model: type[Settings]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command a flag for each setting of a model, grouped in the help; the command gets those that were given.

    The command's first parameter is called `given` and gets a dictionary; the others are its own.
    """

    def command(function: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "given"]
        flags = list(_flags(model))

        def run(**values: Any) -> None:
            said = {name: values.pop(name) for name in model.about()}
            function({name: value for name, value in said.items() if value not in (None, [])}, **values)

        run.__name__, run.__doc__, run.__module__ = function.__name__, function.__doc__, function.__module__
        parameters = [*flags, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return command


def _flags(model: type[Settings]) -> Iterator[inspect.Parameter]:
    for name, about in model.about().items():
        kind = model.kind(name)
        read: Any = list[str] if kind.several else kind.reads
        option = typer.Option(
            about.flag or f"--{name.replace('_', '-')}",
            metavar=about.metavar,
            help=_help(about.help, model.model_fields[name].default),
            show_default=False,
            rich_help_panel=about.panel,
        )
        annotation = Annotated[read | None, option]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _help(text: str, default: Any) -> str:
    """With the default, where there is one to tell: not for what is off or nobody's."""
    told = default and isinstance(default, int | float | str) and "default" not in text
    return f"{text.rstrip('.')}; default: {default}." if told else text
