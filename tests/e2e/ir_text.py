"""Reads the nodes of an IR dump: what a test needs of them."""

import re
from typing import NamedTuple, Tuple


class IrNode(NamedTuple):
    op: str
    instance: str
    text: str  # the node's line
    inputs: Tuple[str, ...]  # shapes as written, "8, 16"
    outputs: Tuple[str, ...]

    def attribute(self, name):
        """Value as written: a word, or a tuple to its closing bracket."""
        match = re.search(r"\b%s: (\(.*?\)(?=[,}])|[^,}]*)" % name, self.text)
        return match.group(1) if match else None

    def tuples(self):
        """Constant tuples among the operands."""
        operands = self.text.split(" = ", 1)[1].split(" {instance name")[0]
        return [tuple(map(int, values.split(","))) for values in re.findall(r", \(([-\d, ]+)\)", operands)]


_HEAD = re.compile(r"^\s+%\d+\(.*?\) = (\w+)\(")
_SHAPE = re.compile(r"\], \(([\d, ]*)\)")


def nodes(text):
    lines = text.splitlines()
    found = []
    for index, line in enumerate(lines):
        head = _HEAD.match(line)
        if not head:
            continue
        inputs, _, outputs = lines[index + 1].partition(" -> ")
        instance = re.search(r"\{instance name: ([^}]*)\}", line)
        found.append(IrNode(head.group(1), instance.group(1) if instance else "", line,
                            tuple(_SHAPE.findall(inputs)), tuple(_SHAPE.findall(outputs))))
    return found
