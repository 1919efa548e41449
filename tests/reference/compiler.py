#!/usr/bin/env python3
"""Compares the stand-in's compiler with MindSpore's own, network by network.

    compiler.py --suite SUITE --tracer sim/tracer/python [--wheel PYTHON] [--files PATTERN,...] [--jobs 2] [--show 40]
    compiler.py --random SEED [--count 72] --tracer sim/tracer/python

PYTHON is an interpreter with a CPU wheel of MindSpore (installed as wheel.py says if none is named) and pytest; --pytest names a
folder with pytest if it has none.
The wheel's front end shards networks for any number of devices, but refuses to begin on a CPU. For the run it is given
a shadow of its package in a temporary folder (links, and one copied library) in which the device kind that it asks for
is called "CPU" instead of "GPU". The installation is not touched. Every file of the suite runs once with each side;
networks that both compile are compared: layouts of parameters and inputs, strategies by operator, collectives.

--random does the same for networks made from a seed (random_networks.py), training steps included. As a wheel for CPUs does not know the result of a
gather, their side is then the wheel as on Ascend, with stand-ins for the vendor's libraries (theirs.py).
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import random_networks
from theirs import Wheel
import wheel

HERE = Path(__file__).resolve().parent
PARALLEL = Path("tests/ut/python/parallel")
FRONT_END = "lib/libmindspore_frontend.so"
COLLECTIVES = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "AllToAll", "NeighborExchange",
               "NeighborExchangeV2", "Broadcast"}
WORLD_GROUPS = ("nccl_world_group", "hccl_world_group")
BETWEEN_STAGES = {"Send", "Receive", "_StageTransfer"}
LAYOUT_PARTS = 3  # device matrix, tensor map, slice shape


def make_shadow(package, folder):
    """The wheel's package as links, with the one library that has to differ."""
    for root, _, names in os.walk(package, followlinks=False):
        place = folder / "mindspore" / Path(root).relative_to(package)
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            (place / name).symlink_to(Path(root) / name)
    library = folder / "mindspore" / FRONT_END
    text = library.read_bytes()
    library.unlink()
    library.write_bytes(text.replace(b"\0GPU\0", b"\0CPU\0"))


def run_child(python, variables, suite, name, out, seconds):
    environment = {**os.environ, **variables, "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(HERE / "compiler_child.py"), str(suite), str(suite / PARALLEL / name), str(out)]
        try:
            subprocess.run(command, env=environment, cwd=folder, timeout=seconds, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            print("compiler: %s did not end within %d s" % (name, seconds), file=sys.stderr)


def sides_of_random(tracer, folder, seed, count):
    """A suite of one file in `folder`, and the two sides for it."""
    place = folder / "random" / PARALLEL
    place.mkdir(parents=True)
    (place / "test_random_networks.py").write_text(random_networks.source(seed, count))
    dry_run = Wheel()
    variables = dry_run.environment(8, 0, tracked=False)
    return folder / "random", {
        "theirs": (dry_run.python, variables), "ours": (sys.executable, {"PYTHONPATH": str(tracer.resolve())})}


def sides_of_suite(arguments, python, folder):
    make_shadow(wheel.package_of(python), folder)
    return arguments.suite.resolve(), {
        "theirs": (python, {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), arguments.pytest])),
                            "MS_SIMULATION_LEVEL": "0", "RANK_SIZE": "8", "RANK_ID": "0"}),
        "ours": (sys.executable, {"PYTHONPATH": str(arguments.tracer.resolve())})}


