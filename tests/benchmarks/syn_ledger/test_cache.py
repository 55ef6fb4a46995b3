"""A Syn-Ledger from the cache is the one that would be built, and what is not sound is built anew."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chase.benchmarks import registry
from chase.benchmarks.cache import SUFFIX, BuiltCache
from chase.benchmarks.syn_ledger import benchmark as benchmark_module
from chase.benchmarks.syn_ledger import built as module
from chase.benchmarks.syn_ledger import generator
from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec, open_syn_ledger
from chase.benchmarks.syn_ledger.built import BuiltTasks, cache_key, code_files
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.core.errors import IntegrityError, UserError
from chase.core.keyed import canonical_json
from chase.core.values import Json
from tests.benchmarks.syn_ledger import faults
from tests.benchmarks.syn_ledger.test_conformance import LedgerConformance
from tests.conftest import OTHER_FEATURES, open_once

pytestmark = pytest.mark.slow
NAME = "syn-ledger@7"
NAMES = (NAME, f"{NAME}:{OTHER_FEATURES}/evo64")
SPEC = SynLedgerSpec(seed=7)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> BuiltCache:
    """A cache with both in it. No test changes it."""
    cache = BuiltCache(folder=tmp_path_factory.mktemp("kept"))
    for name in NAMES:
        open_syn_ledger(name, cache=cache)
    return cache


@pytest.fixture
def cache(kept: BuiltCache, tmp_path: Path) -> BuiltCache:
    """A cache with `syn-ledger@7` in it, of the test's own."""
    folder = tmp_path / "cache"
    folder.mkdir()
    shutil.copy2(file_in(kept), folder)
    return BuiltCache(folder=folder)


@pytest.fixture
def builds(ledger: SynLedger, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The benchmarks that were generated. For speed `syn-ledger@7` is given again as it was made before."""
    counted: list[str] = []

    def generate(seed: int, blocks: int, planted: Any, form: Any) -> list[GeneratedTask]:
        counted.append(SynLedgerSpec(seed=seed, blocks=blocks, planted=planted).name)
        assert counted[-1] == NAME
        return list(ledger.generated.values())

    monkeypatch.setattr(generator, "generate", generate)
    monkeypatch.setattr(benchmark_module, "allocate", lambda ids, _: [ledger.role_of(task) for task in ids])
    return counted


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the tasks that were read from their text."""
    counted: list[int] = []
    original = module.read_task

    def read(text: str, number: int, planted: Any) -> GeneratedTask:
        counted.append(number)
        return original(text, number, planted)

    monkeypatch.setattr(module, "read_task", read)
    return counted


def key() -> dict[str, Json]:
    found = cache_key(SPEC, SynLedger.versions)
    assert found is not None
    return found


def file_in(cache: BuiltCache) -> Path:
    """The file of `syn-ledger@7`."""
    return cache._file(key())


# Equal in everything


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_from_the_cache_is_equal_in_everything(name: str, kept: BuiltCache) -> None:
    cached, fresh = open_syn_ledger(name, cache=kept), open_once(name)
    assert isinstance(cached.generated, BuiltTasks)
    assert isinstance(fresh.generated, dict)
    assert cached.content_hash == fresh.content_hash
    assert list(cached.generated) == list(fresh.generated)
    assert list(cached._role_of.items()) == list(fresh._role_of.items())
    for task, made in fresh.generated.items():
        again = cached.generated[task]
        assert again == made
        assert again.neutral_changes == made.neutral_changes
        assert cached.task(task) == made.task
        assert cached.role_of(task) == fresh.role_of(task)
        answers = (str(made.task.answer), str(made.task.answer + 1), None)
        assert [cached.score(task, answer) for answer in answers] == [1.0, 0.0, 0.0]
    for role in fresh.roles:
        assert cached.tasks(role) == fresh.tasks(role)


@pytest.mark.parametrize("name", NAMES)
def test_every_variant_of_a_benchmark_from_the_cache_is_equal(name: str, kept: BuiltCache) -> None:
    cached, fresh = open_syn_ledger(name, cache=kept), open_once(name)
    for variant in fresh.variants():
        mine, other = cached.variant(variant), fresh.variant(variant)
        assert mine == other  # what is set for any document included
        assert (mine.hash, mine.declared, mine.describe()) == (other.hash, other.declared, other.describe())
        for task in fresh.tasks()[::20]:
            assert cached.manifest(task, mine) == fresh.manifest(task, other)
            assert cached.view(task, mine) == fresh.view(task, other)
            assert cached.sightings(task, mine) == fresh.sightings(task, other)
            calls = [benchmark.environment(task, mine).call("list_files", {}) for benchmark in (cached, fresh)]
            assert calls[0] == calls[1]


def test_the_hash_is_that_of_the_tasks_as_they_are_read(kept: BuiltCache, ledger: SynLedger) -> None:
    cached = open_syn_ledger(NAME, cache=kept)
    assert faults.copied(cached).content_hash == ledger.content_hash


@pytest.mark.slow
class TestSynLedgerFromTheCache(LedgerConformance):
    @pytest.fixture
    def benchmark(self, kept: BuiltCache) -> SynLedger:
        return open_syn_ledger(NAME, cache=kept)


# Built once, read on demand


def test_a_benchmark_is_built_once(cache: BuiltCache, builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(*_: object) -> None:
        raise AssertionError("allocated again")

    monkeypatch.setattr(benchmark_module, "allocate", allocate)
    for _ in range(3):
        open_syn_ledger(NAME, cache=cache).content_hash  # noqa: B018
    assert builds == []


def test_a_benchmark_that_is_not_there_is_built_and_kept(tmp_path: Path, builds: list[str], ledger: SynLedger) -> None:
    cache = BuiltCache(folder=tmp_path / "new")
    first = open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME]
    second = open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME]
    assert first.content_hash == second.content_hash == ledger.content_hash


