"""The store as plain files: JSONL for everything, Parquet for rollouts and ledger."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from chase.core.errors import SetupError, UserError
from chase.core.keyed import canonical_json
from chase.store.digests import TraceCodec
from chase.store.rows import columns
from chase.store.schema import TABLES, connect_reader, explained
from chase.store.workspace import Workspace

Record = dict[str, Any]

JSONL_TABLES = ("rollouts", "ledger", "runs", "run_rollouts", "seals", "verdicts")
PARQUET_TABLES = ("rollouts", "ledger")
ROW_GROUP = 10_000

_JSON_COLUMNS = frozenset({"served_models", "config", "hashes"})
_FLAGS = frozenset({"reused"})


def export_store(
    workspace: Workspace, out_dir: Path, *, parquet: bool | None, progress: Callable[[str, int, int], None]
) -> dict[str, int]:
    """Write the store's tables into `out_dir` and return the number of records by file name.

    `parquet` None writes Parquet where pyarrow is installed; True insists on it. A file is there whole
    or not at all, and all files show the same moment, also while a writer is at work.
    """
    with_parquet = _decide_parquet(parquet)
    _make_folder(out_dir)
    connection = connect_reader(workspace)
    written: dict[str, int] = {}
    try:
        with explained(workspace):
            connection.execute("BEGIN")
            for name, write in _files(connection, with_parquet):
                progress(name, 0, 1)
                written[name] = _write_whole(out_dir / name, write)
                progress(name, 1, 1)
    finally:
        connection.close()
    return written


def _files(connection: sqlite3.Connection, with_parquet: bool) -> Iterator[tuple[str, Callable[[Path], int]]]:
    for table in JSONL_TABLES:
        yield f"{table}.jsonl", partial(_write_jsonl, _records(connection, table))
    yield "traces.jsonl", partial(_write_jsonl, _traces(connection))
    for table in PARQUET_TABLES if with_parquet else ():
        yield f"{table}.parquet", partial(_write_parquet, connection, table)


def _decide_parquet(asked: bool | None) -> bool:
    available = find_spec("pyarrow") is not None
    if asked and not available:
        raise SetupError(
            "Parquet needs pyarrow, which is not installed: `pip install 'chase-harness[parquet]'`, "
            "or leave --parquet out to get JSONL only."
        )
    return available if asked is None else asked


def _make_folder(out_dir: Path) -> None:
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"out={out_dir} is not a folder. Name the folder to export to.") from error
    except OSError as error:
        raise SetupError(f"cannot make {out_dir} ({error.strerror}). Name another folder.") from error


def _write_whole(target: Path, write: Callable[[Path], int]) -> int:
    part = target.with_name(f".{target.name}.part")
    try:
        count = write(part)
        part.replace(target)
    except OSError as error:
        raise SetupError(
            f"cannot write {target} ({error.strerror or error}). Free some space or name another folder."
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _records(connection: sqlite3.Connection, table: str) -> Iterator[Record]:
    order = "digest" if table in ("rollouts", "verdicts") else "rowid"
    if table == "run_rollouts":
        order = "run, method, rollout"
    for row in connection.execute(f"SELECT {columns(table)} FROM {table} ORDER BY {order}"):
        yield {name: _plain(name, cell) for name, cell in zip(TABLES[table], row, strict=True)}


def _plain(name: str, cell: Any) -> Any:
    if name in _JSON_COLUMNS:
        return json.loads(cell)
    return bool(cell) if name in _FLAGS else cell


def _traces(connection: sqlite3.Connection) -> Iterator[Record]:
    codec = TraceCodec()
    for digest, size, content in connection.execute("SELECT digest, size, content FROM traces ORDER BY digest"):
        yield {"digest": digest, "trace": json.loads(codec.decode(digest, size, content))}


def _write_jsonl(records: Iterator[Record], path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        for record in records:
            # An unpaired surrogate in a trace is written as its JSON escape, as in the store.
            file.write(canonical_json(record).encode("utf-8", "backslashreplace") + b"\n")
            count += 1
    return count


def _write_parquet(connection: sqlite3.Connection, table: str, path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}
    declared = {row[1]: kinds.get(row[2]) for row in connection.execute(f"PRAGMA table_info({table})")}
    declared |= {name: pa.list_(pa.string()) for name in _JSON_COLUMNS}
    schema = pa.schema([(name, declared[name]) for name in TABLES[table]])
    count = 0
    records = _records(connection, table)
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(islice(records, ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count