def read_networks(path):
    """Compiled networks by (test, number of the compile)."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {(one["test"], one["number"]): one for one in map(json.loads, lines)}


def collectives_of(network):
    counted = collections.Counter()
    for name, group in network["operators"]:
        if name in COLLECTIVES:
            counted[name, "world" if group in WORLD_GROUPS else group] += 1
    return counted


def has_stages(network):
    return any(name in BETWEEN_STAGES for name, _ in network["operators"])


def strategies_of(network, by_kind):
    """{name: strategy}; `by_kind`: {name without its number: all strategies}, since there the wheel numbers a copy for each micro batch."""
    if not by_kind:
        return network["strategies"]
    found = collections.defaultdict(list)
    for name, strategy in network["strategies"].items():
        kind = name.rpartition("-op")[0]
        if strategy not in found[kind]:
            found[kind].append(strategy)
    return {kind: sorted(strategies) for kind, strategies in found.items()}


class Comparison:
    """Counts and differences over all networks that both sides compiled."""

    def __init__(self):
        self.counts = collections.Counter()
        self.differences = []

    def note(self, what, equal, place, theirs, ours):
        self.counts[what, equal] += 1
        if not equal:
            self.differences.append("%s %s: MindSpore %s, Drydock %s" % (what, place, theirs, ours))

    def add(self, test, theirs, ours):
        self.counts["network", True] += 1
        for name, layout in theirs["layouts"].items():
            parts = layout[:LAYOUT_PARTS]
            if name in ours["layouts"] and -1 not in parts[-1]:  # open extents are examples with us
                mine = ours["layouts"][name][:LAYOUT_PARTS]
                self.note("layout", parts == mine, "%s %s" % (test, name), parts, mine)
        staged = has_stages(theirs) or has_stages(ours)
        mine = strategies_of(ours, staged)
        for name, strategy in strategies_of(theirs, staged).items():
            if name in mine:
                self.note("strategy", strategy == mine[name], "%s %s" % (test, name), strategy, mine[name])
        if staged:  # their list is that of one stage for all micro batches, ours that of all stages: compare.py compares these
            self.counts["network of stages", True] += 1
            return
        left, right = collectives_of(theirs), collectives_of(ours)
        self.note("collectives", left == right, test, dict(left - right), dict(right - left))

    def print_table(self, show):
        print("| compared | equal | different |\n|---|---:|---:|")
        print("| networks that both compile | %d | |" % self.counts["network", True])
        print("| ... of several stages | %d | |" % self.counts["network of stages", True])
        for what in ("layout", "strategy", "collectives"):
            print("| %s | %d | %d |" % (what, self.counts[what, True], self.counts[what, False]))
        for line in self.differences[:show]:
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path)
    parser.add_argument("--random", type=int, metavar="SEED")
    parser.add_argument("--count", type=int, default=72)
    parser.add_argument("--tracer", type=Path, required=True)
    parser.add_argument("--wheel")
    parser.add_argument("--pytest", default="")
    parser.add_argument("--files", default="test_*.py")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a file")
    parser.add_argument("--show", type=int, default=40)
    arguments = parser.parse_args()
    if (arguments.suite is None) == (arguments.random is None):
        parser.error("either --suite or --random is needed")
    comparison = Comparison()
    with tempfile.TemporaryDirectory(prefix="drydock-reference-") as temporary:
        folder = Path(temporary)
        if arguments.random is not None:
            suite, sides = sides_of_random(arguments.tracer, folder, arguments.random, arguments.count)
            sides["theirs"][1]["PYTHONPATH"] += os.pathsep + arguments.pytest if arguments.pytest else ""
        else:
            suite, sides = sides_of_suite(arguments, arguments.wheel or wheel.python_of(), folder)
        patterns = arguments.files.split(",")
        names = sorted(path.name for path in (suite / PARALLEL).glob("test_*.py")
                       if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for name in names:
                for side, (python, variables) in sides.items():
                    out = folder / (side + "-" + name + ".jsonl")
                    pool.submit(run_child, python, {**variables, "DRYDOCK_SIDE": side}, suite, name, out,
                                arguments.timeout)
        for name in names:
            theirs, ours = (read_networks(folder / (side + "-" + name + ".jsonl")) for side in ("theirs", "ours"))
            for key in sorted(theirs.keys() & ours.keys()):
                comparison.add("%s:%s" % (name, key[0]), theirs[key], ours[key])
    comparison.print_table(arguments.show)
    return 0 if comparison.counts["network", True] else 2


if __name__ == "__main__":
    sys.exit(main())
