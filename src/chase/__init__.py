"""CHASE: Counterfactual Harness Search and Evolution."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from chase.api import (
        analyze,
        audit,
        certify,
        compare,
        evolve,
        forecast_audit,
        forecast_compare,
        forecast_evolve,
        forecast_repair,
        initial_harness,
        load_harness,
        open_benchmark,
        plan,
        python_agent,
        repair,
        rollout,
        scan,
        write_report,
    )

__all__ = [
    "__version__",
    "analyze",
    "audit",
    "certify",
    "compare",
    "evolve",
    "forecast_audit",
    "forecast_compare",
    "forecast_evolve",
    "forecast_repair",
    "initial_harness",
    "load_harness",
    "open_benchmark",
    "plan",
    "python_agent",
    "repair",
    "rollout",
    "scan",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """What the API offers, imported when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'chase' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("chase.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
