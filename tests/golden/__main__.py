"""`python -m tests.golden`: writes the golden file anew. Only for a commit that changes behaviour on purpose."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.golden.record import GOLDEN, record

with tempfile.TemporaryDirectory() as folder:
    GOLDEN.write_text(json.dumps(record(Path(folder)), indent=1, sort_keys=True) + "\n", encoding="utf-8")
