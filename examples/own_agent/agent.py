"""An agent with a loop of its own: it opens at most seven of a Syn-Ledger task's files and works the answer out.

How it chooses the files is its one argument:

    chance     in an order drawn from the task's seed
    shallow    those first that lie least deep, and of these those with short names
    search     those first that the benchmark's search tool says match the question (over MCP)

Plain Python, nothing of CHASE. `docs/own-agent.md` audits it.
"""

import csv
import io
import json
import random
import re
import subprocess
import sys
from pathlib import Path

MOST_OPENED = 7
FIELDS = ("entity", "period", "category", "status", "version", "basis", "amount")
WANTED = {"status": "approved", "version": "prevailing", "basis": "enacted"}
QUESTIONS = {
    r"what do the (.+) and the (.+) in (FY\d+) add up to": lambda a, b, p: ([(a, p), (b, p)], lambda x, y: x + y),
    r"by how much does the (.+) in (FY\d+) exceed the (.+) in (FY\d+)": lambda a, p, b, q: (
        [(a, p), (b, q)], lambda x, y: x - y,
    ),
    r"how far is the (.+) in (FY\d+) above the (.+) plus the (.+)": lambda a, p, b, c: (
        [(a, p), (b, p), (c, p)], lambda x, y, z: x - y - z,
    ),
    r"what is left in (FY\d+) of the (.+) plus the (.+) after the (.+)": lambda p, a, b, c: (
        [(a, p), (b, p), (c, p)], lambda x, y, z: x + y - z,
    ),
    r"what percentage of the (.+) in (FY\d+) is the (.+)": lambda a, p, b: (
        [(a, p), (b, p)], lambda x, y: round(100 * y / x),
    ),
}  # fmt: skip


def understood(question):
    """The entity, the (category, period) of each record that is needed, and what to do with the amounts."""
    entity, asked = re.match(r"For (.+?), (.+?)\?", question).groups()
    for pattern, meaning in QUESTIONS.items():
        if found := re.fullmatch(pattern, asked):
            return entity, *meaning(*found.groups())
    raise SystemExit(f"not understood: {question}")


def records(text):
    """The records of a file: a Markdown table, CSV, or lines of names and values."""
    lines = [line.strip() for line in text.splitlines()]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    rows = rows or [row for row in csv.reader(io.StringIO("\n".join(lines))) if len(row) == len(FIELDS)]
    for row in rows:
        yield dict(zip(FIELDS, row, strict=False))
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    current = {}
    for name, value in ((name.strip().lower(), value.strip()) for name, value in pairs):
        if name in FIELDS:
            current[name] = value
            if len(current) == len(FIELDS):
                yield current
                current = {}


class Tools:
    """The benchmark's tools: an MCP client over stdio in a few lines."""

    def __init__(self):
        server = json.loads(Path("mcp.json").read_text())["mcpServers"]["benchmark"]
        words = [server["command"], *server["args"]]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        self.sent = 0
        self.ask("initialize", about)
        self.tell({"method": "notifications/initialized"})

    def tell(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, parameters):
        self.sent += 1
        self.tell({"id": self.sent, "method": method, "params": parameters})
        for line in self.process.stdout:
            if (reply := json.loads(line)).get("id") == self.sent:
                return reply["result"]
        raise SystemExit("the tools are gone")

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["content"][0]["text"]


def in_order(how, task, files, entity, needed):
    """The files in the order in which they are opened."""
    if how == "shallow":
        return sorted(files, key=lambda path: (path.count("/"), len(path.rsplit("/", 1)[-1])))
    shuffled = random.Random(task["seed"]).sample(files, len(files))
    if how == "chance":
        return shuffled
    if how != "search":
        raise SystemExit(f"how='{how}' is none of chance, shallow, search")
    tools, first = Tools(), []
    for category, period in needed:
        hits = tools.call("search", query=f"{entity} {period} {category}", limit=7).splitlines()
        matching = [line for line in hits if line.endswith(" matches")]
        first += [path for path in files if any(path in line for line in matching) and path not in first]
    return first + [path for path in shuffled if path not in first]


def main():
    task = json.loads(Path("task.json").read_text())
    listing = [json.loads(line) for line in Path("listing.jsonl").read_text().splitlines()]
    files = [file["path"] for file in sorted(listing, key=lambda file: file["id"])]
    entity, needed, work_out = understood(task["question"])
    found = {}
    for path in in_order(sys.argv[1], task, files, entity, needed)[:MOST_OPENED]:
        for record in records((Path("documents") / path).read_text()):
            key = record["category"], record["period"]
            if record["entity"] == entity and key in needed and all(record[k] == v for k, v in WANTED.items()):
                found[key] = int(record["amount"].replace("−", "-"))
        if len(found) == len(needed):
            Path("answer.txt").write_text(str(work_out(*(found[key] for key in needed))))
            return
    Path("answer.txt").write_text("0")


main()
