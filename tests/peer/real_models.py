#!/usr/bin/env python3
"""Dry-runs the training configurations of an unmodified checkout of mindformers: full size, all ranks, without data.

    python3 tests/peer/real_models.py --repository MINDFORMERS --msrun build/release/bin/msrun --python VENV/bin/python3 [--table]

Nothing of the checkout is stored here or changed. Every YAML is given to its run_mindformer.py with the parallel setting it has; the
data set is a text file that declares rows and columns (or a small file of the format that the configuration reads). One line per
configuration: `runs` with parameters, peak, collectives, seconds and MiB, or the status and the first line that says why.
Exit status 0 whatever the outcome, 1 if a configuration with a known number of parameters has another one.
"""
import argparse
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

# YAML: number of parameters as its publisher says it (configuration or safetensors index of the public model); None: not known.
CONFIGURATIONS = {
    "research/llama3_1/llama3_1_8b/finetune_llama3_1_8b.yaml": 8030261248,
    "research/llama3_1/llama3_1_70b/finetune_llama3_1_70b.yaml": 70553706496,
    "research/qwen2_5/finetune_qwen2_5_0_5b_8k.yaml": 494032768,
    "research/qwen2_5/finetune_qwen2_5_1_5b_8k.yaml": 1543714304,
    "research/qwen2_5/finetune_qwen2_5_7b_8k.yaml": 7615616512,
    "research/qwen2_5/finetune_qwen2_5_14b_8k.yaml": 14770033664,
    "research/qwen2_5/finetune_qwen25_14b_128k.yaml": 14770033664,
    "research/qwen2_5/finetune_qwen2_5_32b_8k.yaml": 32763876352,
    "research/qwen2_5/finetune_qwen2_5_32b_32k.yaml": 32763876352,
    "research/qwen2_5/finetune_qwen2.5_72B_32K.yaml": 72706203648,
    "configs/qwen3/pretrain_qwen3_32b_4k.yaml": 32762123264,
    "configs/glm4/finetune_glm4_9b.yaml": 9399951360,
    "research/mixtral/mixtral_8x7b/finetune_mixtral-8x7b.yaml": 46702792704,
    "research/mixtral/mixtral_8x7b/pretrain_mixtral-8x7b.yaml": 46702792704,
    "research/mixtral/mixtral_8x7b/pretrain_mixtral-8x7b_32k.yaml": 46702792704,
    "research/telechat2/telechat2-7b/finetune_telechat_7b.yaml": None,
    "research/telechat2/telechat2-35b/finetune_telechat_35b.yaml": None,
    "research/telechat2/telechat2-39b-a12b/finetune_telechat_39b_a12b.yaml": None,
    "research/telechat2/telechat2-115b/finetune_telechat_115b.yaml": None,
}


def setting(text, name, default=None):
    """The first value of `name:` in a YAML text (anchors and comments aside); no YAML reader is needed for numbers."""
    found = re.search(r"^\s*%s:\s*(?:&\w+\s+)?([^\s#]+)" % re.escape(name), text, re.MULTILINE)
    return default if found is None else found.group(1)


def number(text, name, default=1):
    value = setting(text, name)
    return int(value) if value is not None and value.isdigit() else default


def world(text):
    return (number(text, "data_parallel") * number(text, "model_parallel") * number(text, "pipeline_stage") *
            number(text, "context_parallel"))


def declare(text, folder, rows):
    """A declared MindRecord file with the columns that the YAML reads; a row has one token more than the sequence."""
    columns = re.search(r'input_columns:\s*\[([^\]]*)\]', text).group(1)
    names = re.findall(r'"(\w+)"', columns) or re.findall(r"'(\w+)'", columns)
    length = number(text, "seq_length") + (0 if "ChatGLM" in text else 1)  # GLM cuts no token off
    shape = {"type": "int32", "shape": [length]}
    with open(os.path.join(folder, "train.mindrecord"), "w", encoding="utf-8") as file:
        json.dump({"rows": rows, "columns": {name: shape for name in names}}, file)


