#!/usr/bin/env python3
"""What publications measured beside what the closed forms of `drydock plan` say of the same configurations.

    accuracy.py [--page docs/accuracy.md] [--build build/dev] [--vectors FILE_OR_FOLDER] [--only SOURCE] [--rows]

Cases come from tests/vectors/published.json, or from the file or folder that --vectors or DRYDOCK_VECTORS names (same schema). Nothing is
fitted to a case: what a device reaches stands in its profile (sim/timing/hardware), one number for all cases of that device.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import accuracy_cases

ROOT = Path(__file__).resolve().parents[2]
GOALS = {"memory": (2.0, 5.0), "time": (3.5, 9.0)}


def document(where):
    path = Path(where)
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        found = [json.loads(file.read_text()) for file in files]
        found = [one for one in found if isinstance(one, dict) and str(one.get("format", "")).startswith("published-cases/")]
    else:
        found = [json.loads(path.read_text())]
    if not found:
        sys.exit(f"accuracy: no document of format published-cases/1 in {where}")
    return {"cases": [case for one in found for case in one.get("cases", [])],
            "series": [series for one in found for series in one.get("series", [])],
            "sources": {key: value for one in found for key, value in one.get("sources", {}).items()}}


class Estimator:
    """Asks `drydock estimate` all at once; a line that it refuses is asked for alone, to learn why."""

    def __init__(self, program, hardware=None):
        self.program = program
        self.hardware = hardware or {}

    def profile(self, request, folder):
        """The file of the request's profile, with the network of its source where that states another."""
        name, rate = request["hardware"], request.get("between_nodes")
        path = self.hardware.get(name)
        if not rate:
            return path or name
        made = Path(folder) / f"{name}-{rate:.0f}.json"
        if not made.exists():
            found = json.loads(Path(path or ROOT / "sim/timing/hardware" / f"{name}.json").read_text())
            for level in found["levels"]:
                if level["name"] in ("rail", "spine"):
                    level["bytes_per_second"]["value"] = rate
            made.write_text(json.dumps(found))
        return str(made)

    def ask(self, requests):
        answers = []
        with tempfile.TemporaryDirectory() as folder:
            pending = [json.dumps({**request, "hardware": self.profile(request, folder)}) for request in requests]
            file = Path(folder) / "requests.jsonl"
            while pending:
                file.write_text("\n".join(pending) + "\n")
                done = subprocess.run([self.program, "estimate", str(file)], capture_output=True, text=True, check=False)
                good = [json.loads(line) for line in done.stdout.splitlines()]
                answers += good
                pending = pending[len(good):]
                if pending and done.returncode != 0:
                    answers.append({"error": done.stderr.strip().splitlines()[0].split("error: ")[-1]})
                    pending = pending[1:]
        return answers


def with_micro_batch(request, micro):
    words = [f"mb{micro}" if word.startswith("mb") else word for word in request["plan"].split()]
    return {**request, "plan": " ".join(words)}


def compare(rows, estimator):
    """[(row, ours or None, reason)]; of candidates, the fastest that fits the device."""
    requests, spans = [], []
    for row in rows:
        variants = [with_micro_batch(row.request, micro) for micro in row.candidates] or [row.request]
        plain = [{key: value for key, value in one.items() if key != "beside"} for one in variants]
        beside = [row.request["beside"]] if "beside" in row.request else []
        spans.append((len(requests), len(plain), len(beside)))
        requests += plain + beside
    answers = estimator.ask(requests)
    results = []
    for row, (start, count, beside) in zip(rows, spans):
        good = [answer for answer in answers[start:start + count] if "error" not in answer]
        if not good:
            results.append((row, None, answers[start]["error"]))
            continue
        fitting = [answer for answer in good if accuracy_cases.stage_peak(answer) <= answer.get("usable_bytes", 1e18)] or good
        best = min(fitting, key=lambda answer: answer.get("step_seconds", 0))
        if beside:
            best = {**best, "beside": answers[start + count]}
        results.append((row, row.ours(best), ""))
    return results


def errors(results, what):
    return [abs(ours / row.published - 1) * 100 for row, ours, _ in results if row.what == what and ours is not None]


def table(results, what):
    by_source = collections.defaultdict(list)
    for row, ours, _ in results:
        if row.what == what and ours is not None:
            by_source[row.source].append(ours / row.published - 1)
    lines = []
    for source, found in sorted(by_source.items()):
        sizes = [abs(error) * 100 for error in found]
        within = sum(size <= GOALS[what][1] for size in sizes)
        bias = 100 * sum(found) / len(found)
        lines.append((source, len(sizes), sum(sizes) / len(sizes), max(sizes), within, bias))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", default="")
    parser.add_argument("--build", default=str(ROOT / "build" / "dev"))
    parser.add_argument("--vectors", default=os.environ.get("DRYDOCK_VECTORS") or str(ROOT / "tests/vectors/published.json"))
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", action="store_true", help="print every figure")
    options = parser.parse_args()
    found = document(options.vectors)
    rows, left_out = accuracy_cases.rows_of(found)
    rows = [row for row in rows if options.only in row.source]
    results = compare(rows, Estimator(f"{options.build}/bin/drydock"))
    for what in ("memory", "time"):
        print(f"{what}: source, figures, mean %, worst %, within goal, bias %")
        for source, count, mean, worst, within, bias in table(results, what):
            print(f"  {source:28} {count:4} {mean:7.2f} {worst:8.2f} {within:4} {bias:+8.2f}")
        all_errors = errors(results, what)
        if all_errors:
            print(f"  {'all':28} {len(all_errors):4} {sum(all_errors) / len(all_errors):7.2f} {max(all_errors):8.2f}")
    if options.rows:
        for row, ours, reason in results:
            shown = "-" if ours is None else f"{ours:10.3f} {100 * (ours / row.published - 1):+7.2f} %"
            print(f"{row.what:6} {row.source:24} {row.name[:80]:80} {row.published:10.3f} {row.unit:8} {shown} {reason} {row.request['plan']}")
        for one in left_out:
            print("left out:", one.source, one.name, one.reason)
    print(f"left out: {len(left_out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
