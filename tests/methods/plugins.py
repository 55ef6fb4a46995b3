"""Packages that bring a method, installed as pip would leave them: a module and a dist-info folder on the path."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, method: str, source: str, package: str = "other") -> str:
    """A package whose module has the source and an entry point to its `METHOD`; the module's name."""
    module = f"{package}_module"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(dedent(source), encoding="utf-8")
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    with (info / "entry_points.txt").open("a", encoding="utf-8") as file:
        file.write(f"[chase.methods]\n{method} = {module}:METHOD\n")
    monkeypatch.syspath_prepend(str(folder))
    return module
