"""A synthetic sample of OfficeQA's shape: documents and questions that are made up, the same for a seed everywhere.

Read in this order: `vocabulary` (words), `periods`, `series` (the figures and how editions revise them), `shape` (sizes
and layout rates), `plans` (which tables a document holds), `elements` and `prose`, `rendering`, `grouping` (which
documents questions share), `questions` and `wordings`, `writing`.
"""
