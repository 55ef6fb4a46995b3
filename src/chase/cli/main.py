"""The `chase` command: its sub-commands and how errors end."""

from __future__ import annotations

import sys
import traceback

import typer
from typer.exceptions import TyperException

from chase import __version__
from chase.cli.late import LateGroup
from chase.cli.output import printable
from chase.core.errors import ChaseError

MOST_CHARS = 500
"""Of an unexpected error."""

app = typer.Typer(
    cls=LateGroup,
    name="chase",
    help="Is a harness's gain real, or a benchmark-wide shortcut?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"chase {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Say the version."),
    debug: bool = typer.Option(False, "--debug", help="Show a traceback when something fails."),
) -> None:
    """Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 missing prerequisite, 4 budget reached,
    5 gain not supported, 6 a check failed, 7 paused by an outage, 130 interrupted."""


def main() -> None:
    """Run the command line and end with its exit code."""
    debug = "--debug" in sys.argv
    try:
        code = app(standalone_mode=False)
        if code == 130:  # what Typer makes of an interruption
            raise KeyboardInterrupt
    except ChaseError as error:
        typer.echo(printable(f"chase: {error}"), err=True)
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("chase: interrupted.", err=True)
        code = 130
    except TyperException as error:
        if message := error.format_message().rstrip("."):
            end = "" if message.endswith("?") else "."
            typer.echo(f"chase: {message}{end} `chase --help` and `chase COMMAND --help` say what is valid.", err=True)
        code = 2
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        else:
            typer.echo(
                f"chase: internal error: {repr(error)[:MOST_CHARS]}. Run `chase --debug …` to see where.", err=True
            )
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
