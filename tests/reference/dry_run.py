#!/usr/bin/env python3
"""MindSpore's own dry run for Ascend of scripts, recorded.

    dry_run.py SCRIPT [WORLD [RANK]] [--keep FOLDER]             one rank (8, 0); its figures are printed
    dry_run.py --record VECTORS [--only NAME,...] [--again]      all cases of VECTORS/dry_run/cases.json -> VECTORS/dry_run.json

--keep leaves log, memory_block.csv, execute_order/*.csv, tracker_graph.ir and record.json in FOLDER. --record runs what is not recorded
yet, with --again what is, too; a case with `refused` says in plain words why MindSpore refuses the script. The wheel is
installed outside the tree (wheel.py), stand-ins for the vendor's libraries are built beside it.
"""

import argparse
import collections
import fnmatch
import json
import sys
import tempfile
from pathlib import Path

import records
import theirs
import wheel


def print_figures(record):
    kinds = collections.Counter(one["op"] for one in record["collectives"])
    print("%s: exit %d, used %s, actual %s, %d kernels, collectives %s, %.1f s %s" % (
        records.name_of(record), record["exit"], record["used_peak_bytes"], record["actual_peak_bytes"],
        record["kernels"], dict(kinds), record["wall_s"], record.get("error", "")), flush=True)


def run_one(arguments):
    with tempfile.TemporaryDirectory(prefix="drydock-dry-run-") as temporary:
        folder = arguments.keep.resolve() if arguments.keep else Path(temporary)
        record = theirs.Wheel().record(Path(arguments.script), int(arguments.world), int(arguments.rank), folder)
        print_figures(record)
        if arguments.keep:
            (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    return record["exit"]


def record_case(reference, script, case, rank):
    with tempfile.TemporaryDirectory(prefix="drydock-dry-run-") as temporary:
        record = reference.record(script, case["world"], rank, Path(temporary))
    if record["exit"] and "refused" in case:
        record["error"] = case["refused"]
    print_figures(record)
    return record


def record_all(arguments):
    vectors = arguments.record.resolve()
    scripts = records.scripts_of(vectors)
    cases = json.loads((scripts / "cases.json").read_text(encoding="utf-8"))
    known = records.load(vectors) if (vectors / "dry_run.json").exists() else []
    there = {(one["script"], one["rank"]): one for one in known}
    patterns = [one for one in arguments.only.split(",") if one] or ["*"]
    reference = theirs.Wheel()
    for name, case in sorted(cases.items()):
        if any(fnmatch.fnmatch(Path(name).stem, pattern) for pattern in patterns):
            for rank in case["ranks"]:
                if arguments.again or (name, rank) not in there:
                    there[name, rank] = record_case(reference, scripts / name, case, rank)
                    records.save(vectors, cases, there)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", nargs="?")
    parser.add_argument("world", nargs="?", default="8")
    parser.add_argument("rank", nargs="?", default="0")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    if bool(arguments.script) == bool(arguments.record):
        parser.error("name either a script or a folder of vectors")
    try:
        return record_all(arguments) if arguments.record else run_one(arguments)
    except wheel.NotThere as reason:
        print("dry_run: SKIPPED: %s" % reason, file=sys.stderr)
        return 77


if __name__ == "__main__":
    sys.exit(main())
