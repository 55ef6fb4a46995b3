"""The verdict in one sentence that a manager understands, and in a word. No symbol of the paper is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.report.document import Tone
from chase.runs.comparison_tables import reference
from chase.runs.coverage import coverage
from chase.runs.rendering import percent, points

Found = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What stands on top of a report."""

    sentence: str
    label: str
    tone: Tone
    details: tuple[str, ...] = ()
    """Sentences that stand below it."""


def unfinished(status: str) -> Headline:
    """Of a run that is not over, or whose result cannot be read."""
    if status == "finished":
        sentence = "This run ended, but its result cannot be read: why stands under settings, below."
        return Headline(sentence=sentence, label="result not readable", tone="bad")
    return Headline(
        sentence=f"This run is not finished (it is {status}): what there is so far is below, and decides nothing yet.",
        label="not finished",
        tone="open",
    )


def of_evolution(found: Found) -> Headline:
    """Is the evolved harness better, and does that hold when the protocol is changed?"""
    final, certified = found["final"], found["certification"]
    if not final["changes"]:
        sentence = "The search ended where it began: no change of the harness was worth keeping."
        return Headline(sentence=sentence, label="unchanged", tone="open")
    if certified is None:
        sentence = (
            "The search changed the harness, but the sealed tasks were left alone: whether the change is an "
            "improvement is not known yet."
        )
        return Headline(sentence=sentence, label="not certified", tone="open")
    gain, scores = certified["gains"]["released"], certified["scores"]
    from_to = f"{percent(scores['H0']['released']['value'])} to {percent(scores['H*']['released']['value'])}"
    tasks = f"on {certified['tasks']} tasks that the search never saw"
    if gain["low"] <= 0:
        if gain["high"] < 0:
            return Headline(sentence=f"The evolved harness is worse: {from_to} {tasks}.", label="loss", tone="bad")
        sentence = f"No improvement is shown: the score goes from {from_to} {tasks}, which chance alone could bring."
        return Headline(sentence=sentence, label="not shown", tone="open")
    return _survival(found, f"The evolved harness is better: {from_to} {tasks}")


def _survival(found: Found, better: str) -> Headline:
    """What becomes of a shown gain under the archive's worst entry."""
    certified = found["certification"]
    if not found["archive"]:
        sentence = f"{better}; no valid change of the benchmark's form was found that takes the gain away."
        return Headline(sentence=sentence, label="gain", tone="good")
    least, gain = certified["g_min"], certified["gains"]["released"]["value"]
    left = f"of its {points(gain)} points {points(least['value'])} are left"
    where = "when only the benchmark's form is changed and not what is asked"
    if least["low"] > 0:
        return Headline(sentence=f"{better}; {left} {where}: the gain holds.", label="gain that holds", tone="good")
    doubt = "that remainder is not shown to be more than chance"
    if least["high"] < 0:
        doubt = "there it does harm"
    return Headline(sentence=f"{better}; {left} {where}: {doubt}.", label="gain in doubt", tone="open")


_AUDITED: Mapping[str, tuple[str, Tone]] = {
    "supported": ("The gain is real as far as this audit can tell", "good"),
    "partly supported": ("At least half of the gain holds, part of it rests on the benchmark's form", "open"),
    "not supported": ("Do not rely on this gain: more than half of it rests on the benchmark's form", "bad"),
    "no gain": ("There is no gain", "bad"),
    "in doubt": ("Do not rely on this gain yet: part of it rests on the benchmark's form, and half of it may", "bad"),
    "untested": ("Do not rely on this gain yet: no test could have shown that it rests on the benchmark's form", "bad"),
    "inconclusive": ("There is too little evidence to say whether the gain is real", "open"),
}


def of_audit(found: Found) -> Headline:
    """Is the gain real?"""
    word, tone = _AUDITED[found["verdict"]]
    gain, scores = found["g_rel"], found["scores"]
    from_to = f"{percent(scores['baseline']['value'])} to {percent(scores['harness']['value'])}"
    said = f"{word}: {from_to} ({points(gain['value'])} points) as released on {found['confirm_tasks']} tasks"
    if found["gamma"] > 0:
        said += f", {points(found['g_min'])} under the worst change of the benchmark's form"
    return Headline(sentence=f"{said}.", label=found["verdict"], tone=tone, details=tuple(_details_of_audit(found)))


