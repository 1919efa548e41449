#!/usr/bin/env python3
"""Small forms of mindformers' configurations beside MindSpore's own dry run of the same ones.

    python3 tests/peer/real_records.py --repository MINDFORMERS --msrun build/release/bin/msrun --python VENV/bin/python3 [--table]
    python3 tests/peer/real_records.py --repository MINDFORMERS --record NAME,...     # with the wheel, see tests/reference/README.md

A configuration is a public YAML of an unmodified checkout with the arguments of run_mindformer.py below: two layers, small sizes, 8 ranks.
`tests/vectors/mindformers.json` holds what MindSpore said of the ranks that are listed (fields: tests/reference/README.md). Ours runs the
same command on a data set that is declared instead of written. One line per record: both peaks and the collectives of a step.

Exit status 0 if every record is as near as EXPECTED says, else 1, and what is further away is listed at the end. Configurations that have no
record (the wheel does not run them here, or not yet) are listed too and do not count.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reference"))

import differences  # noqa: E402
import ours  # noqa: E402
import records  # noqa: E402

VECTORS = HERE.parent / "vectors/mindformers.json"


def small(prefix, **given):
    """Arguments for two layers of small sizes; what is given replaces or adds, a name without a value leaves out."""
    sizes = dict(num_layers=2, hidden_size=1024, num_heads=8, n_kv_heads=4, intermediate_size=3584, vocab_size=16384, seq_length=4096)
    sizes.update(given)
    return ["%s.%s=%s" % (prefix, name, value) for name, value in sizes.items() if value is not None]


def parallel(dp, mp, pp=1, micro=1, **given):
    settings = {"runner_config.epochs": 1, "runner_config.batch_size": 1, "parallel_config.data_parallel": dp,
                "parallel_config.model_parallel": mp, "parallel_config.pipeline_stage": pp, "parallel_config.micro_batch_num": micro,
                "parallel.enable_parallel_optimizer": False, "recompute_config.recompute": False}
    settings.update({name.replace("__", "."): value for name, value in given.items()})
    return ["%s=%s" % item for item in settings.items()]


LLAMA = "research/llama3_1/llama3_1_8b/finetune_llama3_1_8b.yaml"
MODEL = "model.model_config"
# name: YAML, ranks that are recorded, rows of the data set, their length, arguments
CASES = {
    "llama3_8b": (LLAMA, [0], 2, 4097, small(MODEL) + parallel(2, 4)),
    "llama3_8b_zero": (LLAMA, [0], 2, 4097, small(MODEL) + parallel(2, 4, parallel__enable_parallel_optimizer=True)),
    "llama3_8b_stages": (LLAMA, [0, 4], 8, 4097, small(MODEL) + parallel(2, 2, 2, 4)),
    "qwen2_5_7b": ("research/qwen2_5/finetune_qwen2_5_7b_8k.yaml", [0], 4, 4097,
                   small(MODEL) + parallel(4, 2, recompute_config__select_recompute=False)),
    "telechat_7b": ("research/telechat2/telechat2-7b/finetune_telechat_7b.yaml", [0], 2, 4097,
                    small(MODEL, n_kv_heads=None) + parallel(2, 4)),
    "glm4_9b": ("configs/glm4/finetune_glm4_9b.yaml", [0], 4, 4096,
                small(MODEL, n_kv_heads=None, vocab_size=None, intermediate_size=None, num_heads=None, padded_vocab_size=16384,
                      ffn_hidden_size=3584, num_attention_heads=8, offset=0) + parallel(4, 2)),
    "mixtral_8x7b": ("research/mixtral/mixtral_8x7b/finetune_mixtral-8x7b.yaml", [0], 4, 4097,
                     small(MODEL) + parallel(4, 2, parallel_config__expert_parallel=2)),
    "llama3_8b_recompute": (LLAMA, [0], 2, 4097, small(MODEL) + parallel(2, 4, recompute_config__recompute=True)),
    # Settings of the configurations themselves where 8 ranks have room for them: sharded optimizer, recomputation, stages, their vocabularies.
    "llama3_8b_all": (LLAMA, [0, 4], 8, 4097, small(MODEL) + parallel(
        2, 2, 2, 4, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "llama3_8b_context": (LLAMA, [0], 2, 4097, small(MODEL) + parallel(
        2, 2, parallel_config__context_parallel=2, parallel_config__use_seq_parallel=False)),
    "llama3_70b": ("research/llama3_1/llama3_1_70b/finetune_llama3_1_70b.yaml", [0, 7], 8, 4097, small(MODEL, num_layers=4) + parallel(
        2, 2, 2, 4, parallel__enable_parallel_optimizer=True, recompute_config__select_recompute=[1, 0],
        recompute_config__select_comm_recompute=[1, 0])),
    "qwen2_5_0_5b": ("research/qwen2_5/finetune_qwen2_5_0_5b_8k.yaml", [0], 32, 2049,
                     small(MODEL, hidden_size=896, num_heads=14, n_kv_heads=2, intermediate_size=4864, vocab_size=151936, seq_length=2048) +
                     parallel(8, 1, parallel__enable_parallel_optimizer=True)),
    "qwen2_5_7b_stages": ("research/qwen2_5/finetune_qwen2_5_7b_8k.yaml", [0, 4], 16, 4097, small(MODEL, num_layers=4) + parallel(
        4, 1, 2, 4, parallel__enable_parallel_optimizer=True, recompute_config__recompute=[1, 1], recompute_config__select_recompute=False)),
    "qwen2_5_14b": ("research/qwen2_5/finetune_qwen2_5_14b_8k.yaml", [0, 2, 6], 8, 4097, small(MODEL, num_layers=8) + parallel(
        1, 2, 4, 8, parallel__enable_parallel_optimizer=True, recompute_config__recompute=[1, 1, 0, 0],
        recompute_config__select_recompute=False)),
    "qwen2_5_14b_128k": ("research/qwen2_5/finetune_qwen25_14b_128k.yaml", [0, 4], 4, 4097, small(MODEL, num_layers=4) + parallel(
        1, 2, 2, 4, parallel_config__context_parallel=2, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "qwen2_5_32b_32k": ("research/qwen2_5/finetune_qwen2_5_32b_32k.yaml", [0, 7], 8, 4097, small(MODEL, num_layers=4) + parallel(
        2, 2, 2, 4, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "qwen2_5_32b_8k": ("research/qwen2_5/finetune_qwen2_5_32b_8k.yaml", [0, 4], 4, 4097, small(MODEL, num_layers=4) + parallel(
        1, 4, 2, 4, parallel__enable_parallel_optimizer=True, model__model_config__offset=0, recompute_config__recompute=[1, 0],
        recompute_config__select_recompute=False)),
    # Cuts sequences (seqpipe): the steps of its YAML's sink size; its lists for eight stages are left out.
    "qwen2_5_72b": ("research/qwen2_5/finetune_qwen2.5_72B_32K.yaml", [0, 4], 16, 4097, small(MODEL, num_layers=4, offset=0) + parallel(
        2, 2, 2, 4, parallel_config__seq_split_num=2, parallel__enable_parallel_optimizer=True,
        recompute_config__select_comm_recompute=False)),
    "mixtral_8x7b_pretrain": ("research/mixtral/mixtral_8x7b/pretrain_mixtral-8x7b.yaml", [0, 4], 8, 4097, small(MODEL) + parallel(
        2, 2, 2, 4, parallel_config__expert_parallel=2, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "mixtral_8x7b_32k": ("research/mixtral/mixtral_8x7b/pretrain_mixtral-8x7b_32k.yaml", [0], 2, 4097, small(MODEL) + parallel(
        2, 4, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "telechat_35b": ("research/telechat2/telechat2-35b/finetune_telechat_35b.yaml", [0, 6], 8, 4097,
                     small(MODEL, num_layers=8, n_kv_heads=None, offset=0) + parallel(
        1, 2, 4, 8, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "telechat_39b_a12b": ("research/telechat2/telechat2-39b-a12b/finetune_telechat_39b_a12b.yaml", [0], 8, 4097,
                          small(MODEL, n_kv_heads=8) + parallel(
        4, 2, parallel_config__expert_parallel=2, parallel__enable_parallel_optimizer=True, recompute_config__recompute=True)),
    "telechat_115b": ("research/telechat2/telechat2-115b/finetune_telechat_115b.yaml", [0, 4], 8, 4097,
                      small(MODEL, num_layers=8, offset=[[0, 0], [0, 0]], pp_interleave_num=2) + parallel(
        2, 2, 2, 4, parallel__enable_parallel_optimizer=True, recompute_config__select_comm_recompute=False)),
}
# How near ours is today: both peaks in percent of the record at most, whether the collectives of a step are equal. Causes: docs/compatibility.md.
EXPECTED = {
    ("llama3_8b", 0): (0.1, 1, True),
    ("llama3_8b_zero", 0): (0.1, 0.2, True),
    ("llama3_8b_stages", 0): (0.1, 0.1, True),
    ("llama3_8b_stages", 4): (0.1, 0.1, True),
    ("qwen2_5_7b", 0): (8, 8, True),
    ("telechat_7b", 0): (0.1, 0.1, True),
    ("glm4_9b", 0): (0.1, 0.1, True),
    ("mixtral_8x7b", 0): (1, 1, True),
    ("llama3_8b_recompute", 0): (0.1, 1, True),
    ("llama3_8b_all", 0): (3, 1, True),
    ("llama3_8b_context", 0): (0.1, 5, True),
    ("llama3_70b", 0): (1, 2, True),
    ("mixtral_8x7b_pretrain", 0): (1, 2, True),
    ("mixtral_8x7b_32k", 0): (1, 5, True),
    ("qwen2_5_7b_stages", 0): (5, 1, True),
    ("qwen2_5_14b", 0): (4, 1.1, True),
    ("qwen2_5_32b_32k", 0): (0.1, 0.1, True),
    ("telechat_35b", 0): (3, 3, True),
    ("telechat_39b_a12b", 0): (18, 27, True),
    ("llama3_70b", 7): (1, 1, True),
    ("qwen2_5_14b_128k", 0): (2, 2, False),
    ("qwen2_5_32b_8k", 0): (1, 4, True),
    ("telechat_115b", 0): (8, 9, True),
    ("qwen2_5_72b", 0): (28, 36, True),
    ("qwen2_5_72b", 4): (4, 2, True),
}


def yaml_of(options, name, folder):
    """The YAML without its callback that writes checkpoints, which takes their side minutes, and a file of speed-up options of the user's."""
    text = (options.repository / CASES[name][0]).read_text(encoding="utf-8")
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("- type:"):
            inside = "CheckpointMonitor" in line
        elif inside and not line.startswith("    "):
            inside = False
        if not inside:
            kept.append(re.sub(r"parallel_speed_up_json_path:.*", 'precision_mode: "must_keep_origin_dtype"', line))
    path = folder / "configuration.yaml"
    path.write_text("".join(kept), encoding="utf-8")
    return path


