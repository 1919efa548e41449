#!/usr/bin/env python3
"""The networks of tests/vectors/dry_run through MindSpore's own dry run and through Drydock, side by side.

    truth.py [--recorded] [--only NAME,...] [--page docs/truth.md] [--build build/dev] [--vectors FOLDER] [--jobs 2]
    truth.py --check NAME,...        re-runs some records with the wheel: equal to what is recorded? ours as expected?
    truth.py --speed [--only ...]    seconds of one rank of MindSpore's beside all ranks of ours, in the same run

Without --recorded the wheel is installed (wheel.py) if it can be had, every script is run by it again, and what it says now
is compared with the records, too. Where it cannot be had, the reason is printed and the records alone are used. The page
holds no times and no paths: equal records and equal reports give equal bytes.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import compare
import ours
import records
import theirs
import verdicts
import wheel

SKIPPED = 77
# Fields of a record that depend on the machine.
OF_THE_MACHINE = {"wall_s"}

PAGE = """# Beside MindSpore's own dry run

Written by `make truth`; do not edit. MindSpore %(release)s's dry run for Ascend (`MS_SIMULATION_LEVEL=1`) of the scripts in
[tests/vectors/dry_run](../tests/vectors/dry_run), rank by rank, beside Drydock's of the same scripts. What the columns mean, how the
records are made and how to run a script of your own beside the original: [tests/reference](../tests/reference/README.md).

%(scope)s

## In numbers

%(totals)s

## Record by record

`=`: equal (peaks: to the byte). Peaks otherwise in percent of MindSpore's, what lives for the whole run in bytes. Collectives: kind, group and bytes;
`order`: the same sequence, `group order`: the same in every group, `set`: the same ones in another order. Kernels: the same ones; order: in the same order.

| record | ranks | used | actual | lives throughout | parts | collectives | kernels | order | slices | strategies |
|---|---:|---:|---:|---:|---|---|---|---|---|---|
%(rows)s

## What differs, and why

%(differences)s

## Recorded, not compared

These use what a dry run here refuses or does not model yet; their records wait for it.

