"""Checks on what a candidate changes: its track, whether it changes anything, whether it was there before, and whether
its rules say when they apply. Each is a pure function of what was submitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chase.harness.diff import HarnessDiff, diff_harnesses
from chase.harness.spec import Activation, Harness, Track
from chase.harness.splicing import sentences
from chase.methods.gate.code import Code
from chase.methods.gate.words import spaced
from chase.methods.selection import Submitted

RETRIEVAL_OR_CONTROL = ("retrieval policy", "control policy")
ACTIVATION = "activation"
"""Where a candidate's record says when its edits apply."""
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|while|where|wherever|unless|until|once|before|after|as soon as|in case|during|otherwise|"
    r"(?:every|each) (?:time|task|question|search))\b",
    re.I,
)
_LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeCheck:
    """A named check on what a candidate changes."""

    name: str
    find: Callable[[Submitted], Iterator[str]]
    """Says what is wrong and what to do, once for each problem."""


def effective_change(submitted: Submitted) -> Iterator[str]:
    """White space, characters that cannot be seen, comments, docstrings and annotations are no change."""
    if _effective(submitted.harness) == _effective(submitted.current):
        yield "nothing changes but layout or comments. Change what the harness does."


def duplicates(submitted: Submitted) -> Iterator[str]:
    """The same in effect, whatever its layout."""
    effective = _effective(submitted.harness)
    earlier = [name for name, harness in submitted.evaluated.items() if _effective(harness) == effective]
    if earlier:
        yield f"the same as {earlier[0]}, which was evaluated. Write another."


def tracks(submitted: Submitted) -> Iterator[str]:
    """The placement requirement: executable changes are structural, advice is guidance, an integrated candidate joins
    both, each from its sibling.
    """
    diff = diff_harnesses(submitted.current, submitted.harness)
    if submitted.track == "structural":
        if "guidance" in diff.tracks_changed:
            yield "a structural candidate changes guidance. Leave prompt, memory and guidance as they are."
        if not any(change.component in RETRIEVAL_OR_CONTROL for change in diff.changes):
            yield "a structural candidate changes no retrieval or control field. Change one of them, or control.py."
    elif submitted.track == "guidance" and "structural" in diff.tracks_changed:
        yield "a guidance candidate changes structure. Leave harness.toml and control.py as they are."
    elif submitted.track == "integrated":
        yield from _integrated(submitted, diff)


def _integrated(submitted: Submitted, diff: HarnessDiff) -> Iterator[str]:
    both: tuple[Track, ...] = ("structural", "guidance")
    for track in both:
        keys = _keys(diff, track)
        if not keys:
            yield f"an integrated candidate has no {track} change. Join a change of each kind."
        elif track not in submitted.accepted:
            yield f"there is no {track} candidate in this round to take a change from. Hand one in that passes."
        elif not keys & _keys(diff_harnesses(submitted.current, submitted.accepted[track]), track):
            yield f"an integrated candidate has no change of the {track} candidate. Take one over from it."


def _keys(diff: HarnessDiff, track: Track) -> frozenset[str]:
    return frozenset(change.key.removesuffix(" when") for change in diff.changes if change.track == track)


def conditions(submitted: Submitted) -> Iterator[str]:
    """A new rule that the model reads says when it applies: by its module's activation, in its own sentence, or in what
    the candidate's record says of its activation. A structural field applies when the engine's description says.
    """
    if str(submitted.record.get(ACTIVATION) or "").strip():
        return
    old = _rules(submitted.current)
    new = {rule: place for rule, place in _rules(submitted.harness).items() if rule not in old}
    for place in sorted({place for rule, place in new.items() if not _CONDITION.search(rule)}):
        yield (
            f"{place} has a rule that does not say when it applies. Say so in the rule (when, if, while …), give the "
            f"guidance module a condition, or state it in the record under '{ACTIVATION}'."
        )


def _rules(harness: Harness) -> dict[str, str]:
    """Sentences that the model is shown in every task, headings among them → their place."""
    texts = {"prompt.md": harness.prompt, "memory.md": harness.memory}
    texts |= {"tools.instructions": harness.structure.tools.instructions}
    texts |= {f"guidance/{m.name}.md": m.text for m in harness.guidance if m.when == Activation()}
    return {
        sentence.text: place
        for place, text in texts.items()
        for sentence in sentences(text)
        if _LETTERS.search(sentence.text)
    }


def _effective(harness: Harness) -> tuple[object, ...]:
    """What of a harness has an effect."""
    code = None if harness.control_source is None else Code.read(harness.control_source)
    structure = harness.structure.model_dump(mode="json", by_alias=True)
    structure.pop("answer")  # a benchmark has one form, written or not
    structure["tools"]["instructions"] = spaced(harness.structure.tools.instructions)
    return (
        repr(structure),
        spaced(harness.prompt),
        spaced(harness.memory),
        tuple((spaced(module.text), repr(module.when)) for module in harness.guidance),
        harness.control_source if code is None else code.plain,
    )


CHANGES: tuple[ChangeCheck, ...] = (
    ChangeCheck(name="effective-change", find=effective_change),
    ChangeCheck(name="duplicates", find=duplicates),
    ChangeCheck(name="tracks", find=tracks),
    ChangeCheck(name="conditions", find=conditions),
)
