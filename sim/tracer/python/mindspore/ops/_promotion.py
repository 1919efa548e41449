"""Element types of operands before an operator is recorded: implicit casts, types of numbers.

Source: mindspore ops/infer, "Dtype groups".
"""
from mindspore._drydock import release
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor

_BOTH = frozenset((
    "Add", "Sub", "Mul", "Div", "RealDiv", "DivMod", "FloorDiv", "FloorMod", "Pow", "Xlogy", "Atan2",
    "Gcd", "Outer", "Maximum", "Minimum", "Equal", "NotEqual", "Less", "LessEqual", "Greater",
    "GreaterEqual", "LogicalAnd", "LogicalOr", "AddExt", "SubExt", "Mod", "SquaredDifference",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "DivNoNan", "TruncateDiv", "TruncateMod", "Xdivy"))
# Operators that take two tensors of different types as they are, and the first release of MindSpore in which they do.
_MIXED = {"Mul": (2, 8), "Div": (2, 9), "DivMod": (2, 9), "Equal": (2, 9), "Less": (2, 9)}
_POSITIONS = {"Select": (1, 2)}
_WRITTEN = frozenset(("Assign", "AssignAdd", "AssignSub"))


def _group(op, operands):
    if op in _BOTH or op in _WRITTEN:
        return range(min(2, len(operands)))
    return _POSITIONS.get(op, ())


def _takes_both(op, operands):
    since = _MIXED.get(op)
    return since is not None and all(isinstance(value, Tensor) for value in operands[:2]) and release.at_least(*since)


def _number_type(number):
    return values.describe(number)[1]


def _with_number(tensor_type, number):
    """Type of a group of a tensor and a Python number."""
    if tensor_type.kind == "bool" and not isinstance(number, bool):
        return mstype.int64 if isinstance(number, int) else mstype.float32
    if isinstance(number, float) and tensor_type.kind in ("int", "uint"):
        return mstype.float32
    return tensor_type


def common_type(op, operands):
    """Type that the grouped operands get, None if the operator has no group."""
    group = [operands[i] for i in _group(op, operands) if operands[i] is not None]
    if not group:
        return None
    tensors = [v for v in group if isinstance(v, Tensor)]
    numbers = [v for v in group if isinstance(v, (bool, int, float))]
    if op in _WRITTEN and tensors:
        return tensors[0].dtype
    found = None
    for tensor in tensors:
        found = tensor.dtype if found is None else mstype.promote(found, tensor.dtype)
    for number in numbers:
        found = _number_type(number) if found is None else _with_number(found, number)
    return found


def prepare(op, operands, cast):
    """(operands with implicit casts, {position: type of a number}).

    `cast(tensor, dtype)` records the cast of a tensor.
    """
    target = None if _takes_both(op, operands) else common_type(op, operands)
    if target is None:
        return operands, {}
    operands, dtypes = list(operands), {}
    for i in _group(op, operands):
        value = operands[i]
        if isinstance(value, Tensor):
            written = op in _WRITTEN and i == 0
            if value.dtype is not target and not written:
                operands[i] = cast(value, target)
        else:
            dtypes[i] = target
    return operands, dtypes


def to_compute_type(operands, compute_type, cast):
    """Parameters in the type that Cell.to_float asked for; the inputs of a cell are cast where it is called, results keep
    their type."""
    return [cast(value, compute_type) if isinstance(value, Parameter) and value.dtype.kind == "float" else value
            for value in operands]
