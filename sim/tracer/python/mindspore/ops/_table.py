"""Primitive classes, made from the operator table of the graph recorder."""
from mindspore._drydock import native

REQUIRED = object()


class Argument:
    """One argument of a signature: name, default, and kind "attr", "tensor", "optional" or "tuple"."""

    def __init__(self, fields):
        self.name = fields["name"]
        self.kind = fields["kind"]
        self.default = _default(fields["default"]) if "default" in fields else (
            None if self.kind == "optional" else REQUIRED)


def _default(value):
    return tuple(_default(item) for item in value) if isinstance(value, list) else value


class Signature:
    """Constructor and call of an operator, and how the compiler treats it."""

    def __init__(self, operator):
        self.name = operator["name"]
        self.kind = operator["kind"]
        self.tuple_result = operator["tuple_result"]
        self.constructor = [Argument(fields) for fields in operator["constructor"]]
        self.call = [Argument(fields) for fields in operator["call"]]
        self.constructor_names = frozenset(argument.name for argument in self.constructor)
        self.only_a_tuple = len(self.call) == 1 and self.call[0].kind == "tuple"
        self.has_settings = any(argument.kind == "attr" for argument in self.call)


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
