"""The source files that a record names: directly, in the URLs of a Full record, or in the records of Pro V2."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chase.core.errors import UserError

MONTHS = ("january february march april may june july august september october november december").split()
_SEPARATOR = re.compile(r"[\n;,]")
_URL_END = re.compile(rf"/({'|'.join(MONTHS)})-(\d{{4}})-[^/?#]+/?(?:[?#].*)?", re.IGNORECASE)
_FIELD = re.compile(r"\s*\w+\s*=")
_EXTENSION = re.compile(r"\.(?:txt|json|pdf|md)$", re.IGNORECASE)


def stem(name: str) -> str:
    """A file's name without folder and extension: how sources and documents are matched."""
    return _EXTENSION.sub("", name.strip().replace("\\", "/").rsplit("/", 1)[-1])


def listed_files(text: str) -> tuple[str, ...]:
    """The stems in a list of file names, separated by line breaks, semicolons or commas."""
    return tuple(stem(part) for part in _parts(text))


def files_of_urls(text: str, where: str) -> tuple[str, ...]:
    """The stems that source URLs stand for: `…/{month}-{year}-{id}?page={n}` is `treasury_bulletin_{year}_{month}`."""
    return tuple(_file_of_url(part, where) for part in _parts(text))


def files_of_records(text: str, where: str) -> tuple[str, ...]:
    """The stems of Pro V2's records: `corpus_file=… | pdf_page_number=… | …`, separated by semicolons."""
    return tuple(_file_of_record(record, where) for record in _records(text))


def _parts(text: str) -> Iterator[str]:
    """The items of a list in a cell; brackets and quotes around them are no part of a name."""
    for part in _SEPARATOR.split(text.replace("\r", "\n")):
        if bare := part.strip(" \t[]'\""):
            yield bare


def _file_of_url(url: str, where: str) -> str:
    found = _URL_END.search(url)
    if not found:
        raise UserError(
            f"{where}: the source '{url[:200]}' names no file; its end must be /{{month}}-{{year}}-{{id}}?page={{n}}."
        )
    return f"treasury_bulletin_{found[2]}_{MONTHS.index(found[1].lower()) + 1:02}"


def _records(text: str) -> Iterator[str]:
    """A part that starts with no `field=` goes on with the description before it."""
    record = ""
    for part in re.split(r"[;\n]", text.replace("\r", "\n")):
        if record and _FIELD.match(part):
            yield record
            record = part
        else:
            record = f"{record};{part}" if record else part.strip()
    if record:
        yield record


def _file_of_record(record: str, where: str) -> str:
    fields = (field.partition("=") for field in record.split("|"))
    named = {key.strip(): value.strip() for key, _, value in fields}
    if not (name := stem(named.get("corpus_file", ""))):
        raise UserError(f"{where}: the source '{record.strip()[:200]}' names no file; write corpus_file=NAME in it.")
    return name
