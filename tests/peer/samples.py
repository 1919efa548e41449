#!/usr/bin/env python3
"""Dry-runs the parallel samples of MindSpore's documentation from their own folders, without data.

    python3 tests/peer/samples.py --samples DOCS/docs/sample_code --msrun build/dev/bin/msrun [--table]

The samples are a checkout of https://github.com/mindspore-ai/docs that the caller brings; nothing of it is stored here. One line
per script: `runs` with what was not checked, or `unsupported` / `failed` with the reason. Exit status 0 whatever the outcome.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# (folder, script, ranks, what its run script writes in front of the script)
SCRIPTS = [
    ("comm_subgraph", "train.py", 8, []),
    ("dataset_slice", "train.py", 8, []),
    ("disaster_recover", "train.py", 8, []),
    ("distributed_comm_fusion", "fusion_example_cell.py", 8, []),
    ("distributed_data_parallel", "distributed_data_parallel.py", 8, []),
    ("distributed_gradient_accumulation", "train.py", 8, []),
    ("distributed_graph_partition", "train.py", 8, []),
    ("distributed_operator_parallel", "distributed_operator_parallel.py", 8, ["pytest", "-s"]),
    ("distributed_operator_parallel", "distributed_mint_operator_parallel.py", 8, ["pytest", "-s"]),
    ("distributed_operator_parallel", "advanced_distributed_operator_parallel.py", 8, ["pytest", "-s"]),
    ("distributed_operator_parallel", "advanced_distributed_mint_operator_parallel.py", 8, ["pytest", "-s"]),
    ("distributed_optimizer_parallel", "distributed_optimizer_parallel.py", 8, []),
    ("distributed_pipeline_parallel", "distributed_pipeline_parallel.py", 8, []),
    ("distributed_pipeline_parallel", "distributed_pipeline_parallel_inference.py", 8, []),
    ("fault_recover", "train.py", 8, []),
    ("graceful_exit", "graceful_exit.py", 8, []),
    ("high_dimension_tensor_parallel", "high_dimension_tensor_parallel.py", 8, []),
    ("host_device", "train.py", 8, []),
    ("manual_parallel", "train.py", 8, []),
    ("memory_offload", "train.py", 8, []),
    ("multiple_copy", "train.py", 8, []),
    ("multiple_mix", "sapp_mix_train.py", 8, ["pytest", "-s"]),
    ("parallel_support_dynamic_shape", "main.py", 8, []),
    ("parameter_server", "train.py", 8, []),
    ("recompute", "example.py", 1, []),
    ("sapp", "train.py", 8, []),
    ("shard_function_parallel", "shard_function_example.py", 8, []),
    ("sharding_propagation", "train.py", 8, []),
    ("startup_method", "net.py", 8, []),
]


def clean(line):
    """A line of the program without its own name, the column, the remedy and doubled words."""
    line = re.sub(r"^msrun: (warning|error\[[A-Z_]+\]): ", "", line.strip())
    line = re.sub(r"^(\S+:\d+):\d+: (unsupported|error): ", r"\1: ", line)
    return line.split("; hint:")[0]


def notes(folder):
    """What the summary of a job that ran lists as not checked, each text once."""
    try:
        with open(os.path.join(folder, "summary.json")) as file:
            found = json.load(file)["diagnostics"]
    except (OSError, ValueError, KeyError):
        return []
    return list(dict.fromkeys(entry["text"] for entry in found if entry.get("unsupported")))


def outcome(options, folder, script, ranks, front):
    """("runs" | "unsupported" | "failed" | "absent", what is not checked or the first line that says why)."""
    where = os.path.join(options.samples, folder)
    if not os.path.exists(os.path.join(where, script)):
        return "absent", ""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MS_", "RANK"))}
    environment.update(DATA_PATH="./no_data", DATASET_PATH="./no_data")  # the run scripts set one of them
    with tempfile.TemporaryDirectory() as reports:
        command = [os.path.abspath(options.msrun), "--sim_level=1", "--worker_num=%d" % ranks, "--log_dir=" + reports,
                   "--python=" + options.python] + front + [script]
        try:
            done = subprocess.run(command, cwd=where, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=options.timeout, check=False)
        except subprocess.TimeoutExpired:
            return "failed", "no end within %d s" % options.timeout
        if done.returncode == 0:
            return "runs", "; ".join(notes(reports))
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    told = [line for line in lines if re.match(r"\S+:\d+:\d+: (unsupported|error): ", line)]
    reasons = told or [line for line in lines if "error" in line.lower() or "unsupported" in line.lower()]
    return "unsupported" if done.returncode == 8 else "failed", clean((reasons or lines[-1:] or [""])[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", required=True)
    parser.add_argument("--msrun", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--only", default="", help="folders that contain this text")
    parser.add_argument("--table", action="store_true", help="print rows of a Markdown table")
    options = parser.parse_args()
    counts = {}
    for folder, script, ranks, front in SCRIPTS:
        if options.only in folder:
            status, why = outcome(options, folder, script, ranks, front)
            counts[status] = counts.get(status, 0) + 1
            form = "| {1}/{2} | {0} | {3} |" if options.table else "{0:12} {1}/{2}  {3}"
            print(form.format(status, folder, script, why), flush=True)
    print(", ".join("%s %d" % item for item in sorted(counts.items())))


if __name__ == "__main__":
    main()
