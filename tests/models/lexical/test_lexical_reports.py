"""Tables as reports print them: headers of several rows, years as dates, scales in remarks, documents with a number."""

from __future__ import annotations

import pytest
from tests.models.lexical.library import Library, ask

FORM = "A number with its scale (thousand, million) if it has one; several with semicolons between."
BY_NAME = "Search for the document that the question names."
FERRIES = """# Report 20018

Fares are by sea.

|  |  | Year ended March 31, |  |
| --- | --- | --- | --- |
|  | 2031 | 2030 | 2029 |
|  |  | (in thousands) |  |
| Ferry fares | 1,204 | 1,150 | 900 |
| Fare per crossing | 1.25 | 1.20 | 1.10 |
| Share of fares | 61% | 60% | 59% |"""


def asked(question: str, text: str = FERRIES, told: str = FORM) -> str:
    return ask(Library(documents={"bcdfg": text}), f"In report 20018: {question}", told).answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What were ferry fares in 2030?", "1150 thousand"),
        ("What were ferry fares in 2031 and 2029?", "1204 thousand; 900 thousand"),
        ("What was the change in ferry fares in 2031 from 2030?", "54 thousand"),
        ("What was the increase / (decrease) in ferry fares from 2029 to 2030?", "250 thousand"),
        ("What was the percentage change in ferry fares in 2031 from 2030?", "4.7%"),
        ("What was the fare per crossing in 2029?", "1.1"),
        ("What was the share of fares in 2031?", "61%"),
        ("What was the ratio of ferry fares in 2031 to ferry fares in 2029?", "1.34"),
    ],
)
def test_a_header_of_several_rows_is_read_and_a_figure_has_its_scale(question: str, answer: str) -> None:
    assert asked(question) == answer


def test_nothing_is_written_with_a_scale_where_the_form_of_an_answer_does_not_ask_for_it() -> None:
    assert asked("What were ferry fares in 2031 and 2029?", told="") == "[1204, 900]"


@pytest.mark.parametrize(
    ("remark", "scale"),
    [
        ("(in millions, except per share data)", " million"),
        ("($ in millions)", " million"),
        ("€m", " million"),
        ("£’000", " thousand"),
        ("US$ million", " million"),
        ("$", ""),
        ("Harbour", ""),
    ],
)
def test_a_scale_is_read_from_the_headers_first_cell(remark: str, scale: str) -> None:
    text = f"# Report 20018\n\n| {remark} | 2031 | 2030 |\n| --- | --- | --- |\n| Ferry fares | 7 | 5 |"
    assert asked("What were ferry fares in 2031?", text) == f"7{scale}"


def test_a_scale_is_read_from_a_remark_before_the_table_where_nothing_nearer_states_one() -> None:
    prose = "The table shows fares of all ferries by year and by what they were taken for at the pier (in millions):"
    text = f"# Report 20018\n\n{prose}\n\n|  | 2031 |\n| --- | --- |\n| Ferry fares | 7 |"
    assert asked("What were ferry fares in 2031?", text) == "7 million"


def test_a_day_stands_for_its_year_where_one_column_is_of_that_year_and_not_where_two_are() -> None:
    rows = "| --- | --- | --- |\n| Ferry fares | 7 | 5 |"
    text = f"# Report 20018\n\n|  | December 27, 2031 | December 28, 2030 |\n{rows}"
    assert asked("What were ferry fares in 2030?", text) == "5"
    assert asked("What were ferry fares in December 2031?", text) == "7"
    text = f"# Report 20018\n\n|  | June 30, 2031 | December 31, 2031 |\n{rows}"
    assert asked("What were ferry fares in 2031?", text) != "7"


@pytest.mark.parametrize("label", ["Berths", "(Berths)"])
def test_a_row_of_data_is_no_header_though_its_figures_look_like_years(label: str) -> None:
    rows = f"| {label} | 1990 | 1980 |\n| Piers | 3 | 2 |"
    text = f"# Report 20018\n\n| Item | 2031 | 2030 |\n| --- | --- | --- |\n{rows}"
    assert asked("What were the berths in 2030?", text) == "1980"


def test_only_the_document_that_a_question_names_by_its_number_is_asked_and_it_is_read_to_its_end() -> None:
    table = "\n| Item | 2031 |\n| --- | --- |\n| Ferry fares | {} |"
    documents = {
        "bcdfg": "# Report 200181\n\nIt follows report 20018." + table.format(9),
        "hjklm": "# Report 20018\n" + "\n" * 50 + table.format(7),
        "npqrs": "# Report 20017\n" + table.format(5),
    }
    told = ask(Library(documents=documents), "In report 20018: What were ferry fares in 2031?", BY_NAME)
    assert told.answer == "7"
    assert [call["query"] for call in told.made("search")] == ["report 20018"]
    assert {call["document"] for call in told.made("read")} == {"hjklm"}


def test_a_year_is_no_number_of_a_document_unless_it_says_so() -> None:
    table = "# Report {}\n\n| Item | 1980 | 1981 |\n| --- | --- | --- |\n| Ferry fares | {} | {} |"
    documents = {"bcdfg": table.format(1980, 5, 6), "hjklm": table.format(1981, 7, 8)}
    library = Library(documents=documents)
    assert ask(library, "What were ferry fares in report no. 1981 for 1980?", BY_NAME).answer == "7"
    assert ask(library, "What were ferry fares in the report 1981?", BY_NAME).answer == "6"


def test_without_being_told_so_the_number_is_a_word_to_search_with_and_the_first_table_that_matches_is_taken() -> None:
    table = "\n| Item | 2031 |\n| --- | --- |\n| Ferry fares | {} |"
    documents = {"bcdfg": "# Report 20017\n" + table.format(5), "hjklm": "# Report 20018\n" + table.format(7)}
    question = "In report 20018: What were ferry fares in 2031?"
    told = ask(Library(documents=documents), question)
    assert [call["query"] for call in told.made("search")] == ["ferry fares 2031 report 20018"]
    assert told.answer == "7"
    other = {**documents, "hjklm": "# Report 20018\n\nFerry fares of 2031 are old." + "\nSea." * 130 + table.format(7)}
    assert ask(Library(documents=other), question).answer == "5"
    assert ask(Library(documents=other), question, BY_NAME).answer == "7"
