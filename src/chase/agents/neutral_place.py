"""Where a confined command works: a place on this machine whose path says nothing.

A command can read in `/proc/self/mountinfo` where on the machine the folders that it sees are. So while it works its
desk and a copy of the history are in a folder of the system's temporary one, and not where run and round can be read.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chase.agents.desk_folder import remove
from chase.core.errors import SetupError


@contextmanager
def neutral_place(desk: Path, history: Path) -> Iterator[tuple[Path, Path]]:
    """Where desk and history are for the time of the work; then the desk is back, as the command left it.

    Meanwhile a link stands in the desk's place. A killed process leaves it, and the next one finds the desk by it.
    """
    place = Path(tempfile.mkdtemp(prefix="place-"))
    try:
        _copy(history, place / "history")
        _take_back(desk)
        _move(desk, place / "desk")
        desk.symlink_to(place / "desk")
        yield place / "desk", place / "history"
    finally:
        _take_back(desk)
        remove(place)


def _take_back(desk: Path) -> None:
    """Bring the desk back from where a link says that it is, and remove what else is there."""
    if not desk.is_symlink():
        return
    place = desk.readlink()
    desk.unlink()
    _move(place, desk)
    remove(place.parent)


def _move(source: Path, target: Path) -> None:
    """Whatever a command made of a folder, links in it as links: a rename, or a copy to another file system."""
    source.chmod(0o700)  # the command may have taken it away
    try:
        source.rename(target)
    except OSError:
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(source)], check=False, capture_output=True)
        _copy(source, target)
        remove(source)


def _copy(source: Path, target: Path) -> None:
    copied = subprocess.run(["cp", "-a", "--", str(source), str(target)], check=False, capture_output=True, text=True)
    if copied.returncode:
        raise SetupError(
            f"{source} cannot be copied to {target.parent}, where an external agent works: "
            f"{copied.stderr.strip()[:300]}. Make room there, or name another folder by TMPDIR; then resume."
        )