def write_documents(stem, tokens):
    """One document of `tokens` zeros in the two files of the indexed format that Megatron-LM documents: lengths and offsets, then tokens."""
    with open(stem + ".idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 4, 1, 2))
        file.write(struct.pack("<iqqq", tokens, 0, 0, 1))
    with open(stem + ".bin", "wb") as file:
        file.write(bytes(4 * tokens))


class Outcome:
    """What a run left: status, reports, text, seconds (elapsed and of the processor) and the most memory of one process."""

    def __init__(self, status, lines, reports, seconds, processor, memory):
        self.status, self.lines, self.reports = status, lines, reports
        self.seconds, self.processor, self.memory = seconds, processor, memory

    def report(self, name):
        with open(os.path.join(self.reports, name), encoding="utf-8") as file:
            return json.load(file)

    def reason(self):
        """The first line that says why it ended: an error of ours, else the last line."""
        marked = [line for line in self.lines if re.search(r"(error\[|: unsupported:|: error:)", line) and "warning:" not in line]
        return re.sub(r"^msrun: ", "", (marked or self.lines[-1:] or [""])[0].strip())[:300]


def run(command, python, reports, timeout):
    """Runs a command in its own session; at the time limit it is asked to end, with all it started."""
    start = time.monotonic()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MS_", "RANK"))}
    environment.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1",
                       PATH=os.path.dirname(python) + os.pathsep + environment.get("PATH", ""))  # helpers that are built find it
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = os.path.join(reports, "console.txt")
    with open(log, "wb") as file:
        child = subprocess.Popen(command, cwd=reports, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        late = False
        while True:
            found, raw, used = os.wait4(child.pid, os.WNOHANG)
            if found:
                break
            if time.monotonic() - start > timeout:
                os.killpg(child.pid, signal.SIGKILL if late else signal.SIGTERM)
                late, start_kill = True, time.monotonic()
                timeout += 10
            time.sleep(0.1)
    status = os.waitstatus_to_exitcode(raw)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line for line in file.read().splitlines() if line.strip()]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome("late" if late else status, lines, reports, time.monotonic() - start, processor, used.ru_maxrss // 1024)


def dry_run(options, yaml, reports):
    path = os.path.join(options.repository, yaml)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ranks = world(text)
    data = os.path.join(reports, "data")
    os.makedirs(data, exist_ok=True)
    link = os.path.join(reports, "configs")  # paths inside of a YAML begin at the checkout
    if not os.path.islink(link):
        os.symlink(os.path.join(options.repository, "configs"), link)
    command = [os.path.abspath(options.msrun), "--sim_level=1", "--worker_num=%d" % ranks, "--log_dir=" + reports,
               "--python=" + options.python, os.path.join(options.repository, "run_mindformer.py"), "--config", path,
               "--register_path", os.path.dirname(os.path.dirname(path)), "--run_mode", "train"]
    if "MindDataset" in text:
        declare(text, data, 8 * ranks * number(text, "micro_batch_num") * number(text, "batch_size"))
        command += ["--train_dataset_dir", data]
    else:
        write_documents(os.path.join(data, "text_document"), 64 * number(text, "seq_length"))
        path = os.path.join(data, os.path.basename(path))
        with open(path, "w", encoding="utf-8") as file:  # its data path is a list, which the command line cannot reach
            file.write(re.sub(r'"/path/to/[^"]*"', '"%s"' % os.path.join(data, "text_document"), text))
        command[command.index("--config") + 1] = path
    speed_up = setting(text, "parallel_speed_up_json_path", "").strip("\"'")
    if speed_up.endswith(".json") and not os.path.exists(os.path.join(reports, speed_up)):
        os.makedirs(os.path.dirname(os.path.join(reports, speed_up)), exist_ok=True)
        with open(os.path.join(reports, speed_up), "w", encoding="utf-8") as file:
            file.write("{}")  # a file of the user's, which MindSpore wants to be there
    if setting(text, "sink_mode") is None:
        command += ["--sink_mode", "True"]  # mindformers' default is 1, which MindSpore's Model refuses
    return ranks, run(command + options.extra, options.python, reports, options.timeout)


def gibibytes(size):
    return "%.1f" % (size / 2**30)


def parameters(outcome, published):
    """(millions of parameters as mindformers counts them in its log, whether that is the published number)."""
    found = re.search(r"Network Parameters: (\d+) M", "\n".join(outcome.lines))
    counted = int(found.group(1)) if found else None
    return counted, published is None or counted is None or abs(counted - published / 1e6) <= 1


def row(name, ranks, outcome, published):
    """One row of the table of docs/compatibility.md, and whether the number of parameters is right."""
    if outcome.status != 0:
        return "| %s | %d | status %s: %s |||||||" % (name, ranks, outcome.status, outcome.reason().replace("|", "/")), True
    summary, memory = outcome.report("summary.json"), outcome.report("memory.json")
    counted, right = parameters(outcome, published)
    weights = [next(part["bytes"] for part in stage["breakdown"] if part["part"] == "parameters") for stage in memory["classes"]]
    return "| %s | %d | %s%s | %s | %s | %s | %d | %.0f | %d |" % (
        name, ranks, counted, "" if published is None else " (%.0f)" % (published / 1e6), ", ".join(map(gibibytes, weights)),
        ", ".join(gibibytes(stage["used_peak_bytes"]) for stage in memory["classes"]),
        ", ".join(gibibytes(stage["actual_peak_bytes"]) for stage in memory["classes"]), summary["communication"]["count"],
        outcome.processor, outcome.memory), right


def line(name, ranks, outcome):
    return "%-6s %-32s %5d ranks %6.1f s %6.1f cpu %6d MiB  %s" % (
        outcome.status, name, ranks, outcome.seconds, outcome.processor, outcome.memory,
        "" if outcome.status == 0 else outcome.reason())


HEAD = """| configuration | ranks | parameters, million (published) | weights of a rank per stage, GiB | used peak per stage, GiB | with fragments | collectives per step \
| processor s | MiB |
|---|---:|---:|---|---|---|---:|---:|---:|"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repository", required=True, help="checkout of mindformers")
    parser.add_argument("--msrun", required=True)
    parser.add_argument("--python", default=sys.executable, help="interpreter with what mindformers imports")
    parser.add_argument("--timeout", type=int, default=1200)
    parser.add_argument("--only", default="", help="YAMLs whose path contains this text")
    parser.add_argument("--keep", default="", help="folder that keeps the reports")
    parser.add_argument("--table", action="store_true", help="print rows of a Markdown table")
    parser.add_argument("extra", nargs="*", help="further arguments of run_mindformer.py, after --")
    options = parser.parse_args()
    options.repository = os.path.abspath(options.repository)
    wrong = 0
    if options.table:
        print(HEAD)
    for yaml, published in CONFIGURATIONS.items():
        if options.only not in yaml:
            continue
        name = os.path.splitext(os.path.basename(yaml))[0]
        with tempfile.TemporaryDirectory() as folder:
            reports = os.path.join(options.keep or folder, name)
            os.makedirs(reports, exist_ok=True)
            ranks, outcome = dry_run(options, yaml, os.path.abspath(reports))
            text, right = row(name, ranks, outcome, published)
            wrong += not right
            print(text if options.table else line(name, ranks, outcome), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
