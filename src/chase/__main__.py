"""The `chase` program: imports under way can be interrupted like anything else."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends with 130, also while it is still starting."""
    try:
        from chase.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("chase: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