def arguments_of(options, name, folder):
    yaml, _, _, _, given = CASES[name]
    register = (options.repository / yaml).parent.parent
    settings = ["train_dataset.num_parallel_workers=1", "train_dataset_task.dataset_config.num_parallel_workers=1", *given]
    pairs = [part for setting in settings for part in ("--" + setting.partition("=")[0], setting.partition("=")[2])]
    return ["--config", str(yaml_of(options, name, folder)), "--register_path", str(register), "--run_mode", "train",
            "--train_dataset_dir", str(folder / "data"), *pairs]


def columns_of(options, name):
    text = (options.repository / CASES[name][0]).read_text(encoding="utf-8")
    return re.findall(r"[\"'](\w+)[\"']", re.search(r"input_columns:\s*\[([^\]]*)\]", text).group(1))


def offline(environment):
    return dict(environment, TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1")


def run_ours(options, name, folder):
    """@return exit status, seconds of the processor, what it printed"""
    _, _, rows, length, _ = CASES[name]
    (folder / "data").mkdir()
    column = {"type": "int32", "shape": [length]}
    (folder / "data/train.mindrecord").write_text(json.dumps(
        {"rows": rows, "columns": {one: column for one in columns_of(options, name)}}), encoding="utf-8")
    environment = offline({k: v for k, v in os.environ.items() if not k.startswith(ours.FOREIGN)})
    environment.update(MS_ALLOC_CONF="memory_tracker:True", PATH=os.path.dirname(options.python) + os.pathsep + os.environ["PATH"])
    command = [options.msrun, "--sim_level=1", "--worker_num=8", "--log_dir=%s" % folder, "--python=" + options.python,
               str(options.repository / "run_mindformer.py"), *arguments_of(options, name, folder)]
    done = subprocess.run(command, cwd=folder, env=environment, timeout=ours.SECONDS, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode("utf-8", "replace")


# Their side: real rows, and weights of zeros, since values do not enter a dry run and random ones take minutes.
LAUNCH = """# jit_level: %(level)s
import json, os, runpy, sys
import numpy as np
from mindspore.common import initializer as i
zeros = lambda *given: np.zeros(given[-1], np.float32)
i._init_random_normal = i._init_random_uniform = i._init_truncated_normal = zeros
i._init_random_normal_inplace = i._init_random_uniform_inplace = i._init_truncated_normal_inplace = lambda *given: None
from mindspore.mindrecord import FileWriter
os.makedirs(%(data)r)
writer = FileWriter(os.path.join(%(data)r, "train.mindrecord"), 1, overwrite=True)
column = {"type": "int32", "shape": [-1]}
writer.add_schema({name: column for name in %(columns)r})
row = np.ones(%(length)d, np.int32)
writer.write_raw_data([{name: row for name in %(columns)r} for _ in range(%(rows)d)])
writer.commit()
sys.path.insert(0, %(repository)r)
sys.argv = ["run_mindformer.py"] + %(arguments)r
runpy.run_path(os.path.join(%(repository)r, "run_mindformer.py"), run_name="__main__")
"""


def record(options, name, rank):
    import theirs
    _, _, rows, length, _ = CASES[name]
    with tempfile.TemporaryDirectory(prefix="drydock-mindformers-") as temporary:
        folder = Path(temporary)
        text = (options.repository / CASES[name][0]).read_text(encoding="utf-8")
        level = next((one for one in ("O0", "O1") if 'jit_level: "%s"' % one in text), "O1")
        script = folder / "launch.py"
        script.write_text(LAUNCH % {
            "level": level, "data": str(folder / "data"), "columns": columns_of(options, name), "length": length, "rows": rows,
            "repository": str(options.repository), "arguments": arguments_of(options, name, folder)}, encoding="utf-8")
        os.environ.update(offline({}))
        made = theirs.Wheel().record(script, 8, rank, folder / "out")
        if made["exit"] and options.keep:
            (options.keep / ("%s-%d.log" % (name, rank))).write_bytes((folder / "out/log").read_bytes())
    made.update(script="run_mindformer.py", case=name)
    made.pop("wall_s", None)
    return made


def record_all(options, known):
    for name in options.record.split(","):
        for rank in CASES[name][1]:
            made = record(options, name, rank)
            print(name, rank, made["exit"], made.get("used_peak_bytes"), made.get("error", ""), flush=True)
            if made["exit"] == 0:
                known[name, rank] = made
                lines = [json.dumps(known[key], separators=(",", ":")) for key in sorted(known)]
                VECTORS.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def of_the_step(collectives):
    """Without those of a network of its own that a callback of mindformers runs once in front of the steps (it counts operations)."""
    return [one for one in collectives if not re.fullmatch(r"Default/AllReduce-op\d+", one["node"])]


HEAD = """| configuration | rank | used peak | MindSpore | | with fragments | MindSpore | | collectives | MindSpore | |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"""


def too_far(name, rank, row):
    """What of a record is further away than EXPECTED says, as text."""
    used, actual, equal = EXPECTED.get((name, rank), (1, 1, True))
    parts = ["%s %+.2f %%, at most %g %%" % (what, row[key], most)
             for what, key, most in (("used peak", "used %", used), ("with fragments", "actual %", actual)) if abs(row[key]) > most]
    if equal and row["collectives"] == "no":
        parts.append("other collectives")
    return ["%s rank %d: %s" % (name, rank, ", ".join(parts))] if parts else []


def compare(options, name, of_case):
    """Prints the rows of a configuration; what is further away than expected, as text."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="drydock-mindformers-") as temporary:
        folder = Path(options.keep or temporary) / name
        folder.mkdir(parents=True, exist_ok=True)
        status, text = run_ours(options, name, folder)
        for one in of_case:
            mine = ours.as_record(folder, one["rank"]) if status == 0 else None
            if mine is None:
                print("| %s | %d | status %d: %s |||||||||" % (name, one["rank"], status, text.strip().splitlines()[-1][:200]))
                wrong.append("%s rank %d: ended with status %d" % (name, one["rank"], status))
                continue
            one["collectives"] = of_the_step(one["collectives"])
            row = differences.compare(one, mine)
            print("| %s | %d | %d | %d | %+.2f %% | %d | %d | %+.2f %% | %d | %d | %s |" % (
                name, one["rank"], mine["used_peak_bytes"], one["used_peak_bytes"], row["used %"], mine["actual_peak_bytes"],
                one["actual_peak_bytes"], row["actual %"], len(mine["collectives"]), len(one["collectives"]), row["collectives"]),
                flush=True)
            wrong += too_far(name, one["rank"], row)
            if options.details:
                for key, value in row.items():
                    print("    %s: %s" % (key, value))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", required=True, type=lambda text: Path(text).resolve(), help="checkout of mindformers")
    parser.add_argument("--msrun", type=os.path.abspath, default="msrun")
    parser.add_argument("--python", default=sys.executable, help="interpreter with what mindformers imports")
    parser.add_argument("--only", default="", help="configurations, with commas; else all")
    parser.add_argument("--record", default="", help="names of configurations to record with the wheel")
    parser.add_argument("--keep", type=Path, help="folder that keeps the reports")
    parser.add_argument("--details", action="store_true", help="everything that differs")
    options = parser.parse_args()
    known = {(one["case"], one["rank"]): one for one in json.loads(VECTORS.read_text(encoding="utf-8"))} if VECTORS.exists() else {}
    if options.record:
        record_all(options, known)
        return 0
    asked = [name for name in CASES if name in options.only.split(",") or not options.only]
    print(HEAD)
    wrong = []
    unrecorded = [name for name in asked if not any(key[0] == name for key in known)]
    for name in asked:
        if name not in unrecorded:
            wrong += compare(options, name, [known[key] for key in sorted(known) if key[0] == name])
    for name in unrecorded:
        print("not recorded: " + name)
    for text in wrong:
        print("further away than expected: " + text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
