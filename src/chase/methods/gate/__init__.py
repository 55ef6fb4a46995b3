"""The fixed generalization gate: named, executable checks between a candidate's generation and its evaluation."""

from chase.methods.gate.gate import GeneralizationGate
from chase.methods.gate.known import Known
from chase.methods.gate.leaks import LEAKS, leaks
from chase.methods.gate.scan import Scan

__all__ = ["LEAKS", "GeneralizationGate", "Known", "Scan", "leaks"]
