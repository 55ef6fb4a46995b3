"""The forms in which a language model hands in feedback and candidates, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from chase.agents.submission import Submission, SubmissionForm
from chase.core.agents import CANDIDATE_TRACKS, Candidate, CandidateTrack
from chase.core.values import Json

MOST_FILES = 70
MOST_FREE = 20


class Feedback(SubmissionForm):
    """One feedback pass."""

    observations: list[str] = Field(max_length=50, description="what the history shows, with paths")
    hypotheses: list[str] = Field(max_length=50, description="why it may be so")
    improvements: list[str] = Field(default=[], max_length=50, description="what could be changed")


class FileText(SubmissionForm):
    path: str = Field(max_length=200, description="e.g. harness.toml or guidance/units.md")
    text: str = Field(description="the complete new text")


class FreeCandidateForm(SubmissionForm):
    """A candidate as changes of files, with the fields of the paper's table."""

    files: list[FileText] = Field(max_length=MOST_FILES, description="every file that is new or changes")
    remove: list[str] = Field(default=[], max_length=MOST_FILES, description="files that go")
    edits: list[str] = Field(max_length=50, description="each edit in a sentence")
    targeted_failures: list[str] = Field(max_length=50)
    activation: str = Field(max_length=2000, description="when the edits apply")
    stopping: str = Field(max_length=2000, description="when they stop")
    expected_tool_calls: float = Field(description="tool calls a task that it adds (or saves: below 0)")
    regression_risks: list[str] = Field(max_length=50)


class TrackForm(SubmissionForm):
    track: CandidateTrack


class CandidateForm(FreeCandidateForm, TrackForm):
    """A candidate of a track, which stands first in the form."""


class Drafts(SubmissionForm):
    """One candidate of each track that is due."""

    candidates: list[CandidateForm] = Field(max_length=3)
    due: ClassVar[tuple[CandidateTrack, ...]] = ("structural", "guidance")

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if sorted(form.track for form in self.candidates) != sorted(self.due):
            raise ValueError(f"candidates: one of each track is due: {', '.join(self.due)}")
        return self

    @classmethod
    def salvaged(cls, arguments: Mapping[str, Any]) -> Self | None:
        """The candidates that fit, the first of each track, without the others."""
        given = arguments.get("candidates")
        found: dict[str, CandidateForm] = {}
        for candidate in given[:6] if isinstance(given, list) else ():
            try:
                form = CandidateForm.model_validate(candidate)
            except ValidationError:
                continue
            found.setdefault(form.track, form)
        kept: dict[str, Any] = {"candidates": list(found.values())}
        return cls.model_construct(**kept) if found else None


class Candidates(Drafts):
    due: ClassVar[tuple[CandidateTrack, ...]] = CANDIDATE_TRACKS


class FreeCandidates(SubmissionForm):
    """Candidates without tracks, as many as are due or fewer."""

    candidates: list[FreeCandidateForm] = Field(min_length=1)

    @classmethod
    def salvaged(cls, arguments: Mapping[str, Any]) -> Self | None:
        """The candidates that fit, without the others."""
        given = arguments.get("candidates")
        found: list[FreeCandidateForm] = []
        for candidate in given[:MOST_FREE] if isinstance(given, list) else ():
            with suppress(ValidationError):
                found.append(FreeCandidateForm.model_validate(candidate))
        return cls.model_construct(candidates=found) if found else None


FEEDBACK = Submission(name="give_feedback", description="Hand in a feedback pass.", form=Feedback)
DRAFTS = Submission(name="draft_candidates", description="Hand in the first two candidates.", form=Drafts)
CANDIDATES = Submission(name="submit_candidates", description="Hand in the three candidates.", form=Candidates)
FREE = Submission(name=CANDIDATES.name, description="Hand in the candidates.", form=FreeCandidates)


def submission_of(tracks: tuple[CandidateTrack, ...]) -> Submission[Any]:
    """How the candidates of a round are handed in at its end: `Drafts` of these tracks, or `FreeCandidates`."""
    if not tracks:
        return FREE
    if tracks == CANDIDATE_TRACKS:
        return CANDIDATES

    class Due(Drafts):
        due: ClassVar[tuple[CandidateTrack, ...]] = tracks

    return Submission(name=CANDIDATES.name, description="Hand in the candidates.", form=Due)


def candidates_of(
    forms: Drafts | FreeCandidates, base: Mapping[str, str], stamp: Mapping[str, Json]
) -> list[Candidate]:
    """The candidates that forms describe as changes of a base harness's files, in the order of the tracks."""
    given = [(form.track if isinstance(form, CandidateForm) else None, form) for form in forms.candidates]
    made: list[Candidate] = []
    for track, form in sorted(given, key=lambda each: 0 if each[0] is None else CANDIDATE_TRACKS.index(each[0])):
        files = {path: text for path, text in base.items() if path not in form.remove}
        files |= {file.path: file.text for file in form.files}
        record = form.model_dump(mode="json", exclude={"track", "files", "remove"})
        changed = sorted({file.path for file in form.files} | set(form.remove))
        made.append(Candidate(track=track, files=files, record={**record, "changed_files": changed, **stamp}))
    return made
