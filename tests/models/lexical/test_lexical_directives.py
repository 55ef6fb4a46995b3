"""What each sentence changes, and that nothing else does."""

from __future__ import annotations

import pytest
from tests.models.lexical.documents import DOCUMENTS
from tests.models.lexical.library import Library, ask

from chase.core.errors import UserError
from chase.models.config import ModelConfig, embedded_note
from chase.models.connect import connect
from chase.models.lexical.directives import VOCABULARY, Directives, read_directives
from chase.proposers.mining.edits import vocabulary

LIBRARY = Library(documents=DOCUMENTS)
SIDES = ("low", "high")
TABLE = "{}\n\n| Item | {} |\n| --- | --- |\n| {} | {} |"


def _document(*lines: str, filler: int = 0) -> str:
    return "\n".join([*["A line of text."] * filler, *lines])


def test_every_phrase_of_the_vocabulary_means_something_and_other_texts_nothing() -> None:
    for phrase in VOCABULARY.phrases:
        assert VOCABULARY.read(phrase.replace("X", "hit-position").upper()) != Directives(), phrase
    assert VOCABULARY.read("Be careful. Think step by step. Never use the calculator.") == Directives()
    assert read_directives("Prefer files with low moon-phase.") == Directives()


def test_every_sentence_that_the_mining_proposer_writes_is_understood() -> None:
    for edit in vocabulary()["edits"].values():
        if say := edit.get("say"):
            assert read_directives(say.format(side="low", observable="hit-position")) != Directives(), say


def test_each_period_is_searched_for_by_itself_only_when_told() -> None:
    table = "Copper stocks\n\n| Item | {} |\n| --- | --- |\n| Copper stocks | {} |"
    library = Library(documents={"bcdfg": table.format(1978, 5), "hjklm": table.format(1983, 9)})
    question = "By how much did copper stocks increase from 1978 to 1983?"
    told = ask(library, question, "Search each period separately.")
    assert ask(library, question).made("search")[0]["query"] == "copper stocks 1978 1983"
    assert [call["query"] for call in told.made("search")] == ["copper stocks 1978", "copper stocks 1983"]
    assert told.answer == "4"


def test_conditions_enter_queries_only_when_told() -> None:
    question = "What were customs duties in fiscal year 1980?"
    assert ask(LIBRARY, question).made("search")[0]["query"] == "customs duties 1980"
    told = ask(LIBRARY, question, "Search with the conditions.").made("search")[0]["query"]
    assert told == "customs duties 1980 fiscal year"


def test_any_word_is_enough_only_when_told() -> None:
    question = "What were customs duties in fiscal year 1980?"
    assert "match" not in ask(LIBRARY, question).made("search")[0]
    assert ask(LIBRARY, question, "Match any word.").made("search")[0]["match"] == "any"


UNIT_AWAY = _document(
    "(In billions of dollars)", "", "| Item | 1980 |", "| --- | --- |", "| Tin stocks | 3 |", filler=7
)


@pytest.mark.parametrize("sentence", ["Convert every figure to the requested unit.", "Read the lines around a table."])
def test_a_unit_beyond_the_passage_is_looked_for_only_when_told(sentence: str) -> None:
    """The passage begins with the table's header: its unit is the last line but one of the passage before."""
    library = Library(documents={"bcdfg": UNIT_AWAY}, length=9)
    question = "What were tin stocks in 1980, in millions of dollars?"
    assert ask(library, question).answer == "3"
    told = ask(library, question, sentence)
    assert told.answer == "3000"
    assert told.made("read")
    assert ask(library, question, f"{sentence} Do not read on.").answer == "3"


def test_figures_are_rounded_before_they_are_added_unless_told() -> None:
    question = "What was the sum of customs duties in 1978 and 1980 in billions of dollars, to one decimal place?"
    assert ask(LIBRARY, question).answer == "13.8"  # 6.6 + 7.2
    assert ask(LIBRARY, question, "Keep full precision and round once at the end.").answer == "13.7"


