#!/usr/bin/env python3
"""Drydock beside the recorded dry runs of MindSpore, record by record, with what differs.

    compare.py [--only NAME,...] [--build build/dev] [--vectors FOLDER] [--jobs 2] [--brief] [--keep FOLDER] [--all]

NAME is a script without its suffix or a shell pattern (`opt_*`). --brief leaves out the lines that tell what differs;
--keep leaves our reports in FOLDER/NAME/; --all also runs what is not compared yet (pipelines and the like).
Columns: exit status of ours; both peaks in percent (`=`: equal to the byte) and what lives for the whole run in bytes; how far
the collectives agree (order: same sequence; group order: same in every group; set: same ones in another order; no);
kernels of a step: missing/extra, then whether their order is equal; strategies that are equal.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import sys
import tempfile
from pathlib import Path

import differences
import ours
import records
import verdicts


class Judge:
    """Runs a script once for all its records; the order of kernels of another rank than 0 takes a run of its own."""

    def __init__(self, vectors, msrun, folder):
        self.vectors, self.msrun, self.folder = vectors, msrun, folder

    def rows(self, script, group):
        path, world = records.scripts_of(self.vectors) / script, group[0]["world"]
        folder = self.folder / Path(script).stem
        status, seconds, errors = ours.run(self.msrun, path, world, folder)
        for record in group:
            row = {"name": records.name_of(record), "theirs": record["exit"], "status": status, "seconds": seconds,
                   "stages or shards": records.has_stages_or_shards(path.read_text(encoding="utf-8"))}
            if status == 0 and record["exit"] == 0:
                mine = ours.as_record(folder, record["rank"])
                if mine is not None and record["rank"]:
                    own = folder / ("rank_%d_alone" % record["rank"])
                    ours.run(self.msrun, path, world, own, rank=record["rank"])
                    alone = ours.as_record(own, record["rank"]) or {}
                    for field in ("kernel_order", "parameter_slices"):
                        if field in alone:
                            mine[field] = alone[field]
                if mine is not None:
                    row.update(differences.compare(record, mine))
            if "used" not in row:
                row["error"] = next((line for line in errors if "error" in line or "unsupported" in line),
                                    errors[-1] if errors else "")
            yield row


def by_script(chosen):
    groups = {}
    for record in chosen:
        groups.setdefault(record["script"], []).append(record)
    return groups


def choose(vectors, only=None, everything=False):
    """Records that are compared."""
    for record in records.load(vectors):
        stem = Path(record["script"]).stem
        if only and not any(fnmatch.fnmatch(stem, pattern) for pattern in only):
            continue
        text = (records.scripts_of(vectors) / record["script"]).read_text(encoding="utf-8")
        if everything or not records.not_compared(text):
            yield record


def rows_of(vectors, msrun, folder, chosen, jobs):
    judge = Judge(vectors, msrun, folder)
    groups = by_script(chosen)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for rows in pool.map(lambda item: list(judge.rows(*item)), groups.items()):
            yield from rows


LINE = "%-24s %4s %10s %10s %11s %11s %9s %6s %7s"
HEAD = LINE % ("record", "exit", "used %", "actual %", "persistent", "collectives", "kernels", "order", "strat.")


def line_of(row):
    if "used" not in row:
        return LINE % (row["name"], row["status"], "", "", "", "", "", "", "")
    share = lambda column: "=" if row[column] == 0 else "%+.3f" % row[column + " %"]
    order = "-" if "kernels" not in row else "=" if row["kernel order"] else "no"
    multiset = "-" if "kernels" not in row else "=" if row["kernels"] else "no"
    return LINE % (row["name"], row["status"], share("used"), share("actual"),
                   "=" if row["persistent"] == 0 else "%+d" % row["persistent"], row["collectives"], multiset, order,
                   "%d/%d" % row["strategies"][:2])


def details_of(row):
    if "error" in row:
        return [row["error"]]
    found = []
    parts = {part: size for part, size in row["parts"].items() if size}
    if parts or row["used"]:
        found.append("parts: used %+d B: %s; peak at %s, ours at %s" % (
            row["used"], ", ".join("%s %+d" % one for one in parts.items()) or "equal", *row["peak at"]))
    if row["why collectives"]:
        found.append("collectives: " + row["why collectives"])
    if row.get("why kernels"):
        found.append("kernels: " + row["why kernels"])
    for column in ("strategies", "slices"):
        if column in row and row[column][2]:
            found.append("%s: %s" % (column, row[column][2]))
    return found


def totals(rows):
    """Lines with the counts of every column."""
    good = [row for row in rows if "used" in row]
    lines = ["%d records, %d compared" % (len(rows), len(good))]
    for column in ("used", "actual"):
        far = [abs(row[column + " %"]) for row in good]
        lines.append("%s peak: equal %d, within 0.1 %% %d, within 1 %% %d, farther %d" % (
            column, sum(row[column] == 0 for row in good), sum(x <= 0.1 for x in far), sum(x <= 1 for x in far),
            sum(x > 1 for x in far)))
    lines.append("persistent bytes equal: %d; parts equal: %d" % (
        sum(row["persistent"] == 0 for row in good), sum(not any(row["parts"].values()) for row in good)))
    words = [row["collectives"] for row in good]
    lines.append("collectives: order %d, group order %d, set %d, no %d" % tuple(
        words.count(word) for word in ("order", "group order", "set", "no")))
    seen = [row for row in good if "kernels" in row]
    lines.append("kernels: equal %d, in order %d of %d" % (
        sum(row["kernels"] for row in seen), sum(row["kernel order"] for row in seen), len(seen)))
    lines.append(compilers("both compilers", good))
    lines.append(compilers("both compilers, stages or a sharded optimizer", [row for row in good if row["stages or shards"]]))
    return lines


def compilers(title, rows):
    """What the two compilers made of the same networks, thing by thing."""
    texts = []
    for what, column in (("layouts of parameters", "slices"), ("strategies", "strategies"), ("collectives", "collective count")):
        equal, both = (sum(row[column][at] for row in rows if column in row) for at in (0, 1))
        texts.append("%s %d of %d%s" % (what, equal, both, " (%.2f %% differ)" % (100.0 * (both - equal) / both) if both else ""))
    return "%s, %d records: equal %s" % (title, len(rows), ", ".join(texts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default=str(records.SOURCE / "build/dev"))
    parser.add_argument("--vectors", type=Path, default=records.vectors_folder())
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", type=Path, help="the rows as JSON")
    parser.add_argument("--expect", action="store_true", help="renew expected.json of what was compared")
    arguments = parser.parse_args()
    chosen = list(choose(arguments.vectors.resolve(), [one for one in arguments.only.split(",") if one], arguments.all))
    print(HEAD)
    rows = []
    with tempfile.TemporaryDirectory(prefix="drydock-compare-") as temporary:
        folder = arguments.keep.resolve() if arguments.keep else Path(temporary)
        for row in rows_of(arguments.vectors.resolve(), ours.msrun_of(arguments.build), folder, chosen, arguments.jobs):
            rows.append(row)
            print(line_of(row), flush=True)
            if not arguments.brief:
                for line in details_of(row):
                    print("    " + line)
    print()
    print("\n".join(totals(rows)))
    if arguments.expect:
        verdicts.renew(arguments.vectors.resolve(), rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if rows else 2


if __name__ == "__main__":
    sys.exit(main())
