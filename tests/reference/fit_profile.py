#!/usr/bin/env python3
"""Fits the efficiencies of a hardware profile to published steps: one set of numbers for all cases of a device.

    fit_profile.py A100-80 [--write A100-40] [--without korthikanti-tab5] [--start H100] [--rounds 3] [--build build/dev]

What is fitted are the points of the efficiency curves of products, attention and passes over memory. Each number in turn is made a little larger and smaller; what lowers the error stays (coordinate descent). The error is the mean
of |log(ours / published)|, at most 0.3 for each figure, so that a measurement that nothing explains pulls no more than others; figures of
sources in WEIGHTS count several times, and no other source counts more than MOST_FIGURES figures. Neighbouring points move together as well, as curves keep rising; a small price on every change keeps numbers where no figure speaks. --without
leaves a source out, to see how well the rest predicts it, and writes nothing; with --start H100 the curves begin as those of another device, which
saw no figure of this one, and changes cost nothing.
"""

import argparse
import collections
import json
import math
import tempfile
from pathlib import Path

import accuracy
import accuracy_cases

PROFILES = accuracy.ROOT / "sim/timing/hardware"
WEIGHTS = {"korthikanti-tab5": 8}
MOST_FIGURES = 20
SOURCE = "tests/reference/fit_profile.py on published steps (docs/accuracy.md)"
# Older software than the rest of the device's sources, or exchanges that are no property of a device: predicted, never fitted.
HELD_OUT = ("ptdp-jan2021", "ptdp-zero3")
MOST_ERROR, CHANGE_PRICE = 0.3, 0.003
# Nobody has measured more: FlashAttention reaches 0.72 of an A100 (arXiv 2307.08691) and 0.75 of an H100 (arXiv 2407.08608).
MOST_EFFICIENT = {"product": 0.95, "attention": 0.75, "vector": 0.95}
# Nor does a product of 128 GFLOP reach less than half of the peak on any device that was measured (stas00/ml-engineering: compute/accelerator/README.md); what such
# steps lose besides is not the products'.
LEAST_EFFICIENT = {("product", 2): 0.35, ("product", 3): 0.5}


def knobs(profile):
    """Paths of the numbers that are fitted into the document."""
    found = []
    for kind in ("product", "attention", "vector"):
        for index in range(len(profile["efficiency"][kind]["points"])):
            found.append(("efficiency", kind, "points", index, 1))
    return found


def at(document, path):
    for key in path[:-1]:
        document = document[key]
    return document, path[-1]


def spans(profile):
    """(kind, first, last) of points that move together: each alone, and all up to or from one."""
    found = []
    for kind in ("product", "attention", "vector"):
        count = len(profile["efficiency"][kind]["points"])
        found += [(kind, index, index) for index in range(count)]
        found += [(kind, first, last) for first in range(count) for last in range(first + 1, count) if first == 0 or last == count - 1]
    return found


def plausible(kind, values):
    return (all(a <= b + 1e-9 for a, b in zip(values, values[1:])) and
            all(value >= LEAST_EFFICIENT.get((kind, index), 0) for index, value in enumerate(values)))


class Fit:
    def __init__(self, name, rows, program, start):
        self.rows, self.program, self.name = rows, program, name
        self.price = 0 if start else CHANGE_PRICE
        counts = collections.Counter(row.source for row in rows)
        self.weights = {source: WEIGHTS.get(source, min(1, MOST_FIGURES / count)) for source, count in counts.items()}
        self.start = json.loads((PROFILES / f"{name}.json").read_text())
        if start:
            self.start["efficiency"] = json.loads((PROFILES / f"{start}.json").read_text())["efficiency"]

    def score(self, profile):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "profile.json"
            file.write_text(json.dumps(profile))
            results = accuracy.compare(self.rows, accuracy.Estimator(self.program, {self.name: str(file)}))
        total = weight = 0.0
        for row, ours, _ in results:
            if ours:
                share = self.weights[row.source]
                total += share * min(abs(math.log(ours / row.published)), MOST_ERROR)
                weight += share
        for path in knobs(profile):
            mine, key = at(profile, path)
            first, _ = at(self.start, path)
            total += self.price * weight / 10 * abs(math.log(mine[key] / first[key]))
        return total / max(weight, 1)

    def run(self, rounds):
        profile = json.loads(json.dumps(self.start))
        best = self.score(profile)
        print(f"{self.name}: {len(self.rows)} figures, error {best:.4f}", flush=True)
        for step in [1.16, 1.08, 1.04, 1.02][-rounds:]:
            for span in spans(profile):
                best = self.improve(profile, span, step, best)
            print(f"step {step}: error {best:.4f}", flush=True)
        return profile

    def improve(self, profile, span, step, best):
        kind, first, last = span
        points = profile["efficiency"][kind]["points"]
        for factor in (step, 1 / step):
            while True:
                before = [point[1] for point in points]
                values = [min(float(f"{value * factor:.3g}"), MOST_EFFICIENT[kind]) if first <= index <= last else value for index, value in enumerate(before)]
                if values == before or not plausible(kind, values):
                    break
                for point, value in zip(points, values):
                    point[1] = value
                score = self.score(profile)
                if score >= best - 1e-6:
                    for point, value in zip(points, before):
                        point[1] = value
                    break
                best = score
        return best


def copy_fitted(source, target):
    """The fitted numbers of one profile in another file of the same chip."""
    document = json.loads(target.read_text())
    for path in knobs(document):
        mine, key = at(source, path)
        theirs, _ = at(document, path)
        if theirs[key] != mine[key]:
            theirs[key] = mine[key]
            document["efficiency"][path[1]].update(origin="fitted", source=SOURCE)
    target.write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile")
    parser.add_argument("--write", action="append", default=[], help="further profiles of the same chip that get the numbers")
    parser.add_argument("--without", default="")
    parser.add_argument("--start", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default=str(accuracy.ROOT / "build/dev"))
    options = parser.parse_args()
    rows, _ = accuracy_cases.rows_of(accuracy.document(accuracy.ROOT / "tests/vectors/published.json"))
    rows = [row for row in rows if row.what == "time" and row.request["hardware"] == options.profile]
    fitted = [row for row in rows if row.source not in HELD_OUT and row.source != options.without]
    fit = Fit(options.profile, fitted, f"{options.build}/bin/drydock", options.start)
    profile = fit.run(options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        file.write_text(json.dumps(profile))
        results = accuracy.compare(rows, accuracy.Estimator(f"{options.build}/bin/drydock", {options.profile: str(file)}))
    for source, count, mean, worst, _, bias in accuracy.table(results, "time"):
        print(f"  {source:28} {count:4} {mean:7.2f} {worst:8.2f} {bias:+8.2f}{'  left out' if source == options.without else ''}")
    if not options.without:
        for name in [options.profile, *options.write]:
            copy_fitted(profile, PROFILES / f"{name}.json")


if __name__ == "__main__":
    main()