def test_a_task_is_read_when_it_is_asked_for(cache: BuiltCache, reads: list[int], ledger: SynLedger) -> None:
    cached = open_syn_ledger(NAME, cache=cache)
    for role in cached.roles:
        assert {cached.role_of(task) for task in cached.tasks(role)} == {role}
    assert (cached.content_hash, len(cached.generated)) == (ledger.content_hash, 320)
    assert [cached.variant(name).hash for name in cached.variants()]
    with pytest.raises(UserError, match="unknown task 'nowhere'"):
        cached.role_of("nowhere")
    assert reads == []
    task = cached.tasks("evo")[0]
    for variant in cached.variants():
        cached.environment(task, cached.variant(variant))
        cached.view(task, cached.variant(variant))
    cached.score(task, "1")
    assert reads == [ledger.task(task).number]


def test_without_a_cache_it_is_built_and_nothing_is_written(
    tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    SynLedger(SPEC)
    open_syn_ledger(NAME, cache=None)
    assert builds == [NAME] * 2
    assert list(tmp_path.iterdir()) == []


def test_by_name_it_is_kept_in_the_home_folder(
    tmp_path: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    hashes = {open_().content_hash for open_ in (lambda: open_syn_ledger(NAME), lambda: registry.open_benchmark(NAME))}
    assert len(hashes) == 1
    assert builds == [NAME]
    assert [file.parent for file in tmp_path.rglob(f"*{SUFFIX}")] == [tmp_path / ".cache" / "chase" / "benchmarks"]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, builds: list[str], ledger: SynLedger) -> None:
    (tmp_path / "file").touch()
    for _ in range(2):
        opened = open_syn_ledger(NAME, cache=BuiltCache(folder=tmp_path / "file" / "cache"))
        assert opened.content_hash == ledger.content_hash
    assert builds == [NAME] * 2


# Not sound


def flip(place: float) -> Callable[[bytes], bytes]:
    """One bit changed at a fraction of the file."""

    def change(entry: bytes) -> bytes:
        at = min(int(place * len(entry)), len(entry) - 1)
        return entry[:at] + bytes([entry[at] ^ 4]) + entry[at + 1 :]

    return change


@pytest.mark.parametrize(
    "damage",
    [flip(0), flip(0.00005), flip(0.001), flip(0.3), flip(0.7), flip(1), lambda e: e[:-1], lambda e: e[: len(e) // 2]],
)
def test_a_damaged_file_is_built_anew_and_replaced(
    damage: Callable[[bytes], bytes], cache: BuiltCache, builds: list[str], ledger: SynLedger
) -> None:
    file = file_in(cache)
    sound = file.read_bytes()
    assert damage(sound) != sound
    file.write_bytes(damage(sound))
    anew = open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME]
    assert anew.content_hash == ledger.content_hash
    assert anew.generated == ledger.generated
    assert file.read_bytes() == sound
    assert open_syn_ledger(NAME, cache=cache).content_hash == ledger.content_hash
    assert builds == [NAME]


def test_the_file_of_another_benchmark_is_not_taken(cache: BuiltCache, kept: BuiltCache, builds: list[str]) -> None:
    assert kept.folder is not None
    other = next(file for file in kept.folder.iterdir() if file.name != file_in(cache).name)
    shutil.copy2(other, file_in(cache))
    open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME]


Notes = dict[str, Any]


def rewrite(cache: BuiltCache, change: Callable[[list[str], Notes], None]) -> None:
    """The entry as somebody would write it who knows the format: every digest is right."""
    built = cache.load(key())
    assert built is not None
    pieces = [built.piece(place) for place in range(len(built))]
    notes: Any = built.notes
    change(pieces, notes)
    cache.store(key(), pieces, notes)


def _other_answer(pieces: list[str], _: Notes) -> None:
    form = json.loads(pieces[1])
    pieces[1] = canonical_json({**form, "answer": form["answer"] + 1})


def test_whoever_writes_other_tasks_gets_another_hash(cache: BuiltCache, builds: list[str], ledger: SynLedger) -> None:
    task, made = next(iter(ledger.generated.items()))
    rewrite(cache, _other_answer)
    written = open_syn_ledger(NAME, cache=cache)
    assert builds == []
    assert written.task(task).answer == made.task.answer + 1
    assert written.content_hash == faults.copied(written).content_hash != ledger.content_hash


@pytest.mark.slow
def test_validation_notices_that_other_tasks_were_written(cache: BuiltCache) -> None:
    assert faults.check(open_syn_ledger(NAME, cache=cache), "deterministic-rebuild").passed
    rewrite(cache, _other_answer)
    assert not faults.check(open_syn_ledger(NAME, cache=cache), "deterministic-rebuild").passed


def _other_roles(_: list[str], notes: Notes) -> None:
    notes["roles"][0], notes["roles"][40] = notes["roles"][40], notes["roles"][0]


def _other_tools(pieces: list[str], _: Notes) -> None:
    pieces[-1] = pieces[-1].replace('"tools":2', '"tools":3')


def _one_task_fewer(pieces: list[str], _: Notes) -> None:
    del pieces[5]


def _no_documents(_: list[str], notes: Notes) -> None:
    del notes["tasks"][3]["documents"]


def _no_notes(_: list[str], notes: Notes) -> None:
    notes.clear()


@pytest.mark.parametrize("change", [_other_roles, _other_tools, _one_task_fewer, _no_documents, _no_notes])
def test_content_that_would_not_be_built_is_not_taken(
    change: Callable[[list[str], Notes], None], cache: BuiltCache, builds: list[str], ledger: SynLedger
) -> None:
    before = file_in(cache).read_bytes()
    rewrite(cache, change)
    assert file_in(cache).read_bytes() != before
    assert open_syn_ledger(NAME, cache=cache).content_hash == ledger.content_hash
    assert builds == [NAME]


def _exchanged_documents(_: list[str], notes: Notes) -> None:
    first, second = notes["tasks"][:2]
    first["documents"], second["documents"] = second["documents"], first["documents"]


def _exchanged_ids(_: list[str], notes: Notes) -> None:
    first, other = notes["tasks"][0], notes["tasks"][1]
    first["id"], other["id"] = other["id"], first["id"]


def _other_evidence(_: list[str], notes: Notes) -> None:
    first = notes["tasks"][0]
    first["evidence"] = (
        first["documents"][:2] if first["documents"][:2] != first["evidence"] else first["documents"][2:4]
    )


def _no_text(pieces: list[str], _: Notes) -> None:
    pieces[1] = "{}"


@pytest.mark.parametrize("change", [_exchanged_documents, _exchanged_ids, _other_evidence, _no_text])
def test_a_task_that_is_not_as_its_notes_say_is_refused(
    change: Callable[[list[str], Notes], None], cache: BuiltCache, ledger: SynLedger
) -> None:
    rewrite(cache, change)
    opened = open_syn_ledger(NAME, cache=cache)
    first = next(iter(opened.generated))
    with pytest.raises(IntegrityError, match="Delete the cache's folder"):
        opened.view(first, opened.variant("neutral"))
    # Reached by way of another's manifest it is refused too, not left as it was released.
    document = ledger.generated[next(iter(ledger.generated))].task.documents[0].id
    with pytest.raises(IntegrityError):
        opened.variant("neutral").operators[0].changes.get(document)  # type: ignore[attr-defined]


def test_tasks_that_would_come_back_as_others_are_not_kept(
    tmp_path: Path, ledger: SynLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a neutralisation sets something else than `B_0` has, which the text of a task does not tell."""
    first, *rest = ledger.generated.values()
    changes = {document: {"folders": ("else",)} for document in first.neutral_changes["depth"]}
    odd = replace(first, neutral_changes={**first.neutral_changes, "depth": changes})
    monkeypatch.setattr(generator, "generate", lambda *_: [odd, *rest])
    cache = BuiltCache(folder=tmp_path)
    for _ in range(2):
        opened = open_syn_ledger(NAME, cache=cache)
        assert opened.generated[first.task.id] == odd
    assert list(tmp_path.iterdir()) == []


# The key


def test_every_field_of_the_spec_and_every_version_is_in_the_key() -> None:
    specs = [
        SPEC,
        replace(SPEC, seed=8),
        replace(SPEC, blocks=20),
        replace(SPEC, planted=tuple(OTHER_FEATURES.split("+"))),
        replace(SPEC, evolution=64),
        replace(SPEC, form="small"),
    ]
    assert len(specs) == 1 + len(asdict(SPEC))
    keys = [cache_key(spec, SynLedger.versions) for spec in specs]
    keys += [cache_key(SPEC, {**SynLedger.versions, name: 99}) for name in SynLedger.versions]
    assert None not in keys
    assert len({json.dumps(key, sort_keys=True) for key in keys}) == len(specs) + len(SynLedger.versions)


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A copy of the source files, by folder and name, from which keys are made."""
    copies = {}
    for file in code_files():
        copy = tmp_path / "code" / file.parent.name / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
        copies[f"{file.parent.name}/{file.name}"] = copy
    monkeypatch.setattr(module, "code_files", copies.values)
    return copies


def edit(file: Path) -> None:
    """A change from before this process was started."""
    file.write_text(file.read_text() + "# edited\n")
    os.utime(file, (1000, 1000))


CODE = (
    "allocation benchmark built combinatorics constructions contents features generator manifest rendering "
    "scoring tools vocabulary"
).split()


@pytest.mark.parametrize(
    "name", [*(f"syn_ledger/{name}.py" for name in CODE), "core/arithmetic.py", "core/keyed.py", "core/values.py"]
)
def test_every_file_that_decides_the_content_is_in_the_key(name: str, code: dict[str, Path]) -> None:
    before = key()
    edit(code[name])
    assert key() != before


def test_edited_code_builds_anew_without_a_new_version(
    cache: BuiltCache, code: dict[str, Path], builds: list[str]
) -> None:
    open_syn_ledger(NAME, cache=cache)
    assert builds == []
    edit(code["syn_ledger/generator.py"])
    open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME]
    open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME]


