"""Syn-Ledger: the paper's synthetic benchmark of multi-document ledger arithmetic with planted shortcuts.

Read in this order: `contents` (records, programs, tasks), `features` and `manifest` (the protocol state),
`rendering` and `parsing`, `combinatorics` and `allocation` (levels and task sets), `generator`,
`constructions` (B_0, neutralisations, placebos), `tools`, `scoring`, `validation`, `benchmark`.
"""
