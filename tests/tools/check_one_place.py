"""An operator's name stands in strategies/rules and nowhere else in the C++ code (tests excepted).

The names are those of the operator table: the first argument of DRYDOCK_OP, of the family macros built
on it (DRYDOCK_UNARY, DRYDOCK_BINARY, ...), the text given to DRYDOCK_OP_NAMED, and all aliases. Other code asks the
operator's entry, or uses the constants of strategies/operators/known_ops.h and listed_ops.h. A literal counts if it is
exactly a name, so messages may mention operators. Nor does any other code compare names: what tells operators
apart is a field of the entry.
"""

import re
import sys

import source_tree

RULES = ("strategies", "rules")
NAMES = ("strategies/operators/known_ops.h", "strategies/operators/listed_ops.h")
# Compares the names of two nodes, whatever they are.
SAME = "strategies/graph/graph.cc"
FOLDERS = ("base", "strategies", "sim", "reports", "launcher")

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_NAMED = re.compile(r'\bDRYDOCK_OP_NAMED\(\s*\w+\s*,\s*"([^"]+)"')
_ALIASES = re.compile(r'\.aliases\s*=\s*"([^"]+)"')
# Column 0: a table entry. Other macros (DRYDOCK_TRY, ...) stand inside functions.
_ENTRY = re.compile(r"^DRYDOCK_(?!OP_NAMED\b)[A-Z_]+\(\s*(\w+)\s*[,)]", re.MULTILINE)
# `node.op == ...`, `... == ops::kName`, either way round.
_COMPARED = re.compile(r"(?:\.|->)op\s*[=!]=|[=!]=\s*(?:strategies::)?ops::k|ops::k\w+\s*[=!]=|[=!]=\s*\w+(?:\.|->)op\b")


def operator_names(root):
    names = set()
    for path in source_tree.cpp_files(root, ("/".join(RULES),)):
        text = source_tree.without_comments(source_tree.read(root / path) or "")
        text = _DEFINE.sub("", text)
        names.update(_NAMED.findall(text))
        names.update(_ENTRY.findall(text))
        names.update(alias for aliases in _ALIASES.findall(text) for alias in aliases.split(","))
    return names


def check(root):
    names = operator_names(root)
    if not names:
        return ["strategies/rules:1: no operator found; has the form of the table entries changed?"]
    problems = []
    for path in source_tree.cpp_files(root, FOLDERS):
        if path.parts[:2] == RULES or path.as_posix() in NAMES:
            continue
        for line, literal in source_tree.string_literals(source_tree.read(root / path) or ""):
            if literal in names:
                problems.append(f'{path}:{line}: operator name "{literal}" outside strategies/rules')
        problems += _comparisons(root, path)
    return problems


def _comparisons(root, path):
    if path.as_posix() == SAME:
        return []
    text = source_tree.without_comments(source_tree.read(root / path) or "")
    return [
        f"{path}:{source_tree.line_of(text, match.start())}: operators are compared by name; ask the entry"
        for match in _COMPARED.finditer(text)
    ]


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
