"""The scratch folder of an external agent: what it is given to read, and what it leaves to be read as data.

```
INSTRUCTIONS.md      what to do
context.json         limits, observables, forms
history/             the read-only history tree
…/                   harnesses that the work is about, as folders
REFUSED.md           from the second time on: which answers cannot be used, and why
answers/             what the agent leaves
```

Whatever is in the folder after the command ran was written by it: nothing is written or read through a link, no pipe or
device is opened, and sizes are checked before anything is kept.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from chase.agents.confinement import HISTORY, HOME, TEMPORARY
from chase.core.errors import SetupError, UserError
from chase.core.outside import valid_unicode
from chase.core.values import Json
from chase.harness.folder import GUIDANCE, MOST_MODULES, read_text

ANSWERS, RECORD = "answers", "record.json"
MOST_FILES = 8 + MOST_MODULES
"""In a harness's folder: more are not read."""
DEEPEST = 12
"""Levels of JSON that are kept."""

Redact = Callable[[str], str]


class DeskFolder:
    """One agent's folder. The host lays it out before the agent runs and reads it after."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def answers(self) -> Path:
        """Where the answers are; a `UserError` where the agent made something else of the folder."""
        path = self.root / ANSWERS
        if path.is_symlink() or not path.is_dir():
            raise UserError(f"{ANSWERS} is not a plain folder. Leave the answers in a folder of this name.")
        return path

    def lay_out(self, files: Mapping[str, str]) -> None:
        """A new folder with files by path and an empty place for answers."""
        for name, text in files.items():
            path = self.root / PurePosixPath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        (self.root / ANSWERS).mkdir(parents=True)

    def put(self, name: str, text: str) -> None:
        """A file at the top of a folder that the agent had: what stands there is replaced, not followed."""
        path = self.root / name
        remove(path)
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)

    def open_for_work(self, history: Path, *, copy: bool) -> None:
        """Make the home, and the place of the history: a copy of it, or an empty folder to mount it on."""
        self.close_after_work()
        (self.root / TEMPORARY).mkdir(parents=True)
        if copy:
            shutil.copytree(history, self.root / HISTORY, symlinks=True)
        else:
            (self.root / HISTORY).mkdir()

    def close_after_work(self) -> None:
        """Remove the home, where tools keep keys and caches, and what stands in the history's place."""
        self.root.chmod(0o700)  # the agent may have taken it away
        for name in (HOME, HISTORY):
            remove(self.root / name)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftHarness:
    """A harness that an agent left: its files and record, and what keeps them from being read."""

    files: dict[str, str]
    record: dict[str, Json] = field(default_factory=dict)
    problem: str = ""


def read_harness(folder: Path, redact: Redact) -> LeftHarness | None:
    """The harness in a folder that an agent left; None where there is none."""
    try:
        mode = folder.lstat().st_mode
    except OSError:
        return None
    try:
        if not stat.S_ISDIR(mode):
            raise UserError(f"{folder.name} is not a plain folder. Leave the files of a harness in a folder.")
        names = _listed(folder)
        files = {valid_unicode(name): redact(_text(folder, name)) for name in names if name != RECORD}
    except (UserError, OSError) as error:
        return LeftHarness(files={}, problem=_told(error, folder))
    if not names:
        return None
    try:
        record = read_json(folder / RECORD, most=64 << 10, redact=redact)
        if not isinstance(record, dict):
            raise UserError(f"{RECORD} is no JSON object.")
    except UserError as error:
        return LeftHarness(files=files, record={"problem": _told(error, folder)})
    return LeftHarness(files=files, record=record)


def read_json(path: Path, *, most: int, redact: Redact) -> Json:
    """The JSON in a file that an agent left, as plain data; a `UserError` says why there is none."""
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise UserError(f"{path.name} is not a plain file.")
        # The flags hold the check above against a file that is exchanged in between.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise UserError(f"{path.name} is larger than {most} bytes.")
        return plain(json.loads(content.decode()), redact)
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path.name} is not valid JSON: {error}.") from None


def plain(value: Any, redact: Redact, depth: int = 0) -> Json:
    """JSON that can be kept: valid Unicode, finite numbers, not deeper than anything sensible, no keys."""
    if isinstance(value, str):
        return redact(valid_unicode(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict | list) and depth >= DEEPEST:
        return "(too deep)"
    if isinstance(value, dict):
        return {redact(valid_unicode(key)): plain(item, redact, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, redact, depth + 1) for item in value]
    return value


def remove(path: Path) -> None:
    """Remove what is at a path, whatever an agent made of it; links are not followed."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except (OSError, RecursionError):  # folders without permissions, or nested a thousand deep
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            subprocess.run([*command, "--", str(path)], check=False, capture_output=True)
    if path.exists():
        raise SetupError(f"{path} cannot be removed. Remove it, then resume.")


def _listed(folder: Path) -> list[str]:
    """The entries of a harness's folder and of its guidance; names that do not belong are for the host to refuse."""
    names = sorted(entry.name for entry in os.scandir(folder))
    modules = folder / GUIDANCE
    if GUIDANCE in names and stat.S_ISDIR(modules.lstat().st_mode):
        names.remove(GUIDANCE)
        names += sorted(f"{GUIDANCE}/{entry.name}" for entry in os.scandir(modules))
    if len(names) > MOST_FILES:
        raise UserError(f"{folder.name} has {len(names)} files. Leave those of a harness only.")
    return names


def _text(folder: Path, name: str) -> str:
    """A file's text; of a folder, which the host refuses by its name, nothing."""
    path = folder / name
    return "" if stat.S_ISDIR(path.lstat().st_mode) else read_text(path)


def _told(error: Exception, folder: Path) -> str:
    """What is wrong, without the path that the agent does not know."""
    return valid_unicode(str(error)).replace(f"{folder.parent}/", "")
