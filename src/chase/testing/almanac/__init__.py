"""Almanac: a small second benchmark, as unlike Syn-Ledger as the contract allows. For tests, never for a result.

Reports about invented places share one corpus. Tools answer in JSON, find passages and read ranges of lines; answers
are names or decimals; operators rename tools, arguments and result fields, cut passages anew and move statements of
units. It is made from its name (`almanac@7`) or read from a folder (`almanac`, with data).
"""
