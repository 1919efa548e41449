"""Operators and methods of Tensor: each is a functional form of an operator."""
from mindspore._drydock.errors import user_error


def _functional(name):
    def method(self, *args, **kwargs):
        from mindspore.ops import functional
        return getattr(functional, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _reflected(name):
    def method(self, other):
        from mindspore.ops import functional
        return getattr(functional, name)(other, self)

    return method


def _binary(name):
    def method(self, other):
        if not _is_operand(other):
            return NotImplemented
        from mindspore.ops import functional
        return getattr(functional, name)(self, other)

    return method


def _is_number(value):
    """A plain Python number; numbers that depend on the rank and truth values are operands."""
    return type(value) in (int, float)


def _with_number(name, fallback):
    """Tensor and number: the kernel takes the number as an attribute. Source: mindspore
    ops/tensor_method (behaviour only)."""
    plain = _binary(fallback)

    def method(self, other):
        if not _is_number(other):
            return plain(self, other)
        from mindspore.ops.primitive import operator
        return operator(name)(self, other)

    return method


def _divide_number(self, other):
    """number / tensor: the reciprocal times the number."""
    if not _is_number(other):
        return _reflected("div")(self, other)
    from mindspore.ops.primitive import operator
    return operator("Muls")(operator("Reciprocal")(self), other)


def _is_operand(value):
    from mindspore.common.tensor import Tensor
    return isinstance(value, (Tensor, int, float, list, tuple)) or hasattr(value, "dtype")


def _comparison(name, when_foreign):
    def method(self, other):
        if not _is_operand(other):
            return when_foreign
        from mindspore.ops import functional
        return getattr(functional, name)(self, other)

    return method


def _dims(args):
    """Shape or permutation given as one tuple or as separate numbers."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else tuple(args)


def _reshape(self, *shape):
    from mindspore.ops import functional
    return functional.reshape(self, _dims(shape))


def _transpose(self, *axes):
    from mindspore.ops import functional
    axes = _dims(axes) if axes else tuple(range(self.ndim - 1, -1, -1))
    return functional.transpose(self, axes)


def _astype(self, dtype, copy=True):
    from mindspore.common import dtype as mstype
    from mindspore.ops import functional
    return functional.cast(self, mstype.dtype_of(dtype))


def _cast_to(name):
    def method(self):
        return _astype(self, name)

    return method


def _to(self, dtype, *args, **kwargs):
    return _astype(self, dtype)


def _swapaxes(self, axis0, axis1):
    axes = list(range(self.ndim))
    axes[axis0], axes[axis1] = axes[axis1], axes[axis0]
    return _transpose(self, tuple(axes))


def _getitem(self, index):
    from mindspore.ops import indexing
    return indexing.getitem(self, index)


def _setitem(self, index, value):
    from mindspore.ops import indexing
    return indexing.setitem(self, index, value)


def _fill(self, value):
    from mindspore.ops import functional
    return functional.full(self.shape, value, dtype=self.dtype)


def _broadcast_to(self, *shape):
    from mindspore.ops import functional
    return functional.broadcast_to(self, _dims(shape))


def _expand_dims(self, axis):
    from mindspore.ops import functional
    return functional.expand_dims(self, axis)


def _reshape_as(self, other):
    return _reshape(self, other.shape)


def _check_mode(self, *args, **kwargs):
    raise user_error(TypeError, "Tensor:not-callable", "a Tensor cannot be called")


_SAME_NAME = (
    "sum", "mean", "max", "min", "prod", "squeeze", "flatten", "abs", "sqrt", "rsqrt", "square", "exp",
    "log", "pow", "softmax", "log_softmax", "split", "tile", "masked_fill", "gather", "matmul", "equal",
    "clamp", "sigmoid", "tanh", "sin", "cos", "neg", "all", "any", "argmax", "cumsum", "topk",
    "select", "where", "add", "sub", "mul", "div", "logical_not", "logical_and", "logical_or",
    "floor", "sign", "erf", "repeat", "repeat_interleave", "unsqueeze", "bmm", "maximum", "minimum")


def unlisted(tensor, name):
    """A method that MindSpore has: the function of the same name with the tensor as its first argument, or a stub."""
    import functools
    from mindspore import ops
    from mindspore._drydock.lazy import Stub
    found = getattr(ops, name, None)
    if found is None or isinstance(found, Stub) or not callable(found):
        return Stub("mindspore.Tensor." + name)
    return functools.partial(found, tensor)


def install(tensor):
    """Adds the operators and methods to the Tensor class."""
    for dunder, name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"),
                         ("floordiv", "floor_div"), ("mod", "floor_mod"), ("pow", "pow"),
                         ("matmul", "matmul"), ("and", "logical_and"), ("or", "logical_or")):
        setattr(tensor, "__%s__" % dunder, _binary(name))
        setattr(tensor, "__r%s__" % dunder, _reflected(name))
    tensor.__mul__ = tensor.__rmul__ = _with_number("Muls", "mul")
    tensor.__truediv__ = _with_number("Divs", "div")
    tensor.__rtruediv__ = _divide_number
    for dunder, name in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
        setattr(tensor, "__%s__" % dunder, _comparison(name, NotImplemented))
    tensor.__eq__ = _comparison("equal", False)
    tensor.__ne__ = _comparison("not_equal", True)
    tensor.__neg__ = _functional("neg")
    tensor.__pos__ = lambda self: self
    tensor.__abs__ = _functional("abs")
    tensor.__invert__ = _functional("logical_not")
    tensor.__getitem__ = _getitem
    tensor.__setitem__ = _setitem
    for name in _SAME_NAME:
        setattr(tensor, name, _functional(name))
    tensor.mul = _with_number("Muls", "mul")
    tensor.reshape = tensor.view = _reshape
    tensor.transpose = tensor.permute = _transpose
    tensor.astype = _astype
    tensor.to = tensor.type = _to
    tensor.swapaxes = tensor.swapdims = _swapaxes
    tensor.broadcast_to = tensor.expand = _broadcast_to
    tensor.expand_dims = _expand_dims
    tensor.reshape_as = tensor.view_as = _reshape_as
    tensor.fill = _fill
    for name, dtype in (("float", "float32"), ("half", "float16"), ("int", "int32"), ("long", "int64"),
                        ("bool", "bool"), ("bfloat16", "bfloat16")):
        setattr(tensor, name, _cast_to(dtype))
