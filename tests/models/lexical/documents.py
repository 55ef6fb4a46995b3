"""The documents that the tests ask about, written by hand."""

from __future__ import annotations

RECEIPTS = """# Survey of March 1982

Table 1.- Receipts by source
(In millions of dollars)

| Year > Fiscal year | Income taxes > Individual | Income taxes > Corporation | Customs duties | Total receipts |
| --- | --- | --- | --- | --- |
| 1978 | 180,988 | 59,952 | 6,573 | 399,561 |
| 1979 | 217,841 | 65,677 | 7,439 | 463,302 |
| 1980 | 244,069 | 64,600 | 7,174 | 517,112 |
| 1981 | 285,917 | 61,137 | 8,083 | 599,272 |

Source: monthly statements.

Table 2.- Outlays by agency

| Agency | 1980 | 1981 |
| --- | --- | --- |
| Department of Labor | 29,724,000 | 30,084,500 |
| Department of Energy | 6,457,250 | 11,631,000 |
| Total outlays | 36,181,250 | 41,715,500 |

[In thousands of dollars]
Note: interfund transactions are left out."""

HARBOUR = """# The harbour

The old harbour was opened in 1911 by Mayor Ines Duarte. It was closed after the flood of 1950.
A new pier stands there today.

Ships and their tonnage

| Month | Ships | Tonnage |
| --- | --- | --- |
| 1980-Jan. | 10 | 1,000 |
| Feb. | 12 | 1,500 |
| Mar. | 9 | (200) |"""

DOCUMENTS = {"bcdfghjk": RECEIPTS, "lmnpqrst": HARBOUR}
