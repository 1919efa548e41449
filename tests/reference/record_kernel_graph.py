"""record_kernel_graph.py FOLDER...: kernel graphs that MindSpore ran, as vectors for our order of kernels and memory run.

FOLDER is what a dry run of MindSpore with MS_DEV_SAVE_GRAPHS=1, MS_DEV_SAVE_GRAPHS_PATH=FOLDER/ir and
MS_ALLOC_CONF=memory_tracker:True left: graph_build_*.ir, execute_order.csv, memory_block.csv, the log with the two peaks.
Prints a JSON list, one object per folder, one node a line:

    nodes     [kind, name, operands, bytes of each result, operand each result is written into (-1: none), group, fusion]
              kinds: parameter input state kernel load update depend tuple item return; operands are indices
              of earlier nodes; of an item `name` is its number. Scalar arguments of kernels are left out: they are in
    constants bytes of each constant's block
    order     kernels as they were launched in the first step, indices of nodes
    steps, used_peak_bytes, actual_peak_bytes
"""
import collections
import csv
import json
import re
import sys
from pathlib import Path

VIRTUAL = {"MakeTuple": "tuple", "TupleGetItem": "item", "Return": "return", "Depend": "depend",
           "UpdateState": "update", "Load": "load"}
COLLECTIVES = {"AllReduce", "AllGather", "Broadcast", "ReduceScatter", "AlltoAll", "AllToAll", "Send", "Receive"}
# Results that a kernel writes into an operand.
IN_PLACE = {"AssignAdd": [0], "Assign": [0], "ApplyMomentum": [0], "SGD": [0], "Adam": [0, 1, 2],
            "AdamApplyOneWithDecayAssign": [1, 2, 3]}
BYTES = {"Float32": 4, "Float16": 2, "BFloat16": 2, "Int32": 4, "Int64": 8, "Bool": 1, "Int8": 1, "UInt8": 1, "UInt32": 4}


def joined(path):
    """Lines of an IR file; values that are printed over several lines are joined."""
    held = None
    for line in path.open(errors="replace"):
        if held is not None:
            held = held.rstrip("\n") + " " + line.strip() + "\n"
            if held.count("(") <= held.count(")"):
                yield held
                held = None
        elif re.match(r"  %\d+\(", line) and line.count("(") > line.count(")"):
            held = line
        else:
            yield line


def split(text):
    """Operands of a call, text behind its first parenthesis; and what follows the call."""
    parts, part, depth, quoted = [], "", 1, False
    for at, c in enumerate(text):
        quoted ^= c == '"'
        if not quoted:
            depth += (c in "([{<") - (c in ")]}>")
            if depth == 0:
                return [p for p in parts + [part.strip()] if p], text[at + 1:]
            if c == "," and depth == 1:
                parts, part = parts + [part.strip()], ""
                continue
        part += c
    return parts, ""


def tensors(text):
    """Bytes of "<Float32xDefaultFormat[const vector]{64, 10}>" and so on."""
    found = []
    for kind, extents in re.findall(r"<(\w+?)x\w+\[const vector\]\{([^}]*)\}>", text):
        bytes_ = BYTES.get(kind, 4)
        for extent in filter(None, (e.strip() for e in extents.split(","))):
            bytes_ *= int(extent)
        found.append(bytes_)
    return found


class Graph:
    def __init__(self, path):
        self.nodes, self.index, self.full_names = [["state", "U", [], []]], {"UMonad[U]": 0}, {}
        current, types = None, 0
        for line in joined(path):
            call = re.match(r"  (?:%(\d+)\([^)]*\) = (\w+)|(Return))\((.*)$", line, re.S)
            if line.startswith("%para"):
                name = line.split(":")[0].strip()
                kind = "parameter" if "IsWeight: true" in line else "input"
                self.index[name] = len(self.nodes)
                self.nodes.append([kind, name.split("_", 1)[1], [], tensors(line)])
            elif call:
                current, types = self.add(call), 0
            elif current is not None and line.startswith("      : ("):
                types += 1
                if types == 2 and " -> " in line and current[0] == "kernel":
                    current[3] = tensors(line.split(" -> ", 1)[1])
            elif current is not None and "Fullname with scope" in line:
                self.full_names[re.search(r"scope: \((.*)\)", line).group(1)] = len(self.nodes) - 1

    def add(self, call):
        op = re.sub("^PrimFunc_", "", call.group(2) or call.group(3))
        operands, rest = split(call.group(4))
        kind = VIRTUAL.get(op, "kernel")
        name = re.search(r"\((\d+)\)", operands[1]).group(1) if kind == "item" else op if kind == "kernel" else ""
        node = [kind, name, [self.index[o] for o in operands if o in self.index], []]
        if kind == "kernel":
            group = re.search(r'\bgroup: "([^"]*)"', rest) if op in COLLECTIVES else None
            fusion = re.search(r"\bfusion: I64\((\d+)\)", rest) if group else None
            node += [IN_PLACE.get(op, []), group.group(1) if group else "", int(fusion.group(1)) if fusion else 0]
        self.index["%" + (call.group(1) or "return")] = len(self.nodes)
        self.nodes.append(node)
        return node


def rows(folder, name):
    return list(csv.DictReader(next(folder.rglob(name)).open()))


def record(folder):
    graph = Graph(sorted(folder.rglob("graph_build_*.ir"))[-1])
    order, launched = [], [r["node_name"] for r in rows(folder, "execute_order.csv")]
    for name in launched:
        node = graph.full_names.get(name)
        if node is not None and node not in order:
            order.append(node)
    log = (folder / "log").read_text(errors="replace")
    return {"name": folder.name, "steps": max(collections.Counter(launched).values()),
            "used_peak_bytes": max(map(int, re.findall(r"Max peak used memory size is (\d+)", log))),
            "actual_peak_bytes": max(map(int, re.findall(r"Max actual used memory size is (\d+)", log))),
            "constants": [int(b["size"]) for b in rows(folder, "memory_block.csv") if b["type"] == "ConstantValue"],
            "order": order, "nodes": graph.nodes}


def main():
    texts = []
    for folder in map(Path, sys.argv[1:]):
        graph = record(folder)
        nodes = ",\n".join(json.dumps(node, separators=(",", ":")) for node in graph.pop("nodes"))
        texts.append(json.dumps(graph, separators=(",", ":"))[:-1] + ',"nodes":[\n' + nodes + "]}")
    print("[" + ",\n".join(texts) + "]")


main()
