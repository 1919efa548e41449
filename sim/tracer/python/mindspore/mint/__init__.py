"""mindspore.mint: functions with PyTorch's names and arguments."""
from mindspore._drydock import arguments, names
from mindspore._drydock.lazy import Stub, stub, submodule
from mindspore.mint import nn  # noqa: F401

# Function -> operator that takes the tensors and nothing else.
_OPERATORS = {
    "add": "AddExt", "sub": "SubExt", "matmul": "MatMulExt", "bmm": "BatchMatMulExt", "mul": "Mul", "eq": "Equal",
    "ne": "NotEqual", "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual", "minimum": "Minimum",
    "maximum": "Maximum", "abs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt",
    "square": "Square", "sigmoid": "Sigmoid", "tanh": "Tanh", "sin": "Sin", "cos": "Cos", "neg": "Neg", "erf": "Erf",
    "ceil": "Ceil", "floor": "Floor", "reciprocal": "Reciprocal", "logical_not": "LogicalNot",
    "logical_and": "LogicalAnd", "logical_or": "LogicalOr", "sign": "Sign", "relu": "ReLU",
    "zeros_like": "ZerosLike", "ones_like": "OnesLike",
}
# Function -> functional form with the same arguments under another name.
_FUNCTIONS = {"cat": "concat", "concat": "concat", "unsqueeze": "expand_dims", "greater": "greater", "less": "less",
              "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
              "fix": "trunc"}


def _two(name, fallback):
    """An operator that may be missing from the table; then the plain one, scaled by alpha where asked."""
    def function(input, other, *, alpha=1):
        from mindspore.ops import _table
        from mindspore.ops.primitive import operator
        if alpha != 1:
            other = other * alpha
            return operator(fallback)(input, other)
        return operator(name if _table.has_operator(name) else fallback)(input, other)

    function.__name__ = name
    return function


def _plain(name):
    def function(*tensors):
        from mindspore.ops.primitive import operator
        return operator(name)(*tensors)

    function.__name__ = name
    function.operator = name
    return function


_PLAIN_OF = {"AddExt": "Add", "SubExt": "Sub"}


def transpose(input, dim0, dim1):
    return input.swapaxes(dim0, dim1)


def mean(input, dim=None, keepdim=False, *, dtype=None):
    from mindspore.ops import functional
    from mindspore.ops.primitive import operator
    if dtype is not None:
        input = functional.cast(input, dtype)
    return operator("MeanExt")(input, dim, keepdim)


def permute(input, dims):
    return input.transpose(*dims)


def split(tensor, split_size_or_sections, dim=0):
    from mindspore.ops import functional
    return functional.split(tensor, split_size_or_sections, dim)


def index_select(input, dim, index):
    from mindspore.ops.primitive import operator
    return operator("IndexSelect")(input, dim, index)


def cumsum(input, dim, dtype=None):
    from mindspore.ops.primitive import operator
    return operator("CumsumExt")(input, dim, dtype)


def stack(tensors, dim=0):
    from mindspore.ops.primitive import operator
    return operator("StackExt")(tuple(tensors), dim)


def topk(input, k, dim=-1, largest=True, sorted=True):
    from mindspore.ops.primitive import operator
    return operator("TopkExt")(input, k, dim, largest, sorted)


def pow(input, exponent):
    from mindspore.ops.primitive import operator
    plain = isinstance(exponent, (int, float)) and not isinstance(exponent, bool)
    return operator("PowTensorScalar" if plain and hasattr(input, "shape") else "Pow")(input, exponent)


def _extreme(name):
    def function(input, dim=None, keepdim=False):
        from mindspore.ops import _table, functional
        from mindspore.ops.primitive import operator
        if dim is None:
            return getattr(functional, name)(input)[0]
        if _table.has_operator(name.title() + "Dim"):
            return operator(name.title() + "Dim")(input, dim, keepdim)
        return getattr(functional, name)(input, dim, keepdim)

    function.__name__ = name
    return function


max, min = _extreme("max"), _extreme("min")


def gather(input, dim, index):
    """Elements along one dimension, each by a position of its own."""
    from mindspore.ops.primitive import operator
    return operator("GatherD")(input, dim, index)


def addcmul(input, tensor1, tensor2, *, value=1):
    from mindspore.ops.primitive import operator
    return operator("AddcmulExt")(input, tensor1, tensor2, value)


def remainder(input, other):
    from mindspore.ops.primitive import operator
    return operator("RemainderTensorTensor")(input, other)


def select(input, dim, index):
    """One position of a dimension, which goes away."""
    return input[(slice(None),) * (dim % input.ndim) + (index,)]


def normal(mean=0.0, std=1.0, size=None, generator=None):
    from mindspore import ops
    if size is None:
        size = next((item.shape for item in (mean, std) if hasattr(item, "shape")), (1,))
    return ops.normal(size, mean, std)


def empty(*size, dtype=None, device=None):
    from mindspore import ops
    return ops.zeros(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size, dtype)


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    if name in ("Tensor", "Generator", "default_generator"):
        import mindspore
        return getattr(mindspore, name)
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    found = submodule(nn.__name__, name) if name == "functional" else submodule(__name__, name)
    if found is None and name != "_kernels":
        kernels = submodule(__name__, "_kernels")
        found = getattr(kernels, name) if name in kernels.NAMES else None
    if found is None and name in _OPERATORS:
        operator = _OPERATORS[name]
        found = _two(operator, _PLAIN_OF[operator]) if operator in _PLAIN_OF else _plain(operator)
    if found is None:
        from mindspore import ops
        from mindspore.ops import _fallback
        found = None if names.lacks((__name__,), name) else _fallback.made_of_others(name)
    if found is None:
        from mindspore.ops import functional
        ours = _FUNCTIONS.get(name, name)
        found = getattr(ops, name) if ours[:1].isupper() else getattr(functional, ours)
        if isinstance(found, Stub):
            found = stub("mindspore.mint." + name, (__name__,))
    found = arguments.fitted(__name__, name, found)
    if not names.lacks((__name__,), name):
        globals()[name] = found
    return found
