"""Nothing that the protocol shows tells evidence, but for what was planted: real classifiers find chance.

Evidence is classified from every observable and from raw protocol facts (paths, ids, sizes, orders, words of
titles, sections and metadata); no record value is among them. On `B_0` all of them are used, on `B_rel` those
that no neutralisation moves.

The bound. A classifier is fitted on half of the tasks and judged on the other half, so without a leak its scores
of a task's documents are independent of which two of the twelve are evidence. The area under the curve, taken
within tasks and averaged, then has mean 0.5 and a standard error that follows from drawing two of twelve at
random: 0.013 over 320 tasks. Four of them are passed by chance once in 16,000 fits. (Folds of a cross-validation
are not independent of each other: with labels drawn at random its deviations were half as large again as the
standard error says.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.features import FEATURES
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol
from chase.benchmarks.syn_ledger.rendering import RenderedFile
from chase.benchmarks.syn_ledger.validation.neutrality import first_sight
from chase.core.values import Sighting
from tests.benchmarks.syn_ledger import faults

pytestmark = pytest.mark.slow

Matrix = NDArray[np.float64]
DOCUMENTS = 12
STANDARD_ERRORS = 4.0
CLASSIFIERS = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.02, max_iter=200)),
    "boosting": lambda: HistGradientBoostingClassifier(
        max_iter=40, max_depth=4, early_stopping=False, max_features=0.3, random_state=0
    ),
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """One row for each document, twelve in a row for each task."""

    columns: list[str]
    values: Matrix
    evidence: NDArray[np.bool_]


# What is looked at


def facts(benchmark: SynLedger, protocol: DocumentProtocol, file: RenderedFile, shown: Sighting) -> dict[str, float]:
    """Every observable and raw fact of one document, as numbers."""
    row: dict[str, float] = {}
    for observable in benchmark.observables:
        value = observable(shown)
        row[f"observable {observable.name}"] = -1.0 if value is None else value
    name = file.path.rsplit("/", 1)[-1]
    row |= {"path length": len(file.path), "name length": len(name), "folders": file.path.count("/")}
    row |= {f"path has {c}": file.path.count(c) for c in "abcdefghijklmnopqrstuvwxyz0123456789-"}
    row |= {f"letter {place} of id": ord(c) for place, c in enumerate(file.id)}
    row |= {f"id has {c}": file.id.count(c) for c in "bcdfghjkmnpqrstvwxz"}
    row |= {"size": len(file.text), "lines": file.text.count("\n"), "words": len(file.text.split())}
    row |= {"longest line": max(map(len, file.text.splitlines()))}
    for place, window in enumerate(file.windows):
        row |= {f"size of window {place}": len(window), f"lines of window {place}": window.count("\n")}
    row |= {"listed": shown.listing or 0, "ranked": shown.hit or 0}
    keys = [key for key, _ in protocol.metadata]
    row |= {
        f"place of {key}": keys.index(key) if key in keys else -1 for key in ("Prepared by", "Held at", "Box", "Desk")
    }
    row["metadata size"] = sum(len(key) + len(value) for key, value in protocol.metadata)
    return row


def words(protocol: DocumentProtocol) -> set[str]:
    """The words of title, section, metadata and path that a document shows."""
    path = [protocol.root, *protocol.folders, *protocol.stem.split("-"), protocol.format]
    shown = [protocol.title, protocol.section, protocol.casing, *(value for _, value in protocol.metadata)]
    return {*path, *" ".join(shown).split()}


def table(benchmark: SynLedger, variant: str) -> Table:
    """Facts, words, and each fact compared with the task's other documents."""
    rows, bags, evidence = [], [], []
    transformation = benchmark.variant(variant)
    for task in benchmark.tasks():
        sights = first_sight(benchmark, task, variant)
        manifest = benchmark.manifest(task, transformation)
        for protocol, file in zip(manifest, benchmark.render(task, transformation), strict=True):
            rows.append(facts(benchmark, protocol, file, sights[file.id]))
            bags.append(words(protocol))
            evidence.append(file.id in benchmark.task(task).evidence)
    columns = list(rows[0])
    values = np.array([list(row.values()) for row in rows], dtype=float)
    by_task = values.reshape(-1, DOCUMENTS, len(columns))
    compared = (by_task - by_task.mean(axis=1, keepdims=True)).reshape(values.shape)
    vocabulary = _frequent(bags)
    has_word = np.array([[word in bag for word in vocabulary] for bag in bags], dtype=float)
    return Table(
        columns=[*columns, *(f"{c}, compared" for c in columns), *(f"says {word}" for word in vocabulary)],
        values=np.hstack([values, compared, has_word]),
        evidence=np.array(evidence),
    )


def _frequent(bags: list[set[str]]) -> list[str]:
    """Words of at least one document in two hundred; others say nothing about other tasks."""
    counts: dict[str, int] = {}
    for bag in bags:
        for word in bag:
            counts[word] = counts.get(word, 0) + 1
    return sorted(word for word, count in counts.items() if count * 200 >= len(bags))


def unmoved(released: Table, neutral: Table) -> Table:
    """The released table without what the neutralisations move, found by looking at what moves."""
    moved = {
        column
        for table_, other in ((released, neutral), (neutral, released))
        for place, column in enumerate(table_.columns)
        if column not in other.columns
        or (table_.values[:, place] != other.values[:, other.columns.index(column)]).any()
    }
    kept = [place for place, column in enumerate(released.columns) if column not in moved]
    return Table(
        columns=[released.columns[place] for place in kept],
        values=released.values[:, kept],
        evidence=released.evidence,
    )


