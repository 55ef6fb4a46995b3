"""A harness as a folder that a person can read and diff: loading, saving, and what is refused.

`harness.toml` (structural fields), `prompt.md`, `memory.md`, `guidance/NAME.md`, `control.py`. Nothing here runs
`control.py`, nor even parses it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark
from chase.core.values import Json
from chase.harness.spec import Activation, FrontMatter, Guidance, Harness, Structure, plain_text
from chase.harness.typed_toml import parse_toml

STRUCTURE, PROMPT, MEMORY, CONTROL, GUIDANCE = "harness.toml", "prompt.md", "memory.md", "control.py", "guidance"
FILE_BYTES = 64 << 10
MOST_MODULES = 64
FENCE = "+++"
_LAYOUT = (STRUCTURE, PROMPT, MEMORY, CONTROL, f"{GUIDANCE}/NAME.md")
_MODULE = re.compile(rf"{GUIDANCE}/([a-z0-9-]{{1,64}})\.md")


def initial_harness(benchmark: Benchmark[Any]) -> Harness:
    """`H_0` of a benchmark."""
    return parse_files(benchmark.initial, where=f"H_0 of {benchmark.name}")


def load_harness(folder: Path) -> Harness:
    """The harness of a folder; anything malformed is a `UserError` that says what, where and what to do."""
    return parse_files({name: read_text(folder / name) for name in _listed(folder)}, where=str(folder))


def save_harness(harness: Harness, folder: Path) -> None:
    """Write the harness, always with the same bytes, so that loading it gives the same harness back.

    Nothing is overwritten: the folder is new, empty, or holds (part of) an earlier save of this same harness.
    `harness.toml` comes last and each file appears as a whole: what was interrupted is refused or finished.
    """
    files = render_files(harness)
    parse_files(files, where=str(folder))  # what could not be loaded again is not written
    try:
        _check_free(folder, files)
        (folder / GUIDANCE if harness.guidance else folder).mkdir(parents=True, exist_ok=True)
        for name in sorted(files, key=lambda name: (name == STRUCTURE, name)):
            partial = _partial(folder / name)
            partial.unlink(missing_ok=True)
            with partial.open("xb") as file:
                file.write(files[name].encode())
            partial.replace(folder / name)
    except OSError as error:
        raise UserError(
            f"harness folder={folder} cannot be written: {error.strerror}. Name a folder you can write to."
        ) from None


def check_free(folder: Path, harness: Harness | None) -> None:
    """Refuse (`UserError`) a folder that `save_harness` could not write to: it holds anything but this harness."""
    try:
        _check_free(folder, {} if harness is None else render_files(harness))
    except OSError as error:
        raise UserError(f"harness folder={folder} cannot be used: {error.strerror}. Name a new folder.") from None


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def _check_free(folder: Path, files: Mapping[str, str]) -> None:
    """A `UserError` if the folder holds anything but these very files, or what was left of writing them."""
    present = list(folder.iterdir()) if folder.exists() else []
    modules = folder / GUIDANCE
    if modules in present and modules.is_dir() and not modules.is_symlink():
        present.remove(modules)
        present += modules.iterdir()
    expected = {folder / name: text.encode() for name, text in files.items()}
    partials = {_partial(path) for path in expected}
    for path in present:
        plain = path.is_file() and not path.is_symlink()
        if path not in partials and not (plain and path.read_bytes() == expected.get(path)):
            raise UserError(f"{path} is in the way of saving a harness. Name a new or an empty folder.")


def parse_files(files: Mapping[str, str], *, where: str) -> Harness:
    """The harness that files spell, given as texts by their path in the folder; the inverse of `render_files`."""
    _check_names(files, where)
    for name in (STRUCTURE, PROMPT):
        if name not in files:
            raise UserError(
                f"{name} is missing in {where}. Write it, or start from a whole harness: "
                "`chase harness init DIR --benchmark NAME`."
            )
    for name, text in files.items():
        _check_size(text, f"{where}/{name}")
    modules = [(found[1], name) for name in sorted(files) if (found := _MODULE.fullmatch(name))]
    return Harness(
        structure=parse_toml(Structure, files[STRUCTURE], where=f"{where}/{STRUCTURE}"),
        prompt=files[PROMPT],
        memory=files.get(MEMORY, ""),
        guidance=tuple(_parse_module(module, files[name], f"{where}/{name}") for module, name in modules),
        control_source=files.get(CONTROL),
    )


def render_files(harness: Harness) -> dict[str, str]:
    """The files of a harness by their path in the folder: the same texts for the same harness."""
    structure = harness.structure.model_dump(mode="json", by_alias=True, exclude_none=True)
    texts = {PROMPT: harness.prompt, MEMORY: harness.memory, CONTROL: harness.control_source or ""}
    return {
        STRUCTURE: tomli_w.dumps(structure, multiline_strings=True),
        **{name: f"{text}\n" for name, text in texts.items() if text or name == PROMPT},
        **{f"{GUIDANCE}/{module.name}.md": _render_module(module) for module in harness.guidance},
    }


def read_text(path: Path) -> str:
    """The text of one file of a harness, line endings made plain. Links, pipes and large files are not followed."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise UserError(f"{path} is a symbolic link. A harness holds plain files: put the file itself there.")
        if not stat.S_ISREG(mode):
            raise UserError(f"{path} is not a file. A harness holds {', '.join(_LAYOUT)}: put a plain file there.")
        # The flags hold the check above against a file that is exchanged in between.
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
            content = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}. Make it a plain file that you can read.") from None
    if len(content) > FILE_BYTES:
        raise _too_large(str(path), path.stat().st_size)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path} is not UTF-8 text (line {line}). Save it as UTF-8.") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _listed(folder: Path) -> list[str]:
    """The paths of the folder's files, each checked to belong there."""
    try:
        names = sorted(path.name for path in folder.iterdir())
        if GUIDANCE in names:
            modules = folder / GUIDANCE
            if modules.is_symlink() or not modules.is_dir():
                raise UserError(f"{modules} is not a plain folder. Make it a folder that holds NAME.md files.")
            names.remove(GUIDANCE)
            names += sorted(f"{GUIDANCE}/{path.name}" for path in modules.iterdir())
    except OSError as error:
        raise UserError(
            f"harness folder={folder} cannot be read: {error.strerror}. Name the folder that holds {STRUCTURE}, or "
            "make one: `chase harness init DIR --benchmark NAME`."
        ) from None
    _check_names(names, str(folder))
    return names


