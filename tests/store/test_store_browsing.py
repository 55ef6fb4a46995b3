"""Pages of rollouts: every rollout once, in order, whatever is sought, whatever was added meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.store.store_samples import failed_rollout, sample_key, sample_rollout

from chase.core.values import Rollout
from chase.store import browsing
from chase.store.browsing import Browser, Kind, Sought
from chase.store.digests import rollout_digest
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace

RELEASED, OTHER = "a" * 64, "c" * 64
HARNESSES = ("1" * 64, "2" * 64)


def made() -> list[Rollout]:
    """Two harnesses on 20 tasks as released and under another variant; some change, one fails."""
    draw = random.Random(5)
    found = []
    for harness in HARNESSES:
        for task in range(20):
            released = float(draw.random() < 0.5)
            for variant in (RELEASED, OTHER):
                score = released if variant == RELEASED or draw.random() < 0.7 else 1 - released
                key = sample_key(
                    f"t{task}", harness=harness, transformation=variant, role="evo" if task < 12 else "cert"
                )
                found.append(sample_rollout(key=key, score=score, answer=f"Answer {task}", trace={}))
    return [*found, failed_rollout(99)]


@pytest.fixture
def rollouts(workspace: Workspace) -> list[Rollout]:
    every = made()
    with Store.open(workspace, write=True) as store:
        store.create_run("run-1", {})
        for number, rollout in enumerate(every):
            use = Use(run="run-1", method="b'c") if number % 3 else Use(run="run-2", method="a")
            store.record_sync(rollout, use=use)
    return every


def walk(browser: Browser, sought: Sought, size: int) -> list[str]:
    """The digests of all pages, from the newest on."""
    found: list[str] = []
    before: str | None = None
    while True:
        page = browser.page(sought, before=before, size=size)
        found += [rollout.digest for rollout in page.rollouts]
        before = page.older
        if before is None:
            return found


def expected(every: list[Rollout], sought: Sought) -> list[str]:
    """The same by looking at each of them."""
    scores = {(r.key.harness, r.key.task): r.outcome.score for r in every if r.key.transformation == RELEASED}

    def takes(number: int, rollout: Rollout) -> bool:
        key, outcome = rollout.key, rollout.outcome
        kinds = {
            None: True,
            "wrong": outcome.status == "scored" and outcome.score != 1,
            "failed": outcome.status == "failed",
            "changed": key.transformation == OTHER and scores[key.harness, key.task] != outcome.score,
        }
        return (
            sought.run in (None, "run-1" if number % 3 else "run-2")
            and sought.task in (None, key.task)
            and key.harness.startswith(sought.harness or "")
            and key.transformation.startswith(sought.transformation or "")
            and sought.role in (None, key.role)
            and kinds[sought.kind]
            and (sought.words or "").lower() in (rollout.answer or "").lower() + " " + outcome.reason
        )

    return [rollout_digest(r.key) for number, r in reversed(list(enumerate(every))) if takes(number, r)]


SOUGHT = [
    Sought(),
    Sought(run="run-1"),
    Sought(run="run-2", role="cert"),
    Sought(task="t3"),
    Sought(harness="2"),
    Sought(harness="1" * 64, transformation="c"),
    Sought(words="ANSWER 1"),
    Sought(words="provider"),
    *(Sought(kind=kind, run=run) for kind in ("wrong", "failed", "changed") for run in (None, "run-1")),
    Sought(kind="changed", harness="1", role="evo"),
    Sought(task="nothing"),
]


@pytest.mark.parametrize("sought", SOUGHT, ids=str)
@pytest.mark.parametrize("size", [1, 7, 200])
@pytest.mark.parametrize("small", [True, False])
def test_the_pages_have_every_rollout_that_is_sought_once_and_newest_first(
    workspace: Workspace,
    rollouts: list[Rollout],
    monkeypatch: pytest.MonkeyPatch,
    sought: Sought,
    size: int,
    small: bool,
) -> None:
    monkeypatch.setattr(browsing, "SMALL_RUN", 4000 if small else 0)
    monkeypatch.setattr(browsing, "CHUNK", 5)
    browser = Browser(workspace, RELEASED)
    assert walk(browser, sought, size) == expected(rollouts, sought)
    browser.close()


def test_newer_leads_back_to_where_older_came_from(workspace: Workspace, rollouts: list[Rollout]) -> None:
    browser = Browser(workspace, RELEASED)
    first = browser.page(Sought(kind="wrong"), size=6)
    second = browser.page(Sought(kind="wrong"), before=first.older, size=6)
    assert first.newer is None
    assert second.newer is not None
    back = browser.page(Sought(kind="wrong"), after=second.newer, size=6)
    assert back.rollouts == first.rollouts
    assert browser.page(Sought(kind="wrong"), before=back.older, size=6).rollouts == second.rollouts
    browser.close()


def test_a_link_to_a_page_shows_the_same_after_more_was_stored(workspace: Workspace, rollouts: list[Rollout]) -> None:
    browser = Browser(workspace, RELEASED)
    older = browser.page(Sought(), size=10).older
    before = browser.page(Sought(), before=older, size=10)
    with Store.open(workspace, write=True) as store:
        store.record_sync(sample_rollout(500, trace={}))
        store.gc()
    assert browser.page(Sought(), before=older, size=10).rollouts == before.rollouts
    browser.close()


def test_a_search_that_finds_little_is_cut_and_goes_on(
    workspace: Workspace, rollouts: list[Rollout], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "CHUNK", 5)
    monkeypatch.setattr(browsing, "MOST_LOOKED", 10)
    browser = Browser(workspace, RELEASED)
    kind: Kind = "changed"
    page = browser.page(Sought(kind=kind), size=50)
    assert page.older is not None
    assert len(page.rollouts) < len(expected(rollouts, Sought(kind=kind)))
    assert walk(browser, Sought(kind=kind), 50) == expected(rollouts, Sought(kind=kind))
    browser.close()


@pytest.mark.parametrize("kind", [None, "changed"])
def test_a_search_for_words_is_cut_and_goes_on_in_both_directions(
    workspace: Workspace, rollouts: list[Rollout], monkeypatch: pytest.MonkeyPatch, kind: Kind | None
) -> None:
    monkeypatch.setattr(browsing, "MOST_SEARCHED", 7)
    browser = Browser(workspace, RELEASED)
    sought = Sought(words="ANSWER 1", kind=kind)
    whole = expected(rollouts, sought)
    first = browser.page(sought, size=50)
    assert len(first.rollouts) < len(whole)
    assert walk(browser, sought, 50) == whole
    back: list[str] = []
    after: str | None = rollout_digest(rollouts[0].key)
    while after is not None:
        page = browser.page(sought, after=after, size=50)
        back += [rollout.digest for rollout in reversed(page.rollouts)]
        after = page.newer
    assert back == [digest for digest in reversed(whole) if digest != rollout_digest(rollouts[0].key)]
    browser.close()


def test_words_beyond_ascii_are_found_as_they_are_written(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.record_sync(sample_rollout(1, answer="ÉTÉ in Zürich", trace={}))
    browser = Browser(workspace, RELEASED)
    assert [len(browser.page(Sought(words=words)).rollouts) for words in ("ÉTÉ", "zürich", "Ete")] == [1, 1, 0]
    browser.close()


def test_words_and_names_of_others_are_values_and_no_sql(workspace: Workspace, rollouts: list[Rollout]) -> None:
    browser = Browser(workspace, RELEASED)
    for text in ("' OR 1=1 --", "%", "_", '"; DROP TABLE rollouts; --'):
        for sought in (
            Sought(words=text),
            Sought(task=text),
            Sought(role=text),
            Sought(run=text),
            Sought(harness=text),
        ):
            assert browser.page(sought).rollouts == ()
    assert len(browser.page(Sought(), size=200).rollouts) == len(rollouts)
    browser.close()


def test_a_row_that_was_changed_is_not_shown(workspace: Workspace, rollouts: list[Rollout], tmp_path: Path) -> None:
    import sqlite3

    from chase.core.errors import IntegrityError

    with sqlite3.connect(workspace.database) as connection:
        connection.execute("UPDATE rollouts SET score = 1 WHERE score = 0")
    browser = Browser(workspace, RELEASED)
    with pytest.raises(IntegrityError, match="was changed after it was recorded"):
        browser.page(Sought(), size=200)
    browser.close()
