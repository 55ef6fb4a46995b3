"""`lexical`: a plain program that answers questions over text and Markdown tables. No simulation and no randomness.

It sits behind the same messages and tools as a language model and knows no benchmark. `question` understands what is
asked (with `operations`, `periods`, `units` and `words`), `toolbox` recognises tools, `results` reads what they give
back, `shelf` keeps it by document, `tables` finds the tables in it, `lookup` the row and the column, `sentences` the
sentence where no number is asked for, `directives` what the prompt tells it, `mind` decides, `model` speaks. What it
leans on is written in `docs/lexical.md`.
"""

from chase.models.lexical.model import lexical_model

__all__ = ["lexical_model"]
