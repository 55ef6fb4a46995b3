"""The published releases in figures, and a sample's own figures where its folder says that it is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from chase.core.errors import UserError, choose

Release = Literal["full", "pro-v2"]
MANIFEST = "sample.json"
FOLDERS: Mapping[Release, str] = {"full": "treasury_bulletins_parsed/transformed", "pro-v2": "parsed_corpus/jsons"}
"""Where a release's documents are in a data folder."""
SAMPLE_SCHEMA = "chase.officeqa-sample/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseFacts:
    """What a release must hold. None: the paper states no figure."""

    name: Release
    csv: str
    questions: int
    documents: int
    source_files: int | None
    components: int | None


RELEASES: Mapping[Release, ReleaseFacts] = {
    "full": ReleaseFacts(
        name="full", csv="officeqa_full.csv", questions=246, documents=697, source_files=296, components=100
    ),
    "pro-v2": ReleaseFacts(
        name="pro-v2", csv="officeqa_pro_v2.csv", questions=90, documents=1435, source_files=None, components=None
    ),
}
"""The paper's figures ("Preprocessing and Task Allocation")."""


def release_named(name: str) -> Release:
    """The release of a name that a user wrote."""
    choose("release", name, RELEASES)
    return "full" if name == "full" else "pro-v2"


def facts(data: Path, release: Release) -> ReleaseFacts:
    """What a data folder's release must hold: its sample manifest's figures where there is one, else the published."""
    file = data / MANIFEST
    return _of_sample(file, release) if file.exists() else RELEASES[release]


def _of_sample(file: Path, release: Release) -> ReleaseFacts:
    stated = _releases_of(file).get(release)
    if not isinstance(stated, dict):
        raise UserError(f"{file} describes no release '{release}'. Make one with `chase officeqa sample`.")
    return ReleaseFacts(
        name=release,
        csv=RELEASES[release].csv,
        questions=_count(file, stated, "questions"),
        documents=_count(file, stated, "documents"),
        source_files=_count(file, stated, "source_files") if "source_files" in stated else None,
        components=_count(file, stated, "components") if "components" in stated else None,
    )


def _releases_of(file: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file} cannot be read as JSON: {error}. Make the sample again.") from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SAMPLE_SCHEMA:
        raise UserError(f"{file} has no schema={SAMPLE_SCHEMA}. Make the sample again, or take the file away.")
    releases = manifest.get("releases")
    return releases if isinstance(releases, dict) else {}


def _count(file: Path, stated: Mapping[str, Any], key: str) -> int:
    value = stated.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserError(f"{file}: {key}={value!r} is no count. Make the sample again with `chase officeqa sample`.")
    return value
