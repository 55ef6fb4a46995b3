"""A scripted stand-in for llama.cpp's server: no model, no weights, the same words on its pipes and on HTTP.

For tests of what starts, asks and stops a server. It keeps of every slot what llama.cpp keeps, the last prompt, and
counts a token for four characters; what it answers follows from the request alone. The name of the file that it is told
to serve decides how it fares: `crashing.gguf`, `slow.gguf`, `dying.gguf` (with its second answer); with `prose.gguf` it
calls tools by JSON schema only, with `narrow.gguf` it refuses what its context cannot hold.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMAND = (sys.executable, "-m", "chase.testing.standin_llama")
CHARACTERS_A_TOKEN = 4


class Standin(ThreadingHTTPServer):
    """Serves as it was told to."""

    daemon_threads = True

    def __init__(self, wanted: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wanted = wanted
        self.slots = [""] * int(wanted["slots"])
        self.answered = 0

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A completion, with the slot that was asked for and how much of the prompt it had."""
        self.answered += 1
        if self.wanted["name"] == "dying.gguf" and self.answered == 2:
            os._exit(9)
        prompt = json.dumps(asked["messages"])
        kept = self.slots[asked["id_slot"]] if asked["cache_prompt"] else ""
        self.slots[asked["id_slot"]] = prompt
        usage = {
            "prompt_tokens": len(prompt) // CHARACTERS_A_TOKEN,
            "completion_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": _common(kept, prompt) // CHARACTERS_A_TOKEN},
        }
        message = self._message(asked)
        choices = [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}]
        return {"object": "chat.completion", "model": self.wanted["name"], "choices": choices, "usage": usage}

    def _message(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The first reply of a conversation searches; later ones, and those without tools, say which slot it was."""
        said = json.dumps({"id_slot": asked["id_slot"], "cache_prompt": asked["cache_prompt"]})
        first = not any(message["role"] == "assistant" for message in asked["messages"])
        call = {"name": "search", "arguments": {"query": "words"}}
        if "response_format" in asked:
            answer = {"name": "final_answer", "arguments": {"answer": said}}
            return {"content": json.dumps(call if first else answer)}
        if "tools" in asked and first and self.wanted["name"] != "prose.gguf":
            function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
            return {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
        return {"content": said}


def _common(kept: str, prompt: str) -> int:
    """How many characters two texts begin with together."""
    pairs = enumerate(zip(kept, prompt, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(kept), len(prompt)))


class _Handler(BaseHTTPRequestHandler):
    server: Standin
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(503 if self.server.wanted["name"] == "slow.gguf" else 200, {"status": "ok"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {self.server.wanted['key']}":
            self._send(401, {"error": {"message": "Invalid API Key", "code": 401}})
            return
        tokens, most = len(json.dumps(asked["messages"])) // CHARACTERS_A_TOKEN, self.server.wanted["context_tokens"]
        if self.server.wanted["name"] == "narrow.gguf" and tokens > most:
            said = f"request ({tokens} tokens) exceeds the available context size ({most} tokens), try increasing it"
            self._send(400, {"error": {"message": said, "code": 400, "type": "exceed_context_size_error"}})
            return
        self._send(200, self.server.answer(asked))

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def main() -> None:
    """Serve until stdin ends."""
    wanted = json.loads(sys.stdin.buffer.readline())
    if wanted["name"] == "crashing.gguf":
        sys.stderr.write("loading\nerror: tensor 'output.weight' is missing\n")
        time.sleep(0.1)
        sys.exit(3)
    server = Standin(wanted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(json.dumps({"address": f"http://127.0.0.1:{server.server_address[1]}"}) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
