"""CHASE: Counterfactual Harness Search and Evolution."""

__version__ = "0.1.0"
