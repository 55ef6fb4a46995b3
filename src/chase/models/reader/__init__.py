"""`sim:reader`: the embedded simulated model. A simulator, and labelled so wherever its results are shown.

It is Syn-Ledger's reader: it knows the form of that benchmark's questions, tools and records, and its taste is over a
list of observables of its own, from `core/`. It sits behind the same messages and tools as any model and reads the
rendered text. `question` understands what is asked, `reading` reads tool results, `directives` finds what the prompt
tells it, `mind` decides, `model` speaks. What is contrived about it is written in `docs/simulated-reader.md`.
"""

from chase.models.reader.model import reader_model

__all__ = ["reader_model"]
