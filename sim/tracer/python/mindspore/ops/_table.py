"""Primitive classes, made from the operator table of the graph recorder."""
import ast

from mindspore._drydock import native
from mindspore._drydock.errors import TracerDefect

REQUIRED = object()


class Argument:
    """One argument of a signature: name, default, and kind "attr", "tensor", "optional" or "tuple"."""

    def __init__(self, name, default, kind):
        self.name = name
        self.default = default
        self.kind = kind


class Signature:
    """Constructor and call of an operator, from text like "Concat(axis=0)(*tensors)"."""

    def __init__(self, operator):
        self.name = operator["name"]
        self.kind = operator["kind"]
        self.writes = [int(p) for p in operator["writes"].split(",") if p.strip().isdigit()]
        constructor, call = _split_signature(operator["signature"] or operator["name"] + "()()")
        self.constructor = [_argument(text, "attr") for text in constructor]
        self.call = [_argument(text, "tensor") for text in call]


def _split_signature(text):
    """The argument texts of both pairs of parentheses."""
    parts, depth, begin = [], 0, 0
    for i, character in enumerate(text):
        if character == "(":
            if depth == 0:
                begin = i + 1
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                parts.append(text[begin:i])
    if depth != 0 or len(parts) != 2:
        raise TracerDefect("operator signature '%s' cannot be read" % text)
    return _split_arguments(parts[0]), _split_arguments(parts[1])


def _split_arguments(text):
    """Splits at commas outside of brackets and quotes."""
    items, depth, quoted, current = [], 0, "", ""
    for character in text:
        if quoted:
            quoted = "" if character == quoted else quoted
        elif character in "'\"":
            quoted = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            items.append(current.strip())
            current = ""
            continue
        current += character
    if current.strip():
        items.append(current.strip())
    return items


def _argument(text, kind):
    marks = {"#": "attr", "?": "optional", "*": "tuple"}
    if text[0] in marks:
        kind, text = marks[text[0]], text[1:]
    if text.endswith("?"):
        kind, text = "optional", text[:-1]
    name, _, default = text.partition("=")
    if not default:
        return Argument(name.strip(), None if kind == "optional" else REQUIRED, kind)
    return Argument(name.strip(), ast.literal_eval(default.strip()), kind)


_signatures = None
_classes = {}


def signatures():
    """All signatures by name and alias."""
    global _signatures
    if _signatures is None:
        _signatures = {}
        for operator in native.operator_table():
            for name in [operator["name"]] + [a.strip() for a in operator["aliases"].split(",") if a]:
                _signatures[name] = operator
    return _signatures


def has_operator(name):
    return name in signatures()


def primitive_class(name):
    """The class of an operator; one object per operator, also under its aliases. None if unknown."""
    operator = signatures().get(name)
    if operator is None:
        return None
    made = _classes.get(operator["name"])
    if made is None:
        from mindspore.ops.primitive import make_class
        made = _classes[operator["name"]] = make_class(Signature(operator))
    return made