def test_a_process_that_runs_older_code_than_the_files_hold_neither_reads_nor_writes(
    tmp_path: Path, code: dict[str, Path], builds: list[str]
) -> None:
    cache = BuiltCache(folder=tmp_path / "cache")
    code["syn_ledger/generator.py"].write_text("# edited after this process was started\n")
    for _ in range(2):
        open_syn_ledger(NAME, cache=cache)
    assert builds == [NAME] * 2
    assert not (tmp_path / "cache").exists()


def test_no_module_that_the_generator_imports_is_missing_from_the_key() -> None:
    modules = [f"chase.benchmarks.syn_ledger.{name}" for name in ("generator", "allocation", "rendering", "scoring")]
    program = (
        f"import sys, {', '.join(modules)}\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('chase') and m.__file__))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    imported = {Path(file).resolve() for file in ended.stdout.split() if not file.endswith("__init__.py")}
    assert len(imported) > 8
    assert imported <= {file.resolve() for file in code_files()}


# Subclasses and altered copies


def test_a_subclass_with_other_limits_never_has_the_hash_of_its_parent(
    cache: BuiltCache, builds: list[str], ledger: SynLedger
) -> None:
    class Generous(SynLedger):
        limits: ClassVar = replace(SynLedger.limits, total_calls=99)

    hashes = [kind(SPEC, cache=cache).content_hash for kind in (Generous, SynLedger, Generous)]
    assert hashes[0] == hashes[2] != hashes[1] == ledger.content_hash


def test_altered_copies_of_a_benchmark_from_the_cache_have_hashes_of_their_own(
    kept: BuiltCache, ledger: SynLedger
) -> None:
    cached = open_syn_ledger(NAME, cache=kept)
    task = cached.tasks("evo")[0]
    for alter in (faults.wrong_answer, faults.second_solution, faults.unbalanced_level):
        altered, expected = (faults.rebuilt(b, faults.in_task(task, alter)) for b in (cached, ledger))
        assert altered.content_hash == expected.content_hash != ledger.content_hash
    assert faults.only(cached, [task]).content_hash == faults.only(ledger, [task]).content_hash
    assert cached.fewer({"evo": 3}).tasks("evo") == ledger.fewer({"evo": 3}).tasks("evo")
    assert cached.content_hash == ledger.content_hash
