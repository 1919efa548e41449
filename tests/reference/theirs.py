"""MindSpore's own dry run of one rank, as a record (fields: README.md)."""

import collections
import csv
import json
import math
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import records
import stand_ins
import wheel

HERE = Path(__file__).resolve().parent
SECONDS = 900  # for one rank; it takes 3 to 30 on an idle machine
NEVER = 9223372036854775807  # end of a block that is never freed
LARGEST = 12  # blocks at the peak that are listed
TAIL = 400  # characters of an error
# Variables of a real job must not reach the run.
FOREIGN = ("MS_", "RANK_", "DEVICE_", "GLOG_", "HCCL_")


class Wheel:
    """An interpreter that has MindSpore, and the stand-ins for it."""

    def __init__(self):
        self.python = wheel.python_of()
        self.stand_ins = wheel.cache_folder() / ("stand-ins-%s" % wheel.NEWEST)
        if not (self.stand_ins / "any_symbol.so").exists():
            fresh = self.stand_ins.with_name(self.stand_ins.name + ".new")
            shutil.rmtree(fresh, ignore_errors=True)
            try:
                stand_ins.build(wheel.package_of(self.python), fresh)
            except (OSError, subprocess.CalledProcessError) as reason:
                raise wheel.NotThere("the stand-ins cannot be built: %s" % reason) from reason
            shutil.rmtree(self.stand_ins, ignore_errors=True)
            fresh.rename(self.stand_ins)

    def environment(self, world, rank, tracked):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        kept.update({"PYTHONPATH": str(self.stand_ins / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                     "LD_LIBRARY_PATH": str(self.stand_ins / "latest/lib64"),
                     "LD_PRELOAD": str(self.stand_ins / "any_symbol.so"), "MS_SIMULATION_LEVEL": "1",
                     "RANK_SIZE": str(world), "RANK_ID": str(rank), "DEVICE_ID": "0",
                     "GLOG_v": "1" if tracked else "2"})
        if tracked:
            kept["MS_ALLOC_CONF"] = "memory_tracker:True"
        return kept

    def run(self, script, world, rank, folder, tracked=True):
        """Dry-runs one rank in `folder`. @return exit status, seconds"""
        folder.mkdir(parents=True, exist_ok=True)
        command = [self.python, "-X", "faulthandler", str(HERE / "as_ascend.py"), str(Path(script).resolve())]
        began = time.monotonic()
        with (folder / "log").open("wb") as log:
            try:
                status = subprocess.run(command, cwd=folder, env=self.environment(world, rank, tracked), timeout=SECONDS,
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
            except subprocess.TimeoutExpired:
                status = 124
        return status, time.monotonic() - began

    def record(self, script, world, rank, folder):
        """@return the record of one rank"""
        status, seconds = self.run(script, world, rank, folder)
        return read_record(folder, Path(script), world, rank, status, seconds)


# --- reading what a run left ---

def _rows(folder, name):
    csv.field_size_limit(1 << 30)
    found = sorted(folder.rglob(name))
    if not found:
        return []
    with found[0].open(encoding="utf-8", errors="replace", newline="") as stream:
        return list(csv.DictReader(stream))


def _shapes(text):
    return [[int(one) for one in part.split(",") if one.strip()] for part in re.findall(r"\(([^()]*)\)", text or "")]


def _inputs_of_nodes(folder):
    """{node: shapes of its inputs}, from the tracker's graph; the other files have the first input only."""
    found, inputs, name = sorted(folder.rglob("tracker_graph.ir")), {}, None
    if not found:
        return inputs
    with found[0].open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if line.startswith("("):
                name = line.split(" = ", 1)[-1].split("(", 1)[0]
            elif name and " <- " in line:
                shapes = re.findall(r":\[([^\]]*)\]", line.split(" <- ", 1)[1])
                inputs.setdefault(name, [[int(one) for one in text.split(",") if one.strip()] for text in shapes])
                name = None
    return inputs


def _add_memory(folder, log, record):
    for key, text in (("used_peak_bytes", r"Max peak used memory size is (\d+)"),
                      ("actual_peak_bytes", r"Max actual used memory size is (\d+)")):
        record[key] = max(map(int, re.findall(text, log)), default=None)
    blocks = _rows(folder, "memory_block.csv")
    if not blocks:
        return
    for block in blocks:
        for key in ("start_time_stamp", "end_time_stamp", "size"):
            block[key] = int(block[key])
    events = sorted([(block["start_time_stamp"], 1, block["size"], number) for number, block in enumerate(blocks)] +
                    [(block["end_time_stamp"], 0, -block["size"], number) for number, block in enumerate(blocks)
                     if block["end_time_stamp"] != NEVER])
    alive = peak = 0
    top = blocks[0]
    for _, begins, size, number in events:
        alive += size
        if begins and alive > peak:
            peak, top = alive, blocks[number]
    moment = top["start_time_stamp"]
    live = [one for one in blocks if one["start_time_stamp"] <= moment < one["end_time_stamp"]]
    parts = collections.Counter()
    for block in live:
        parts[block["type"] or "?"] += block["size"]
    named = [[one["size"], one["type"], "" if one["type"] == "ConstantValue" else one["node_name"] or one["task_name"]]
             for one in live]  # numbers of constants vary
    record.update({
        "peak_at": top["node_name"] or top["task_name"], "peak_parts": dict(sorted(parts.items())),
        "persistent_bytes": sum(one["size"] for one in blocks if one["end_time_stamp"] == NEVER),
        "held_inputs_bytes": sum(one["size"] for one in live if one["node_name"].endswith("HostDSActor")),
        "blocks": len(blocks), "largest": sorted(named, key=lambda one: (-one[0], one[1], one[2]))[:LARGEST]})


def _collective(row, node, inputs):
    one = {"op": row["primitive"], "node": node, "ranks": records.ranges([int(r) for r in row["comm_rank"].split()]),
           "inputs": _shapes(row["input_shape"]),
           "type": row["input_type"].split()[0].strip(",") if row["input_type"] else "",
           "bytes": int(row["input_size"] or 0)}
    if row["output_type"].startswith("Tuple") and len(inputs) > 1 and one["op"] != "AllToAll":  # several fused into one
        first = math.prod(one["inputs"][0]) if one["inputs"] else 1
        one["bytes"] = one["bytes"] // max(first, 1) * sum(math.prod(shape) for shape in inputs)
        one["inputs"] = inputs
    if one["op"] == "Receive":  # its input is made up
        one["inputs"], one["bytes"] = _shapes(row["output_shape"]), int(row["output_size"] or 0)
    for key, column in (("from", "src_rank"), ("to", "dest_rank"), ("root", "root_rank")):
        if row.get(column):
            one[key] = int(row[column])
    return one


def _add_orders(folder, record):
    launched, inputs = _rows(folder, "execute_order.csv"), _inputs_of_nodes(folder)
    steps, rows = records.rows_of_a_step(launched)
    times = collections.Counter(row["node_name"] for row in launched)
    node_of = {row["index"]: row["node_name"] for row in launched}
    first = {row["index"] for row in rows}
    record["steps"], record["collectives"], outside = steps, [], []
    for row in _rows(folder, "comm_execute_order.csv"):
        node = node_of.get(row["index"], "")
        if row["index"] in first or times[node] != steps:
            kept = record["collectives"] if row["index"] in first else outside
            kept.append(_collective(row, node, inputs.get(node, [])))
    if outside:
        record["outside_step"] = outside
    work = records.kernels_of_a_step(launched)
    record["kernels"], record["stream_events"] = len(work), len(rows) - len(work)
    record["kernel_order"] = records.run_length(work)


def _add_compiled(folder, record):
    file = folder / "compiled.json"
    graphs = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    if not graphs:
        return
    train = max(graphs, key=lambda graph: len(graph["strategies"]) + len(graph["parameters"]))
    record["parameter_slices"] = {name: layout if layout.get("optimizer_group") else layout["slice"]
                                  for name, layout in train["parameters"].items()}
    record["parameter_slices"].update(train["whole"])
    record["strategies"] = train["strategies"]


def read_record(folder, script, world, rank, status, seconds):
    log = (folder / "log").read_bytes().decode("utf-8", "replace")
    level = re.search(r"jit_level\W+(O\d)", script.read_text(encoding="utf-8"))
    record = {"script": script.name, "world": world, "rank": rank, "jit_level": level.group(1) if level else "",
              "exit": status, "wall_s": round(seconds, 1)}
    if status:
        errors = re.findall(r"^(?:\w+Error|\w+Exception): .*$", log, re.M)
        record["error"] = (errors[-1] if errors else log[-TAIL:])[:TAIL]
    _add_memory(folder, log, record)
    _add_orders(folder, record)
    _add_compiled(folder, record)
    return record
