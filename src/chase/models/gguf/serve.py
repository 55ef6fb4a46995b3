"""The process in which llama.cpp serves: `python -m chase.models.gguf.serve`, started by `server.py` alone.

The first line of stdin says what to serve, the one line of stdout where it is served. It ends when stdin ends: that is
when the process that started it closes the pipe, or is gone for whatever reason.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any


def main() -> None:
    """Serve until stdin ends."""
    wanted = json.loads(sys.stdin.buffer.readline())
    # Whatever llama.cpp prints belongs to the log.
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        server = _start(wanted)
    except RuntimeError as error:
        sys.exit(f"error: {error}")  # its log says why; a traceback would hide that
    told.write(json.dumps({"address": server.listening_address}) + "\n")
    told.close()
    sys.stdin.buffer.read()
    # Nothing is to be kept, and a request in the middle would hold up an orderly end.
    os._exit(0)


def _start(wanted: Mapping[str, Any]) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = wanted["path"]
    parameters.model_alias = {wanted["name"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [wanted["key"]]
    parameters.n_parallel = wanted["slots"]
    parameters.n_ctx = wanted["slots"] * wanted["context_tokens"]
    parameters.kv_unified = False  # so that each slot has its share, whatever the others read
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = wanted["threads"]
    parameters.use_jinja = True
    parameters.cache_ram_mib = 0  # else prompts that left a slot are kept, in gigabytes
    parameters.ui = False
    return xllamacpp.Server(parameters)


if __name__ == "__main__":
    main()