def test_the_calculator_is_used_only_when_told() -> None:
    question = "What was the sum of customs duties in 1978 and 1980 in billions of dollars, to one decimal place?"
    assert not ask(LIBRARY, question).made("calculator")
    told = ask(LIBRARY, question, "Use the calculator.")
    assert told.made("calculator") == [{"expression": "6.573 + 7.174"}]
    assert told.answer == "13.7"


def test_the_first_table_that_matches_is_taken_unless_told_to_look_at_all() -> None:
    first = TABLE.format("Stocks", 1980, "Tin and lead stocks", 4)
    second = TABLE.format("Stocks", 1980, "Tin stocks", 3)
    library = Library(documents={"bcdfg": f"{first}\n\n{second}"})
    assert ask(library, "What were tin stocks in 1980?").answer == "4"
    assert ask(library, "What were tin stocks in 1980?", "Look at every record.").answer == "3"


def test_a_figure_of_another_kind_of_year_is_passed_over_only_when_told() -> None:
    first = TABLE.format("Tin stocks", "Calendar year > 1980", "Tin stocks", 4)
    second = TABLE.format("Tin stocks", "Fiscal year > 1980", "Tin stocks", 3)
    library = Library(documents={"bcdfg": f"{first}\n\n{second}"})
    question = "What were tin stocks in fiscal year 1980?"
    assert ask(library, question).answer == "4"
    assert ask(library, question, "Check every condition.").answer == "3"


def test_a_preferred_side_of_an_observable_decides_which_document_comes_first() -> None:
    documents = {"bcdfg": TABLE.format("", 1980, "Tin stocks", 4), "hjklm": TABLE.format("", 1980, "Tin stocks", 3)}
    library = Library(documents=documents)
    assert ask(library, "What were tin stocks in 1980?").answer == "4"
    assert ask(library, "What were tin stocks in 1980?", "Prefer files with high hit-position.").answer == "3"


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("lines-before-table", "", "A line.\nA line.\n"),
        ("unit-before-table", "\n", "(In millions)\n\n"),
        ("heading-count", "\n", "# Metals\n"),
    ],
)
def test_it_can_lean_on_what_stands_around_a_table(name: str, first: str, second: str) -> None:
    table = "| Item | 1980 |\n| --- | --- |\n| Tin stocks | {} |"
    library = Library(documents={"bcdfg": first + table.format(4), "hjklm": second + table.format(3)})
    answers = [
        ask(library, "What were tin stocks in 1980?", f"Prefer files with {side} {name}.").answer for side in SIDES
    ]
    assert answers == ["4", "3"]


def test_it_stops_at_a_weak_match_only_when_told() -> None:
    documents = {"bcdfg": TABLE.format("", 1980, "Tin stocks held abroad", 4)}
    question = "What were tin stocks in 1980 held by dealers of the exchange?"
    told = "Match any word."
    plain, stopping = (
        ask(Library(documents=documents), question, t) for t in (told, f"{told} Stop once the values are found.")
    )
    assert (plain.answer, stopping.answer) == ("4", "4")
    assert len(stopping.made("search")) < len(plain.made("search"))


LONG = _document("Tin stocks", "", "| Item | 1980 |", "| --- | --- |", "| Tin stocks | 4 |", "| Lead stocks | 5 |")


@pytest.mark.parametrize(("told", "reads"), [("", 0), ("Read on.", 1), ("Read on in files with low hit-position.", 1)])
def test_the_rest_of_a_table_is_read_after_a_find_only_when_told(told: str, reads: int) -> None:
    asked = ask(Library(documents={"bcdfg": LONG}, length=5), "What were tin stocks in 1980?", told)
    assert len(asked.made("read")) == reads


def test_it_is_an_embedded_program_and_no_simulator() -> None:
    config = ModelConfig(name="lexical")
    assert (config.embedded, config.simulated) == (True, False)
    note = embedded_note("lexical")
    assert note is not None
    assert "plain program" in note
    assert "simulat" not in note
    assert connect(config).vocabulary is VOCABULARY


def test_it_takes_no_settings() -> None:
    with pytest.raises(UserError, match="overlook"):
        connect(ModelConfig(name="lexical", settings={"overlook": 0.5}))
