"""Records of MindSpore's own dry run: where they are, what is in them, which of them are compared.

A folder of records holds `dry_run.json` (the records, one rank each) and `dry_run/` (the scripts and `cases.json`, which says
how many ranks a job has and which of them are recorded). The fields are explained in README.md.
"""

import ast
import collections
import json
import os
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def vectors_folder():
    """Folder of the records; DRYDOCK_VECTORS names another one with the same files."""
    return Path(os.environ.get("DRYDOCK_VECTORS") or SOURCE / "tests/vectors")


def load(folder):
    return json.loads((folder / "dry_run.json").read_text(encoding="utf-8"))


def scripts_of(folder):
    """Folder of the scripts; they may also stand in a folder `cases` beside that of the records."""
    for place in (folder / "dry_run", folder.parent / "cases/dry_run"):
        if (place / "cases.json").exists():
            return place
    return folder / "dry_run"


def save(folder, cases, there):
    """Writes records, {(script, rank): record}, in the order of the cases; one line each."""
    ordered = [there[name, rank] for name, case in sorted(cases.items()) for rank in case["ranks"] if (name, rank) in there]
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in ordered)
    (folder / "dry_run.json").write_text("[\n" + lines + "\n]\n", encoding="utf-8")


def name_of(record):
    """`opt_adam`, or `llama_gqa_16/5` for another rank than the first one."""
    stem = Path(record["script"]).stem
    return stem if record["rank"] == 0 else "%s/%d" % (stem, record["rank"])


def has_stages_or_shards(text):
    """Whether a script cuts its network into pipeline stages or shards its optimizer."""
    return re.search(r"pipeline_stages?=|\.pipeline\(|hsdp\(|enable_parallel_optimizer=True", text) is not None


# --- ranks ---

def holds(ranks, rank):
    """Whether a text such as `0-3,8` or `0-12:4` contains the rank."""
    for part in str(ranks).split(","):
        span, _, step = part.strip().partition(":")
        first, _, last = span.partition("-")
        if int(first) <= rank <= int(last or first) and (rank - int(first)) % int(step or 1) == 0:
            return True
    return False


def ranges(ranks):
    """[0, 1, 2, 3, 8] -> `0-3,8`; more than two evenly spaced ones -> `0-12:4`."""
    steps = {later - earlier for earlier, later in zip(ranks, ranks[1:])}
    if len(ranks) > 2 and len(steps) == 1 and steps != {1}:
        return "%d-%d:%d" % (ranks[0], ranks[-1], steps.pop())
    runs = []
    for rank in ranks:
        if runs and runs[-1][1] + 1 == rank:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in runs)


# --- order of kernels ---

def run_length(names):
    """Equal neighbours are counted: `MatMul*2 Add`."""
    runs = []
    for name in names:
        if runs and runs[-1][0] == name:
            runs[-1][1] += 1
        else:
            runs.append([name, 1])
    return " ".join(name if count == 1 else "%s*%d" % (name, count) for name, count in runs)


def from_run_length(text):
    names = []
    for part in text.split():
        name, _, count = part.partition("*")
        names += [name] * int(count or 1)
    return names


def kernel_name(row):
    """Name of the primitive of a row of execute_order.csv; kernels without one by the last part of the node's name."""
    found = re.search(r"ValueNode<[^>]*> (\S+?)[},]", row["node_info"])
    name = found.group(1) if found else row["node_name"]
    return re.sub(r"^PrimFunc_|-op\d+.*$", "", name.rsplit("/", 1)[-1])


def rows_of_a_step(launched):
    """The file lists every step that ran: a node of the step stands there once per step. What is there more or less often
    belongs to other graphs, such as those of checkpoints.

    @return number of steps, rows of the first one
    """
    times = collections.Counter(row["node_name"] for row in launched)
    steps = collections.Counter(times.values()).most_common(1)[0][0] if times else 0
    seen, rows = set(), []
    for row in launched:
        if times[row["node_name"]] == steps and row["node_name"] not in seen:
            seen.add(row["node_name"])
            rows.append(row)
    return steps, rows


def kernels_of_a_step(launched):
    """Names of the kernels of one step in order, without the events between streams."""
    names = map(kernel_name, rows_of_a_step(launched)[1])
    return [name for name in names if name not in ("StreamSend", "StreamRecv")]


# --- what is compared ---

def _constants(tree):
    """Names that a script binds to a plain value at its top level: `B, H = 64, 256`."""
    known = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts))
            for one, bound in pairs:
                if isinstance(one, ast.Name) and isinstance(bound, ast.Constant):
                    known[one.id] = bound.value
    return known


def _called_name(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", "")


# (what, names that are called, settings and the values that switch it on): nothing is left out at present.
CUTS_OF_LATER_WORK = ()


def not_compared(text, left_out=CUTS_OF_LATER_WORK):
    """@return why a script is not compared, from what it calls and sets; empty if it is"""
    tree = ast.parse(text)
    known = _constants(tree)
    found = []
    for what, calls, settings in left_out:
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = _called_name(call)
            named = [(one.arg, one.value) for one in call.keywords]
            on = any(key in settings and settings[key](value.value if isinstance(value, ast.Constant)
                                                       else known.get(getattr(value, "id", None), "unknown"))
                     for key, value in named)
            if on or name in calls:
                found.append(what)
                break
    return ", ".join(found)
