"""Reference trajectories: made with the answer in a role of their own, verified, and handed on without it."""

from chase.methods.references.desk import Reference, ReferenceDesk, ReferenceOptions, Verified
from chase.methods.references.jobs import REFERENCE

__all__ = ["REFERENCE", "Reference", "ReferenceDesk", "ReferenceOptions", "Verified"]
