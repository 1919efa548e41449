"""Drydock on a script, and what it says of one rank in the words of a record."""

import csv
import functools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import records

SECONDS = 300  # a run that takes longer hangs
REPORTS = ("summary.json", "memory.json", "communication.json")
# Variables of a real job or of a tool must not reach the run.
FOREIGN = ("MS_", "RANK_", "DEVICE_", "DRYDOCK_", "GLOG_")


def msrun_of(build):
    """The program of a build folder; DRYDOCK_MSRUN names another one."""
    return os.environ.get("DRYDOCK_MSRUN") or str(Path(build).resolve() / "bin/msrun")


@functools.cache
def python_with_numpy():
    """The scripts need numpy, which the interpreter of this tool may lack."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return sys.executable


def run(msrun, script, world, folder, rank=None, tracked=True):
    """Dry-runs `script` for all ranks (or one), reports in `folder`.

    @return exit status, seconds, lines of stderr
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    if tracked:
        environment.update({"MS_ALLOC_CONF": "memory_tracker:True", "MS_DEV_SAVE_GRAPHS": "1"})
    command = [msrun, "--sim_level=1", "--worker_num=%d" % world, "--json", "--log_dir=%s" % folder,
               "--python=%s" % python_with_numpy()]
    if rank is not None:
        command.append("--sim_rank_id=%d" % rank)
    began = time.monotonic()
    try:
        done = subprocess.run([*command, str(script)], cwd=folder, env=environment, timeout=SECONDS, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        status, errors = done.returncode, done.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        status, errors = 124, "did not end within %d s" % SECONDS
    return status, time.monotonic() - began, errors.splitlines()


def _load(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _rows(folder, name):
    found = sorted(folder.rglob(name))
    if not found:
        return []
    with found[0].open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# Kinds of blocks in MindSpore's words, and which parts of our breakdown belong to them.
PARTS = {"Weight": ("parameters", "optimizer_state", "accumulated_gradients"),
         "ConstantValue": ("constants",),
         "Kernel": ("inputs", "activations", "gradients", "communication", "outputs", "workspace")}


def their_parts(parts, used_bytes):
    """Parts of a record, those put together that we do not tell apart: what is neither weight nor constant is Kernel.

    Where a fused collective gets its memory at the peak, the tracker has not yet all of its blocks, so the last part is a difference.
    """
    kept = {name: parts.get(name, 0) for name in ("Weight", "ConstantValue")}
    return {**kept, "Kernel": used_bytes - sum(kept.values())}


def _our_parts(breakdown):
    bytes_of = {one["part"]: one["bytes"] for one in breakdown}
    return {name: sum(bytes_of.get(part, 0) for part in parts) for name, parts in PARTS.items()}


# %para2_w: <Ref[Tensor(F32)], (64, 32), ref_key=:w>
_PARAMETER = re.compile(r"^%para\S+ <Ref\[[^>]*?\], \(([^)]*)\), ref_key=:([^>]+)>", re.M)


def _collectives(report, rank):
    group_of = {}
    for pattern in report.get("group_patterns", []):
        group_of[pattern["id"]] = next(
            (one["ranks"] for one in pattern["groups"] if records.holds(one["ranks"], rank)), None)
    return [{"op": one["kind"], "ranks": group_of.get(one.get("group")) or "?", "bytes": one["payload_bytes"]}
            for one in report.get("collectives", []) if "ranks" not in one or records.holds(one["ranks"], rank)]


def as_record(folder, rank):
    """@return the fields of a record that our reports in `folder` know about `rank`"""
    memory, summary = _load(folder / "memory.json"), _load(folder / "summary.json")
    one = next((c for c in memory.get("classes", []) if records.holds(c["ranks"], rank)), None)
    if one is None:
        return None
    record = {
        "used_peak_bytes": one["used_peak_bytes"], "actual_peak_bytes": one["actual_peak_bytes"],
        "persistent_bytes": one["persistent_bytes"], "peak_at": one.get("peak", {}).get("operator", ""),
        "peak_parts": _our_parts(one["breakdown"]),
        "collectives": _collectives(_load(folder / "communication.json"), rank),
        "strategies": {s["operator"]: s["strategy"] for s in summary.get("strategies", [])}}
    record.update(_of_one_rank(folder, rank))
    return record


def _of_one_rank(folder, rank):
    """What only the files of one rank tell; nothing if they are those of another one."""
    own = folder / ("rank_%d" % rank)
    if not own.is_dir():
        if next(folder.glob("rank_*"), None):
            return {}
        own = folder  # a job of one rank
    found = {}
    launched = _rows(own, "execute_order.csv")
    if launched:
        found["kernel_order"] = records.run_length(records.kernels_of_a_step(launched))
    graph = next(own.glob("*_execute_*.ir"), None)
    if graph:
        slices = _PARAMETER.findall(graph.read_text(encoding="utf-8"))
        found["parameter_slices"] = {name: [int(one) for one in shape.split(",") if one.strip()]
                                     for shape, name in slices}
    return found
