"""Checks on what a harness's rules are based on: observable features that give evidence away, look-up tables, and which
task it is. They read fields and code, not only words.
"""

from __future__ import annotations

from chase.methods.gate.features import feature_rules
from chase.methods.gate.finding import ContentCheck
from chase.methods.gate.membership import task_membership
from chase.methods.gate.tables import lookup_tables

RULES: tuple[ContentCheck, ...] = (
    ContentCheck(
        name="lookup-tables",
        find=lookup_tables,
        means="has a look-up table",
        mend="Replace it by the rule that its entries follow, from what a task shows.",
    ),
    ContentCheck(
        name="feature-rules",
        find=feature_rules,
        means="has a rule on an observable feature of documents",
        mend="Base the rule on what the question asks and what the documents say.",
        only="feature-rules",
    ),
    ContentCheck(
        name="task-membership",
        find=task_membership,
        means="branches on which task it is",
        mend="Branch on what kind of question it is, by words that many questions share.",
    ),
)
