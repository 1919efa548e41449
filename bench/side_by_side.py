#!/usr/bin/env python3
"""Models of time side by side in one run: plans a second beside Calculon, events a second beside SimGrid. Processor seconds, in turn.

    side_by_side.py [--build build/release] [--calculon CHECKOUT] [--repeats 3]

Plans: `drydock plan --closed_form` on one thread, GPT-3 on 4,096 A100, whole command; Calculon executes GPT-3 on A100 again and again
(calculon_points.py). Events: `drydock msrun --sim_level=3` of GPT-3 on 1,024 ranks less the same at level 1, both with reports; SimGrid sends the
messages of a ring AllReduce (simgrid_ring.cc, needs libsimgrid-dev). What is not there is said and left out.
"""
import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPT3 = {"model_type": "gpt2", "n_embd": 12288, "n_layer": 96, "n_head": 96, "vocab_size": 51200, "n_positions": 2048}
LARGE = ("--worker_num=1024", str(HERE.parent / "docs/examples/gpt/net.py"), "--model_parallel=8", "--recompute", "--shard_optimizer", "--stages=16",
         "--micro_batches=64")


def used(command, folder):
    """Processor seconds and output of a command, and the most memory that any command took so far, MiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"side_by_side: {' '.join(command)}: {done.stderr.strip()[-400:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def plans(program, folder):
    Path(folder, "gpt3.json").write_text(json.dumps(GPT3))
    seconds, out = used([program, "plan", "--closed_form", "--threads", "1", "--devices", "4096", "--batch", "4096", "--sequence", "2048", "--hardware",
                         "A100-80", "--storage", "megatron-bf16", "--attention", "plain", "gpt3.json"], folder)
    return int(out.splitlines()[1].split()[0]) / seconds


def step(program, folder):
    """@return events a processor second, processor seconds of the whole command"""
    low, _ = used([program, "msrun", "--sim_level=1", "--quiet", "--log_dir=low", *LARGE], folder)
    high, _ = used([program, "msrun", "--sim_level=3", "--hardware=A100-80", "--quiet", "--log_dir=high", *LARGE], folder)
    events = json.loads(Path(folder, "high/timeline.json").read_text())["events"]
    return events / max(high - low, 1e-9), high


def simgrid(folder):
    program = Path(folder, "simgrid_ring")
    made = subprocess.run(["g++", "-O2", "-std=c++17", str(HERE / "simgrid_ring.cc"), "-lsimgrid", "-o", str(program)], capture_output=True, text=True, check=False)
    return str(program) if made.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(HERE.parent / "build" / "release"))
    parser.add_argument("--calculon", default="")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    program = str(Path(options.build).resolve() / "bin/drydock")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        ring = simgrid(folder) if shutil.which("g++") else None
        for _ in range(options.repeats):
            rows.setdefault("Drydock, plans", []).append(plans(program, folder))
            if options.calculon:
                out = used([sys.executable, str(HERE / "calculon_points.py"), str(Path(options.calculon).resolve())], folder)[1]
                rows.setdefault("Calculon, points", []).append(float(out.split()[0]))
            events, seconds = step(program, folder)
            rows.setdefault("Drydock, events (level 3 less level 1, with reports)", []).append(events)
            rows.setdefault("Drydock, level 3 of 1,024 ranks, processor seconds", []).append(seconds)
            if ring:
                rows.setdefault("SimGrid, messages", []).append(float(used([ring, "128"], folder)[1].split()[2]))
    print("a processor second: least / median / greatest")
    for name, found in rows.items():
        found.sort()
        print(f"  {name:56} {found[0]:12,.4g} {found[len(found) // 2]:12,.4g} {found[-1]:12,.4g}")
    for name, there in (("Calculon", options.calculon), ("SimGrid", ring)):
        if not there:
            print(f"  {name}: not there (see --help)")


if __name__ == "__main__":
    main()
