"""The offline Proposer: an optimiser that mines traces. No language model."""

from chase.proposers.mining.proposer import MiningProposer

__all__ = ["MiningProposer"]
