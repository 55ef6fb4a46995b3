"""What a user can say of a scan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from chase.benchmarks.registry import DEFAULT
from chase.core.interfaces import Benchmark
from chase.runs.declaring import setting
from chase.runs.kinds import Benchmarks, Folder, Level, Reason, Several, Text, Toggle, Whole
from chase.runs.settings import VARIANTS, Located


class ScanOptions(Located):
    """What `chase scan` takes beside its benchmark. It asks no model."""

    required: ClassVar[tuple[str, ...]] = ()

    data: Annotated[str | Path | None, Folder()] = setting(
        None, "The folder with the benchmark's data, for one that needs it.", "What", metavar="DIR", part="act"
    )
    variant: Annotated[str, Text()] = setting("released", VARIANTS, "What", metavar="V", part="act", common=True)
    observable: Annotated[Sequence[str], Several()] = setting(
        (), "An observable of your own, a Python function; repeatable.", "What", metavar="MODULE:FUNCTION", part="act",
        common=True,
    )  # fmt: skip
    no_removal: Annotated[bool, Toggle()] = setting(
        False, "Do not look for what takes findings away.", "What", part="act", common=True
    )
    use_cert: Annotated[str | None, Reason()] = setting(
        None, "Scan the sealed tasks too. The reason stays in the record.", "What", metavar="REASON", part="act"
    )
    level: Annotated[float, Level()] = setting(
        0.99, "How often a scan of a protocol that gives nothing away finds nothing.", "What", metavar="P", part="act"
    )
    seed: Annotated[int, Whole(0, 2**31 - 1)] = setting(
        0, "Of the draws, and of the operators that draw.", "What", metavar="S", part="act"
    )


class ScanSettings(ScanOptions):
    """The same with the benchmark."""

    benchmark: Annotated[str | Benchmark[Any], Benchmarks()] = setting(
        DEFAULT, "e.g. syn-ledger@7", "What", metavar="B", part="act", common=True
    )
