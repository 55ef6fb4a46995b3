"""OfficeQA: numeric questions over the U.S. Treasury Bulletins (Full) and over a second corpus (Pro V2).

The data sets are gated by their authors: a user points to their own copy, and nothing of them is in this project.
"""