def _details_of_audit(found: Found) -> Iterator[str]:
    """The gain by its edits; what the verdict is against, or why nothing was tested."""
    if found["headline"]:
        yield found["headline"]
    if found["stopped"]:
        yield found["stopped"]
    elif covers := coverage(found):
        yield f"Tested against {covers}." if found["against"] else f"{covers[:1].upper()}{covers[1:]}."


def of_comparison(found: Found) -> Headline:
    """Which method gains, and which keeps what it gains?"""
    seeds = len(found["seeds"])
    count = f"{len(found['features'])} methods over {'one seed' if seeds == 1 else f'{seeds} seeds'}"
    if not found["certified"]:
        sentence = f"{count} were run; the sealed tasks were left alone, so nothing is compared yet."
        return Headline(sentence=sentence, label="not certified", tone="open")
    key, words = kept_figure(found)
    methods = found["methods"]
    most = max(methods, key=lambda name: methods[name]["g_rel"]["value"])
    keeps = max(methods, key=lambda name: kept_of(methods[name], key)["value"])
    gained, kept = methods[most]["g_rel"]["value"], kept_of(methods[keeps], key)["value"]
    others = len(methods) - 1
    told = sum(
        each["separated"] and keeps in (each["left"], each["right"])
        for each in found["differences"]
        if each["figure"] == (key or "gamma")
    )
    first = f"{most} gains most as released ({points(gained)} points)" if gained > 0 else "none gains as released"
    then = f"{keeps} gains most {words} ({points(kept)})" if kept > 0 else f"none has a gain {words}"
    both = f"{most} gains most, as released ({points(gained)} points) and {words} ({points(kept)})"
    chance = (
        f"against {told} of the {others} others that is more than chance" if told else "no lead is more than chance"
    )
    same = most == keeps and gained > 0 and kept > 0
    sentence = f"Of {count}, {both if same else f'{first} and {then}'}; {chance}."
    leads = kept > 0 and told > 0
    tone: Tone = "good" if leads and keeps == reference(found) else "open"
    return Headline(sentence=sentence, label=f"{keeps} leads" if leads else "no clear lead", tone=tone)


def of_repair(found: Found) -> Headline:
    """What is left of a gain without its shortcut?"""
    tone: Tone = "good" if found["repaired"] else "open"
    sentence = f"{found['outcome'].capitalize()}: {found['reason']}."
    measured = found["measured"] or {}
    if found["repaired"] and measured.get("repaired") and measured.get("harness"):
        before, after = (
            {key: points(measured[name][key]["value"]) for key in ("released", "surviving")}
            for name in ("harness", "repaired")
        )
        sentence = (
            f"The repaired harness gains {after['released']} points as released and {after['surviving']} under the "
            "change of the benchmark's form that was worst in the search; before the repair it gained "
            f"{before['released']} and {before['surviving']}."
        )
    return Headline(sentence=sentence, label=found["outcome"], tone=tone)


def of_rollout(found: Found) -> Headline:
    """How good is a harness?"""
    score = found["score"]
    sentence = f"The harness scores {percent(score['value'])} on {score['n']} tasks ({found['split']})."
    return Headline(sentence=sentence, label=percent(score["value"]), tone="open")


def kept_figure(found: Found) -> tuple[str | None, str]:
    """The column that says what of a gain is kept, and in words; None: the gain less what the archive takes of it."""
    if any(column["key"] == "g_0" for column in found["columns"]):
        return "g_0", "with every planted regularity removed"
    return None, "under the archive's worst entry"


def kept_of(row: Found, key: str | None) -> Found:
    """A method's kept gain."""
    if key is not None:
        figure: Found = row[key]
        return figure
    released, gamma = row["g_rel"], row["gamma"]
    error = float((released["se"] ** 2 + gamma["se"] ** 2) ** 0.5)
    return {"value": released["value"] - gamma["value"], "se": error}
