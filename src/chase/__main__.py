"""`python -m chase` is the `chase` command."""

from chase.cli.main import main

if __name__ == "__main__":
    main()
