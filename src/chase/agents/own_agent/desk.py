"""The folder of one rollout: the question, the documents as they are rendered, how to reach the tools.

```
README.md         what is here, and what to leave
task.json         question, form of the answer, limits, seed
question.txt      the question alone
listing.jsonl     id and path of each document, in the order of the listing
documents/…       the documents, under their paths
mcp.json          how to start the MCP server with the benchmark's tools
mcp_relay.py      that server: it passes bytes on to mcp.sock
agent/            the declared folder, read-only
answer.txt        what the agent leaves
usage.json        what it may leave: the tokens that it used
```

Nothing here says which task, variant or role it is. Files are made in the order of their names and have one time.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path, PurePosixPath

from chase.agents.confinement import DESK, TEMPORARY
from chase.agents.history import WRITTEN
from chase.core.errors import IntegrityError
from chase.core.outside import valid_unicode
from chase.core.own_agents import Posed

AGENT, DOCUMENTS, ANSWER, USAGE, SOCKET, RELAY = (
    "agent", "documents", "answer.txt", "usage.json", "mcp.sock", "mcp_relay.py",
)  # fmt: skip
DOCUMENT_BYTES = 32 << 20
"""Larger collections are reached by the tools alone."""
ANSWER_BYTES = 64 << 10
README = f"""\
Answer the question in `question.txt` from the documents, and write the answer, and nothing else, to `{ANSWER}`.

- `task.json`: the question, the form of the answer, limits, and a seed for whatever you draw.
- `{DOCUMENTS}/`: the documents; `listing.jsonl` has their ids in the order of the listing. Where there is no such
  folder the collection is too large to be copied: use the tools.
- `mcp.json`: the benchmark's tools as an MCP server (stdio), in the usual form. Calls are counted and limited.
- `{AGENT}/`: your own files, read-only.
- `{USAGE}`, if you like: `{{"usage": {{"input_tokens": 0, "output_tokens": 0}}, "total_cost_usd": 0.0, "model": "…"}}`.
"""


class RolloutDesk:
    """One rollout's folder. The host lays it out before the agent runs and reads it after."""

    def __init__(self, root: Path, posed: Posed) -> None:
        self.root = root
        self._posed = posed

    @property
    def socket(self) -> Path:
        return self.root / SOCKET

    def lay_out(self, *, unconfined_agent: Path | None) -> None:
        """Write everything. Without confinement the agent's folder is copied to the desk, else it is mounted there."""
        place = DESK if unconfined_agent is None else str(self.root)
        server = {"command": "python3", "args": [f"{place}/{RELAY}"]}
        listing = [{"id": file.id, "path": file.path} for file in self._posed.view.files]
        written = {
            "README.md": README,
            "listing.jsonl": "".join(f"{json.dumps(line)}\n" for line in listing),
            "mcp.json": json.dumps({"mcpServers": {"benchmark": server}}, indent=2),
            RELAY: (files("chase.agents.own_agent") / "relay.txt").read_text(encoding="utf-8"),
            "question.txt": f"{self._posed.view.question}\n",
            "task.json": json.dumps(self._task(), indent=2),
            **self._documents(),
        }
        for name, text in sorted(written.items()):
            path = self.root / PurePosixPath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(valid_unicode(text).encode())
        for folder, _, names in os.walk(self.root, topdown=False):
            for path in (*(Path(folder, name) for name in names), Path(folder)):
                os.utime(path, (WRITTEN, WRITTEN))
        (self.root / TEMPORARY).mkdir(parents=True)
        if unconfined_agent is None:
            (self.root / AGENT).mkdir()
        else:
            shutil.copytree(unconfined_agent, self.root / AGENT, symlinks=True)

    def folders(self) -> list[Path]:
        """Those with documents in them."""
        return [Path(folder) for folder, _, names in os.walk(self.root / DOCUMENTS) if names]

    def answer(self) -> str | None:
        """The answer that the agent left: of a plain file, as long as an answer can be."""
        text = self.left(ANSWER, ANSWER_BYTES)
        return text.strip() or None if text is not None else None

    def left(self, name: str, most: int) -> str | None:
        """A text that the agent left at the top of its folder. No link is followed and no pipe is opened."""
        path = self.root / name
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                return None
            # The flags hold the check above against a file that is exchanged in between.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                content = file.read(most + 1)
        except OSError:
            return None
        return content.decode("utf-8", "replace") if len(content) <= most else None

    def _task(self) -> dict[str, object]:
        limits = asdict(self._posed.environment.limits)
        calls = {"total": limits["total_calls"], **limits["group_calls"]}
        return {
            "question": self._posed.view.question,
            "answer": self._posed.answer_form.instruction,
            "answer_pattern": self._posed.answer_form.pattern,
            "limits": {"seconds": limits["wall_seconds"], "tool_calls": calls},
            "seed": self._posed.seed,
        }

    def _documents(self) -> dict[str, str]:
        found, size = {}, 0
        for file in self._posed.view.files:
            path = PurePosixPath(file.path)
            if path.is_absolute() or ".." in path.parts:
                raise IntegrityError(f"document {file.id} has a path that leads out of its folder: {file.path}.")
            text = file.text
            size += len(text)
            if size > DOCUMENT_BYTES:
                return {}
            found[f"{DOCUMENTS}/{path}"] = text
        return found
