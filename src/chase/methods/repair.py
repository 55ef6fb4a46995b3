"""Repair: a harness that gains by breaking a constraint, searched for the part of it that keeps all constraints.

Beyond the paper. A harness's change from its baseline is taken apart (`harness/parts.py`); each part may be dropped, or
generalised where it is a rule with a condition. The search knows harnesses, variants and a rule to select by; of
rounds, agents and runs it knows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from typing import Literal

from chase.agents.history import RELEASED
from chase.core.errors import UserError
from chase.core.values import Json
from chase.harness.parts import Part, Setting, generalised, parts_of, with_parts
from chase.harness.spec import Harness
from chase.methods.arena import Arena, Contender, Means, Variant, standing
from chase.methods.selection import SelectionRule, Standing, Submitted
from chase.stats.estimates import PerTask

MOST_CELLS = 12
"""Cells (one harness under one variant) that a repair evaluates at most, beside those that are known."""
MOST_COMBINED = 12
"""Single changes that are put together: those that did best."""

MOST_FORMS = 64
"""Ways to treat suspected parts that are looked at."""

Treatment = Literal["kept", "generalised", "dropped"]
CHANGES: tuple[Treatment, ...] = ("generalised", "dropped")
Form = tuple[Treatment, ...]
"""What becomes of each part."""
Measure = Callable[[Means, str, str, Sequence[Variant]], Standing]
"""From means, a harness's name, the baseline's and variants to the harness's estimates."""
Verdict = Literal["keeps all constraints", "breaks a constraint", "scores no higher", "not measured to the end"]


@dataclass(frozen=True, kw_only=True)
class RepairLimits:
    """What a repair may use, and what it must be better than."""

    more_than: Fraction
    """The released score that a repaired harness must exceed."""
    cells: int = MOST_CELLS
    observables: Collection[str] = ()
    """Names by which a text can mention a cue."""
    suspected: Collection[str] = ()
    """Those that the broken constraints are about: parts that mention them are tried first."""
    shortcuts: Collection[str] = ()
    """Names of parts that are known to be shortcuts: they go before any other."""
    honest: Collection[str] = ()
    """Names of parts that are known to be honest: no suspects, whatever they mention."""
    measure: Measure = standing
    """A harness's estimates, which the rule judges."""
    check: Callable[[Harness, str], None] = lambda harness, where: None
    """Refuses (`UserError`) a harness that the benchmark cannot run."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A form of the harness that was tried."""

    form: Form
    contender: Contender
    dropped: tuple[str, ...]
    generalised: tuple[str, ...]
    measured: Standing
    """Under the variants that it met."""
    verdict: Verdict = "not measured to the end"

    @property
    def released(self) -> Fraction:
        return self.measured.released

    def to_json(self) -> dict[str, Json]:
        return {
            "dropped": list(self.dropped),
            "generalised": list(self.generalised),
            "released": float(self.released),
            "destruction": {name: float(delta) for name, delta in self.measured.destruction.items()},
            "verdict": self.verdict,
        }


@dataclass(frozen=True, kw_only=True)
class RepairOutcome:
    """What a search for a repair came to."""

    of: Contender
    repaired: Contender | None
    """The form with the highest released score that keeps all constraints; None where no better one was found."""
    best: Attempt | None
    attempts: tuple[Attempt, ...]
    cells: int
    """Cells that were asked for beside those that were known."""

    def to_json(self) -> dict[str, Json]:
        return {
            "of": self.of.name,
            "repaired": None if self.repaired is None else self.repaired.name,
            "dropped": [] if self.best is None else list(self.best.dropped),
            "generalised": [] if self.best is None else list(self.best.generalised),
            "tried": [attempt.to_json() for attempt in self.attempts],
            "cells": self.cells,
        }


async def search_repair(
    arena: Arena,
    baseline: Contender,
    harness: Contender,
    variants: Sequence[Variant],
    rule: SelectionRule,
    role: str,
    *,
    name: str,
    limits: RepairLimits,
    known: Sequence[Contender] = (),
) -> RepairOutcome:
    """Search the harness's parts for the form with the highest released score that keeps all constraints.

    `variants` begin with the released benchmark. The baseline, the harness and all `known` contenders count as
    evaluated under all of them. Deterministic in what the arena returns. The outcome's harness has the given name and a
    record of what it was made from.
    """
    search = _Search(
        arena=arena, baseline=baseline, harness=harness, variants=variants, rule=rule, role=role, name=name,
        limits=limits, known=frozenset(named.harness.hash for named in (baseline, harness, *known)),
        parts=parts_of(baseline.harness, harness.harness),
    )  # fmt: skip
    await search.run()
    best = search.best
    repaired = (
        None if best is None else Contender(name=name, harness=best.contender.harness, record=search.record(best))
    )
    attempts = tuple(search.attempts.values())
    return RepairOutcome(of=harness, repaired=repaired, best=best, attempts=attempts, cells=len(search.asked))