def _check_names(names: Iterable[str], where: str) -> None:
    modules = 0
    for name in names:
        path = f"{where}/{name if name.isprintable() else repr(name)}"
        if name.startswith(f"{GUIDANCE}/"):
            modules += 1
            if not _MODULE.fullmatch(name):
                raise UserError(
                    f"{path} is not a guidance module's name. Write {GUIDANCE}/NAME.md with a NAME of at most 64 "
                    "characters from a-z, 0-9 and -."
                )
        elif name not in _LAYOUT[:4]:
            try:
                choose("file", name, _LAYOUT)
            except UserError as refusal:
                raise UserError(f"{path} does not belong in a harness: {refusal} Move it elsewhere.") from None
    if modules > MOST_MODULES:
        raise UserError(f"{where}/{GUIDANCE} has {modules} modules. Keep at most {MOST_MODULES}.")


def _check_size(text: str, where: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise UserError(f"{where} is not valid Unicode (line {line}). Save it as UTF-8.") from None
    if size > FILE_BYTES:
        raise _too_large(where, size)


def _too_large(where: str, size: int) -> UserError:
    return UserError(f"{where} is too large: size={size} bytes. Keep each file of a harness to {FILE_BYTES} bytes.")


def _parse_module(name: str, text: str, where: str) -> Guidance:
    """A guidance module: TOML between `+++` lines says when it is active; without that it always is."""
    when, body = Activation(), plain_text(text)
    fence, *lines = body.split("\n")
    if _opens_front_matter(fence):
        end = next((place for place, line in enumerate(lines) if line.rstrip(" \t") == FENCE), None)
        first = text.partition(fence)[0].count("\n") + 1
        if end is None or not fence.startswith(FENCE):
            raise UserError(
                f"{where}, line {first}: '{fence}' starts no complete front matter. Write TOML, "
                f'e.g. when = {{question_has_any = ["percentage"]}}, between two lines {FENCE}.'
            )
        when = parse_toml(FrontMatter, "\n".join(lines[:end]), where=where, line=first + 1).when
        body = plain_text("\n".join(lines[end + 1 :]))
    if not body:
        raise UserError(f"{where} has no text for the model. Write its guidance, or remove the file.")
    return Guidance(name=name, when=when, text=body)


def _opens_front_matter(line: str) -> bool:
    """Whether a first line opens front matter. `---` does in another format, so it is not taken for text."""
    return line.rstrip(" \t") in (FENCE, "---")


def _render_module(module: Guidance) -> str:
    condition = module.when.model_dump(mode="json", exclude_defaults=True)
    if not condition and not _opens_front_matter(module.text.split("\n")[0]):
        return f"{module.text}\n"
    matter = f"when = {_inline(condition)}\n" if condition else ""
    return f"{FENCE}\n{matter}{FENCE}\n\n{module.text}\n"


def _inline(value: Json) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_inline(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
