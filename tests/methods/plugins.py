"""Packages that bring a method, as pip would leave them: a dist-info folder on the path, and a module."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest


def write_entry_point(folder: Path, *, method: str, value: str, package: str = "other") -> None:
    """A dist-info folder that says where a method is."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[chase.methods]\n{method} = {value}\n", encoding="utf-8")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, method: str, source: str, package: str = "other") -> None:
    """A package on the path whose module has the source and an entry point to its `METHOD`."""
    write_entry_point(folder, method=method, value=f"{package}_module:METHOD", package=package)
    (folder / f"{package}_module.py").write_text(dedent(source), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