@dataclass(kw_only=True)
class _Search:
    """Suspected parts go in any case: first all of them, dropped or generalised, then one more part beside them. Known
    shortcuts are the first suspects; parts that mention a cue join them where that is not enough. Where none is
    suspected: each change by itself, then the changes together that should do best if each does what it did by
    itself. The released score comes before anything else: only what scores higher than the best repair so far meets
    the counterfactuals.
    """

    arena: Arena
    baseline: Contender
    harness: Contender
    variants: Sequence[Variant]
    rule: SelectionRule
    role: str
    name: str
    limits: RepairLimits
    known: frozenset[str]
    """The hashes of harnesses whose cells cost nothing."""
    parts: tuple[Part, ...]
    best: Attempt | None = None
    attempts: dict[str, Attempt] = field(default_factory=dict)
    """By the harness's hash."""
    asked: set[tuple[str, str]] = field(default_factory=set)
    """(hash, variant) of every new cell."""
    means: dict[tuple[str, str], PerTask] = field(default_factory=dict)

    async def run(self) -> None:
        await self._evaluate([self.baseline, self.harness], self.variants)
        whole = self._standing(self.harness, self.variants)
        broken = {violation.name for violation in self.rule.violations(whole)}
        self.variants = sorted(  # the released benchmark, then what is broken, what destroys most first
            self.variants,
            key=lambda v: (v.name != RELEASED, v.name not in broken, -whole.destruction.get(v.name, Fraction(0))),
        )
        meets = 1 + sum(variant.name in broken for variant in self.variants)
        tiers = self._tiers()
        for suspects in tiers:
            if self.best is None:
                await self._without_suspects(suspects, meets)
        if tiers:
            return
        single = self._single_changes()
        await self._try(list(islice(single, self.left // 2)), meets)  # the other half is for what is worth following
        while self.left >= len(self.variants) and (form := self._best_guess(whole) or next(single, None)) is not None:
            await self._try([form], meets)

    @property
    def left(self) -> int:
        """New cells that may still be evaluated."""
        return self.limits.cells - len(self.asked)

    @property
    def bound(self) -> Fraction:
        """What a form must score more than to be of use."""
        return self.limits.more_than if self.best is None else self.best.released

    def record(self, attempt: Attempt) -> dict[str, Json]:
        """What a repaired harness's record says, for whoever builds on it."""
        made = {"of": self.harness.name, "dropped": list(attempt.dropped), "generalised": list(attempt.generalised)}
        return {"repair": {**made, "by": "the host (beyond the paper)"}}

    async def _try(self, forms: Sequence[Form], meets: int) -> None:
        """Measure forms as released, then those that score higher under the broken constraints (the first `meets`
        variants), and what keeps these under all others.
        """
        made = [(form, named) for form in forms if (named := self._contender(form)) is not None]
        distinct = list({named.harness.hash: (form, named) for form, named in reversed(made)}.values())[::-1]
        measured = await self._evaluate([named for _, named in distinct], self.variants[:1])
        attempts = [self._attempt(form, named) for form, named in distinct if named.name in measured]
        for attempt in sorted(attempts, key=lambda attempt: attempt.released, reverse=True):
            followed = await self._follow(attempt, meets)
            self.attempts[attempt.contender.harness.hash] = followed
            if followed.verdict == "keeps all constraints":
                self.best = followed

    async def _follow(self, attempt: Attempt, meets: int) -> Attempt:
        if attempt.released <= self.bound:
            return replace(attempt, verdict="scores no higher")
        for count in range(2, len(self.variants) + 1):
            if not await self._evaluate([attempt.contender], self.variants[count - 1 : count]):
                return attempt
            attempt = replace(attempt, measured=self._standing(attempt.contender, self.variants[:count]))
            if count >= meets and self.rule.violations(attempt.measured):
                return replace(attempt, verdict="breaks a constraint")
        return replace(attempt, verdict="keeps all constraints")

    async def _evaluate(self, contenders: Sequence[Contender], variants: Sequence[Variant]) -> set[str]:
        """Evaluate as many contenders as the limit allows, in their order; their names."""
        meant = []
        for named in contenders:
            new = {(named.harness.hash, v.name) for v in variants if named.harness.hash not in self.known} - self.asked
            if len(new) > self.left:
                continue
            self.asked |= new
            meant.append(named)
        if meant:
            untold = [replace(variant, told=False) for variant in variants]
            self.means |= await self.arena.means(meant, untold, self.role)
        return {named.name for named in meant}

    def _standing(self, contender: Contender, variants: Sequence[Variant]) -> Standing:
        return self.limits.measure(self.means, contender.name, self.baseline.name, variants)

    # From single changes to several

    def _best_guess(self, whole: Standing) -> Form | None:
        """The form that was not tried and should score highest among those that should keep all constraints; where none
        should, the one that should be least beyond them.
        """
        alone = [a for a in self.attempts.values() if len(_changed(a.form)) == 1]
        alone.sort(key=lambda a: (_beyond(self.rule, _added_up(whole, [a.measured])), -a.released))
        single = {a.form: a.measured for a in alone[:MOST_COMBINED]}
        choices = [
            ["kept", *(treatment for treatment in CHANGES if self._with(place, treatment) in single)]
            for place in range(len(self.parts))
        ]
        guesses = []
        for form in product(*choices):
            effects = [single[self._with(place, form[place])] for place in _changed(form)]
            guess = _added_up(whole, effects)
            if len(effects) > 1 and guess.released > self.bound:
                guesses.append((-_beyond(self.rule, guess), guess.released, form))
        guesses.sort(key=lambda guess: guess[:2], reverse=True)
        return next((form for *_, form in guesses if self._contender(form) is not None), None)

    # Forms

    def _single_changes(self) -> Iterator[Form]:
        """Every form with one change: generalised before dropped, honest parts last."""
        for place in sorted(range(len(self.parts)), key=lambda place: self.parts[place].name in self.limits.honest):
            if generalised(self.parts[place], self.limits.observables) is not None:
                yield self._with(place, "generalised")
            yield self._with(place, "dropped")

    def _with(self, changed: int, treatment: Treatment) -> Form:
        return tuple(treatment if place == changed else "kept" for place in range(len(self.parts)))

    def _tiers(self) -> list[frozenset[str]]:
        """The names of suspected parts: those of known shortcuts, then also those that mention a suspected cue."""
        known = frozenset(part.name for part in self.parts if part.name in self.limits.shortcuts)
        mentioning = {part.name for part in self.parts if self._mentions_a_cue(part)} - set(self.limits.honest)
        return [tier for tier in dict.fromkeys([known, known | mentioning]) if tier]

    async def _without_suspects(self, suspects: frozenset[str], meets: int) -> None:
        """All suspected parts generalised or dropped; then, from the forms with the highest scores, one part more."""
        await self._try(list(islice(self._suspect_free(suspects), self.left // 2)), meets)
        tried = sorted(self.attempts.values(), key=lambda attempt: attempt.released, reverse=True)
        for attempt in tried:
            for place in range(len(self.parts)):
                if self.left and attempt.form[place] == "kept":
                    await self._try([(*attempt.form[:place], "dropped", *attempt.form[place + 1 :])], meets)

    def _suspect_free(self, suspects: frozenset[str]) -> Iterator[Form]:
        """Every form in which suspected parts alone are treated: those that generalise most first."""
        choices: list[tuple[Treatment, ...]] = []
        for part in self.parts:
            can = generalised(part, self.limits.observables) is not None
            treated: tuple[Treatment, ...] = ("generalised", "dropped") if can else ("dropped",)
            choices.append(treated if part.name in suspects else ("kept",))
        forms = islice(product(*choices), MOST_FORMS)
        yield from sorted(forms, key=lambda form: form.count("dropped"))

    def _mentions_a_cue(self, part: Part) -> bool:
        text = part.edit.value if isinstance(part.edit, Setting) else " ".join(part.edit.items)
        return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in self.limits.suspected)

    def _contender(self, form: Form) -> Contender | None:
        """The harness of a form; None where its parts do not go together, nothing is left, or it was tried."""
        kept = [self._treated(part, what) for part, what in zip(self.parts, form, strict=True) if what != "dropped"]
        try:
            harness = with_parts(self.baseline.harness, self.harness.harness, kept)
            self.limits.check(harness, self.name)
            for gate in self.rule.gates:
                gate.admit(Submitted(name=self.name, harness=harness, current=self.harness.harness))
        except UserError:
            return None
        if harness.hash in {self.baseline.harness.hash, self.harness.harness.hash, *self.attempts}:
            return None
        return Contender(name=f"{self.name}-{harness.hash[:12]}", harness=harness)

    def _treated(self, part: Part, treatment: Treatment) -> Part:
        form = generalised(part, self.limits.observables) if treatment == "generalised" else None
        return form or part

    def _attempt(self, form: Form, contender: Contender) -> Attempt:
        named: dict[Treatment, list[str]] = {"kept": [], "generalised": [], "dropped": []}
        for part, treatment in zip(self.parts, form, strict=True):
            named[treatment].append(part.name)
        return Attempt(
            form=form,
            contender=contender,
            dropped=tuple(named["dropped"]),
            generalised=tuple(named["generalised"]),
            measured=self._standing(contender, self.variants[:1]),
        )


def _changed(form: Sequence[Treatment]) -> list[int]:
    """The places of the parts that are not kept."""
    return [place for place, treatment in enumerate(form) if treatment != "kept"]


def _beyond(rule: SelectionRule, found: Standing) -> Fraction:
    """How far a standing is beyond what the gates allow, in all; where a gate gives no number, 1."""
    return sum((Fraction(1) if v.by is None else v.by for v in rule.violations(found)), start=Fraction(0))


def _added_up(whole: Standing, changed: Sequence[Standing]) -> Standing:
    """What several changes should come to, if each does what it did by itself. One that did not meet a counterfactual
    is taken to destroy as much there as the whole.
    """
    lost = sum((whole.released - found.released for found in changed), start=Fraction(0))
    return Standing(
        name=whole.name,
        released=whole.released - lost,
        gain=whole.gain - lost,
        destruction={
            name: delta + sum((found.destruction.get(name, delta) - delta for found in changed), start=Fraction(0))
            for name, delta in whole.destruction.items()
        },
    )
