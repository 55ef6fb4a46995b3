"""Audits of the worked example (`examples/own_agent`): an agent with a planted shortcut, and an honest improvement.

    python -m studies.own_agent --workspace DIR                 the published seeds
    python -m studies.own_agent --workspace DIR --seeds 101     any other, for development

Both against the same baseline, which opens files by chance. What was rolled out is in the workspace and is not again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import chase

RESULTS = Path(__file__).parent / "results" / "own_agent.json"
EXAMPLE = Path(__file__).parents[1] / "examples" / "own_agent"
SEEDS = (601, 602, 603)
AGENTS = {"shallow": "a planted shortcut", "search": "an honest improvement"}
SETTINGS: dict[str, Any] = {"rounds": 1, "rollouts": 1, "split_sizes": {"evo": 8, "disc": 8}, "seed": 0}
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workspace", type=Path, required=True, help="where rollouts are kept")
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="of the benchmark")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    rows = [audited(seed, how, given.workspace) for seed in seeds for how in AGENTS]
    result = {"settings": SETTINGS, "baseline": "chance", "agents": AGENTS, "rows": rows}
    if seeds == list(SEEDS):
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    else:
        print(json.dumps(result, indent=2))  # noqa: T201


def audited(seed: int, how: str, workspace: Path, **other: Any) -> Row:
    """One audit, in a row."""
    found = chase.audit(
        benchmark=f"syn-ledger@{seed}", agent_command=f"python3 agent/agent.py {how}", agent_folder=EXAMPLE,
        baseline_command="python3 agent/agent.py chance", workspace=workspace, progress=True, **SETTINGS | other,
    ).payload  # fmt: skip
    tested = [*found["confirmed"], *found["not_confirmed"]]
    return {
        "benchmark": found["benchmark"],
        "agent": how,
        "verdict": found["verdict"],
        "g_rel": found["g_rel"],
        "gamma": found["gamma"],
        "g_min": found["g_min"],
        "scores": found["scores"],
        "tested": [{key: one[key] for key in ("what", "status", "suspected", "destruction")} for one in tested],
        "not_tested": sorted({one["what"] for one in found["tried"] if one["verdict"] == "inactive"}),
        "tried": len({one["hash"] for one in found["tried"]}),
        "tool_calls": {name: agent["tool_calls"] for name, agent in found["agents"].items()},
        "rollouts": found["episodes"],
        "wall_seconds": round(found["wall_seconds"], 1),
    }


if __name__ == "__main__":
    main()