def planted_levels(benchmark: SynLedger) -> Table:
    """The five planted features as released: what a shortcut would look at."""
    values, evidence = [], []
    for task in benchmark.tasks():
        made = benchmark.generated[task]
        for document, protocol in zip(made.task.documents, made.released, strict=True):
            values.append([float(FEATURES[name].is_favorable(protocol, document)) for name in benchmark.planted])
            evidence.append(document.id in made.task.evidence)
    return Table(columns=list(benchmark.planted), values=np.array(values), evidence=np.array(evidence))


# How well evidence is told


@dataclass(frozen=True, kw_only=True)
class Auc:
    value: float
    standard_error: float
    """Of the value, were evidence two documents drawn at random."""

    @property
    def is_chance(self) -> bool:
        return abs(self.value - 0.5) < STANDARD_ERRORS * self.standard_error


def auc_within_tasks(scores: Matrix, evidence: NDArray[np.bool_]) -> Auc:
    """How often an evidence document scores above a distractor of its task; ties count half."""
    by_task, labels = scores.reshape(-1, DOCUMENTS), evidence.reshape(-1, DOCUMENTS)
    # A document's wins against all others of its task; wins of evidence over evidence cancel out.
    wins = np.sign(by_task[:, :, None] - by_task[:, None, :]).sum(axis=2)
    pairs = 2 * (DOCUMENTS - 2)
    excess = (wins * labels).sum(axis=1) / (2 * pairs)
    variance = 2 * (wins**2).mean(axis=1) * (DOCUMENTS - 2) / (DOCUMENTS - 1) / (2 * pairs) ** 2
    return Auc(
        value=float(0.5 + excess.mean()),
        standard_error=float(np.sqrt(variance.sum()) / len(by_task)),
    )


def fitted(data: Table, classifier: str) -> Auc:
    """How well the classifier tells evidence in the half of the tasks that it was not fitted on."""
    tasks = np.random.default_rng(0).permutation(len(data.evidence) // DOCUMENTS)
    seen = np.repeat(np.isin(np.arange(len(tasks)), tasks[: len(tasks) // 2]), DOCUMENTS)
    made: Any = CLASSIFIERS[classifier]()
    with threadpool_limits(1):
        made.fit(data.values[seen], data.evidence[seen])
        scores = made.predict_proba(data.values[~seen])[:, 1]
    return auc_within_tasks(scores, data.evidence[~seen])


@pytest.fixture(scope="module")
def tables(larger_ledger: SynLedger) -> dict[str, Table]:
    released, neutral = table(larger_ledger, "released"), table(larger_ledger, "neutral")
    return {"neutral": neutral, "released-unmoved": unmoved(released, neutral)}


@pytest.mark.parametrize("classifier", list(CLASSIFIERS))
@pytest.mark.parametrize("which", ["neutral", "released-unmoved"])
def test_the_protocol_does_not_tell_evidence(
    tables: dict[str, Table], which: str, classifier: str, record_property: Any
) -> None:
    auc = fitted(tables[which], classifier)
    record_property("auc", auc.value)
    assert auc.standard_error < 0.0135
    assert auc.is_chance, f"{classifier} on {which}: AUC {auc.value:.3f} ± {auc.standard_error:.3f}"


def test_what_is_looked_at_is_all_there_is(tables: dict[str, Table], ledger: SynLedger) -> None:
    neutral, released = tables["neutral"].columns, tables["released-unmoved"].columns
    for observable in ledger.observables:
        assert f"observable {observable.name}" in neutral
    assert {"says Accounts", "says Records", "says Blume", "says accounts", "says annex", "says markdown"} <= set(
        neutral
    )
    moved = {
        "path length",
        "folders",
        "listed",
        "ranked",
        "size",
        "size of window 0",
        "says markdown",
        "observable name-length",
    }
    kept = {"letter 0 of id", "says Accounts", "metadata size", "observable preamble-lines"}
    assert moved <= set(neutral) - set(released)
    assert kept <= set(released)
    assert len(neutral) > 250
    assert len(released) > 150


@pytest.mark.parametrize("classifier", list(CLASSIFIERS))
def test_planted_features_tell_evidence_as_released(
    larger_ledger: SynLedger, classifier: str, record_property: Any
) -> None:
    """The positive control: the same classifiers find what is there."""
    auc = fitted(planted_levels(larger_ledger), classifier)
    record_property("auc", auc.value)
    assert auc.value > 0.85


def test_a_small_leak_is_found(ledger: SynLedger) -> None:
    """Evidence documents have a short title two times in three, distractors one time in two."""
    leaky = table(faults.rebuilt(ledger, faults.shorter_titles_for_some_evidence), "neutral")
    assert not any(fitted(leaky, classifier).is_chance for classifier in CLASSIFIERS)


@pytest.mark.slow
def test_other_planted_features_leave_the_rest_neutral(other_ledger: SynLedger) -> None:
    released, neutral = table(other_ledger, "released"), table(other_ledger, "neutral")
    for data in (neutral, unmoved(released, neutral)):
        for classifier in CLASSIFIERS:
            assert fitted(data, classifier).is_chance
    assert fitted(planted_levels(other_ledger), "logistic").value > 0.85


def test_the_area_under_the_curve_is_what_it_says() -> None:
    evidence = np.array(([True] * 2 + [False] * 10) * 3)
    perfect = auc_within_tasks(evidence.astype(float), evidence)
    blind = auc_within_tasks(np.zeros(36), evidence)
    assert (perfect.value, blind.value, blind.standard_error) == (1.0, 0.5, 0.0)
    draws = np.random.default_rng(0)
    scores = draws.normal(size=36)
    shuffled = [
        auc_within_tasks(scores, np.concatenate([draws.permutation(evidence[:12]) for _ in range(3)]))
        for _ in range(4000)
    ]
    values = np.array([auc.value for auc in shuffled])
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(values.std() / shuffled[0].standard_error - 1) < 0.05