| record | because of |
|---|---|
%(left_out)s
"""


def _share(row, column):
    return "=" if row[column] == 0 else "%+.3f %%" % row[column + " %"]


def _sign(equal, of=1):
    return "=" if equal == of else "no" if of == 1 else "%d of %d" % (equal, of)


def page_row(row, world):
    if "used" not in row:
        return "| %s | %d | does not run | | | | | | | | |" % (row["name"], world)
    found = verdicts.verdicts_of(row)
    same = lambda column: "=" if found[column] == "equal" else "no"
    words = {"order": "=", "group order": "group order"}
    return "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
        row["name"], world, _share(row, "used"), _share(row, "actual"),
        "=" if row["persistent"] == 0 else "%+d" % row["persistent"], same("parts"),
        words.get(row["collectives"], row["collectives"]), same("kernels"), same("kernel order"),
        _sign(*row.get("slices", (0, 0))[:2]), _sign(*row["strategies"][:2]))


def page_of(vectors, rows, chosen):
    expected = verdicts.load(vectors) or {}
    scope = verdicts.scope(vectors)
    left_out = {name: why for name, why in scope.items() if why}
    worlds = {records.name_of(record): record["world"] for record in chosen}
    causes = {}
    for row in rows:
        if any(verdict != "equal" for verdict in verdicts.verdicts_of(row).values()):
            causes.setdefault(expected.get(row["name"], {}).get("because", "not known yet"), []).append(row["name"])
    return PAGE % {
        "release": wheel.NEWEST,
        "scope": "%d records of %d scripts; %d are compared." % (
            len(scope), len({name.partition("/")[0] for name in scope}), len(rows)),
        "totals": "\n".join("* " + line for line in compare.totals(rows)),
        "rows": "\n".join(page_row(row, worlds[row["name"]]) for row in rows),
        "differences": "\n".join("* %s: %s" % (", ".join(names), cause)
                                 for cause, names in sorted(causes.items(), key=lambda one: one[1])) or "Nothing.",
        "left_out": "\n".join("| %s | %s |" % one for one in left_out.items())}


def changed_fields(old, new):
    return sorted(key for key in (old.keys() | new.keys()) - OF_THE_MACHINE if old.get(key) != new.get(key))


def run_theirs(reference, vectors, record):
    """The record of the same rank, made now."""
    with tempfile.TemporaryDirectory(prefix="drydock-truth-") as folder:
        script = records.scripts_of(vectors) / record["script"]
        fresh = reference.record(script, record["world"], record["rank"], Path(folder))
    if fresh["exit"] and record["exit"]:
        fresh["error"] = record["error"]  # the record has it in plain words
    return fresh


def check_records(reference, vectors, chosen):
    """@return lines: what MindSpore says now and did not say when it was recorded"""
    lines = []
    for record in chosen:
        changed = changed_fields(record, run_theirs(reference, vectors, record))
        print("MindSpore %s: %s" % (records.name_of(record), "as recorded" if not changed else "other " + ", ".join(changed)),
              flush=True)
        if changed:
            lines.append("%s: MindSpore's %s differ from the record" % (records.name_of(record), ", ".join(changed)))
    return lines


def run_ours(vectors, arguments, chosen):
    with tempfile.TemporaryDirectory(prefix="drydock-truth-") as folder:
        return list(compare.rows_of(vectors, ours.msrun_of(arguments.build), Path(folder), chosen, arguments.jobs))


def check_ours(vectors, rows):
    expected, worse = verdicts.load(vectors) or {}, []
    for row in rows:
        far, near = verdicts.judge(row, expected.get(row["name"], {}))
        worse += far
        for line in near:
            print("better than expected: " + line)
    return worse


def print_speed(reference, vectors, arguments, chosen):
    print("| script | ranks | MindSpore, one rank, s | Drydock, all ranks, s | times |\n|---|---:|---:|---:|---:|")
    ratios = []
    for script, group in compare.by_script(chosen).items():
        path, world = records.scripts_of(vectors) / script, group[0]["world"]
        with tempfile.TemporaryDirectory(prefix="drydock-truth-") as folder:
            slow = reference.run(path, world, group[0]["rank"], Path(folder) / "theirs", tracked=False)[1]
            quick = ours.run(ours.msrun_of(arguments.build), path, world, Path(folder) / "ours", tracked=False)[1]
        ratios.append(slow / quick)
        print("| %s | %d | %.1f | %.2f | %.0f |" % (Path(script).stem, world, slow, quick, ratios[-1]), flush=True)
    ratios.sort()
    print("| least / median / greatest | | | | %.0f / %.0f / %.0f |" % (ratios[0], ratios[len(ratios) // 2], ratios[-1]))


def the_wheel(arguments):
    """MindSpore's wheel, or None with the reason printed."""
    if arguments.recorded:
        return None
    try:
        return theirs.Wheel()
    except wheel.NotThere as reason:
        print("truth: SKIPPED: MindSpore itself is not run: %s" % reason)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--check", default="")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--build", default=str(records.SOURCE / "build/dev"))
    parser.add_argument("--vectors", type=Path, default=records.vectors_folder())
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    vectors, reference = arguments.vectors.resolve(), the_wheel(arguments)
    if reference is None and (arguments.check or arguments.speed):
        return SKIPPED
    patterns = [one for one in (arguments.check or arguments.only).split(",") if one]
    chosen = list(compare.choose(vectors, patterns))
    if arguments.speed:
        print_speed(reference, vectors, arguments, chosen)
        return 0
    problems = check_records(reference, vectors, chosen) if reference else []
    rows = run_ours(vectors, arguments, chosen)
    print(compare.HEAD)
    print("\n".join([compare.line_of(row) for row in rows] + [""] + compare.totals(rows)))
    problems += check_ours(vectors, rows)
    if arguments.page:
        arguments.page.write_text(page_of(vectors, rows, chosen), encoding="utf-8")
    for line in problems:
        print("truth: " + line, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
