"""The words of Syn-Ledger. Words that could stand in the same place have the same length.

Evidence is approved, prevailing and enacted while distractors are superseded or canceled: were those words
of different lengths, the size of a file would give evidence away. So the values of a column are equally
long, and each required category has a twin of its own length.
"""

from __future__ import annotations

STATUSES = ("approved", "canceled", "in draft")
VERSIONS = ("prevailing", "superseded")
BASES = ("enacted", "planned", "accrual")

CATEGORY_TWINS = {
    "appropriation": "reimbursement",
    "capital adjustment": "capital allowances",
    "operations adjustment": "operations allowances",
    "adjustment": "guarantees",
    "obligation": "remittance",
    "allocated amount": "escrowed balance",
    "reference total": "insurance total",
    "reported total": "deferred total",
    "direct component": "leased component",
    "indirect component": "licensed component",
}
"""Each required category with the irrelevant one that may take its place."""

FILLER_CATEGORIES = (
    "travel advance",
    "storage lease",
    "training credit",
    "vehicle charge",
    "printing refund",
    "archive levy",
)
"""Categories that no question asks for."""

ENTITY_FIRST = tuple(
    "Amber Aspen Birch Brook Cedar Cliff Coral Crest Delta Eagle Flint Frost Grand Green Heath Ivory Lakes Maple "
    "Marsh North Ocean Olive Pearl Quill River Rowan Sable South Stone Thorn Water White".split()
)
ENTITY_SECOND = tuple("dale fall ford gate hall land mere moor port view wood".split())
ENTITY_KIND = ("Agency", "Bureau", "Office")

FIRST_YEAR, LAST_YEAR = 2012, 2059
"""Periods are fiscal years, all of one length and never a two-digit number."""

SHORT_STEMS = tuple(
    "acct base bill book calc card case chart claim code cost count data deed desk entry fact file folio fund".split()
)
"""Short, regular, lexically early."""

LONG_STEM_FIRST = tuple(
    "periodical quarterly reconciled registrar retained scheduled secondary supporting tabulated transcribed "
    "transmittal unabridged verified workbook".split()
)
LONG_STEM_SECOND = tuple("compendium extraction memorandum particulars statement submission transcript".split())
LONG_STEMS = tuple(f"{first}-{second}" for first in LONG_STEM_FIRST for second in LONG_STEM_SECOND)
"""Longer and lexically late."""

EARLY_FOLDERS = tuple("accounts archive binder books bureau cabinet".split())
LATE_FOLDERS = tuple("records registry shelf tables vault volumes".split())
INNER_FOLDERS = tuple("annex branch drawer eastern lower middle northern outer upper western".split())

SHORT_TITLES = ("Accounts", "Entries book", "Balances")
LONG_TITLES = (
    "Statement of recorded positions",
    "Register of posted transactions",
    "Schedule of ledger movements",
)
SECTION_LABELS = ("Entries", "Records", "Amounts")
"""Equally long, so that the section-label placebo changes no size."""

PREPARERS = tuple("Abara Blume Castel Doran Eskola Farrow Grieve Hollis Imrie Jansen Keller Lindqvist".split())
OFFICES = tuple("Eastgate Fairview Hillside Kingsway Lakeside Milltown Northend Parkview".split())
CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
METADATA_KEYS = ("Prepared by", "Held at", "Box", "Desk")
"""Stand above the records, in an order of the document's own."""
