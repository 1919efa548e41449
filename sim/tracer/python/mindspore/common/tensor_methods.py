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


def _flatten(self, *args, **kwargs):
    """All dimensions in one where nothing is said, unlike the function of the name; an order may stand first."""
    from mindspore.ops import functional
    dims = args[1:] if args and isinstance(args[0], str) else args
    return functional.flatten(self, **dict(zip(("start_dim", "end_dim"), dims)), **dict({} if dims else {"start_dim": 0}, **kwargs))


def _cast_to(name):
    def method(self):
        return _astype(self, name)

    return method


def _to(self, *args, dtype=None, **kwargs):
    """The tensor of another element type; the tensor itself where only a device is named."""
    wanted = [dtype] + [item for item in args if not isinstance(item, (str, bool)) and item is not None]
    wanted = [getattr(item, "dtype", item) for item in wanted if item is not None]
    return _astype(self, wanted[0]) if wanted else self


def _type(self, dtype=None):
    """See Tensor.type: without an argument the name of the element type."""
    return "Tensor" + str(self.dtype) if dtype is None else _astype(self, dtype)


def _swapaxes(self, axis0, axis1):
    axes = list(range(self.ndim))
    axes[axis0], axes[axis1] = axes[axis1], axes[axis0]
    return _transpose(self, tuple(axes))


def _getitem(self, index):
    from mindspore.ops import indexing
    found = indexing.getitem(self, index)
    if found is not self:
        found._part_of = self, index
    return found


def _setitem(self, index, value):
    """x[...] = value: in a graph the name x stands for the new tensor from there on, elsewhere the tensor is another."""
    import sys
    _set_part(sys._getframe(1), self, index, value)


def _set_part(frame, tensor, index, value):
    from mindspore import context
    from mindspore._drydock.session import session
    from mindspore._recording import rebinding
    from mindspore.common.parameter import Parameter
    from mindspore.ops import _assignment
    result = _assignment.assigned(tensor, index, value)
    if isinstance(tensor, Parameter):
        _assign_parameter(tensor, result)
        return
    if result is tensor:
        return
    # An argument of a network stands for the same input wherever that is read again.
    in_graph = session.depth > 0 and (context.get_context("mode") == context.GRAPH_MODE or session.program.is_input(tensor))
    if in_graph and rebinding.rebind(frame, tensor, result):
        return
    whole = tensor._part_of  # x[i][j] = value; elsewhere a part by numbers and slices is a view of the whole
    if whole is None or not in_graph:
        _become(tensor, result)
    if whole is not None and (in_graph or _assignment.is_view(whole[1])):
        _set_part(frame, *whole, result)


def _assign_parameter(parameter, result):
    from mindspore._drydock.session import session
    from mindspore.ops import functional
    if session.depth == 0:
        parameter._small = None  # what it holds is not followed
    elif result is not parameter:
        functional.assign(parameter, result)


def _become(tensor, result):
    """The tensor stands for another value: what says which it is comes from there, settings of the script stay."""
    kept = {name: value for name, value in vars(tensor).items() if name in ("param_name", "_initializer", "_part_of", "steps")}
    vars(tensor).clear()
    vars(tensor).update(vars(result), **kept)


def _extreme(name):
    """x.max(axis): the elements; x.max(dim=...): with their places; several axes are one reduction."""
    def method(self, axis=None, keepdims=False, *, dim=None, keepdim=False, initial=None, where=None, return_indices=False):
        from mindspore import mint
        from mindspore.ops import functional
        if dim is not None:
            return getattr(mint, name)(self, dim, keepdim)
        if isinstance(axis, (list, tuple)):
            return getattr(functional, "reduce_" + name)(self, tuple(axis), keepdims)
        found = getattr(functional, name)(self, axis, keepdims, initial=initial, where=None if where is True else where)
        return found if return_indices else found[0]

    method.__name__ = name
    return method


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
    "sum", "mean", "prod", "squeeze", "abs", "sqrt", "rsqrt", "square", "exp",
    "log", "pow", "softmax", "split", "tile", "masked_fill", "gather", "matmul", "equal",
    "clamp", "sigmoid", "tanh", "sin", "cos", "neg", "all", "any", "argmax", "cumsum", "topk",
    "select", "where", "add", "sub", "mul", "div", "logical_not", "logical_and", "logical_or",
    "floor", "sign", "erf", "repeat", "repeat_interleave", "unsqueeze", "bmm", "maximum", "minimum")


# Methods that need nothing but other methods.
_OTHERS = {
    "expand_as": lambda x, other: x.broadcast_to(other.shape), "type_as": lambda x, other: x.astype(other.dtype),
    "ndimension": lambda x: x.ndim, "nelement": lambda x: x.size, "ravel": lambda x: x.reshape((-1,)), "positive": lambda x: x,
    "double": lambda x: x.astype("float64"), "short": lambda x: x.astype("int16"), "byte": lambda x: x.astype("uint8"),
    "adjoint": lambda x: x.swapaxes(-1, -2), "inner": lambda x, other: x.matmul(other),
    "remainder": lambda x, other: x % other, "is_signed": lambda x: x.dtype.kind in ("int", "float"),
    "is_pinned": lambda x: False, "is_shared": lambda x: False, "pin_memory": lambda x: x, "data_sync": lambda x, need_wait=True: None,
    "move_to": lambda x, to, blocking=True: x, "wait_pipeline": lambda x: None, "storage_offset": lambda x: 0,
    "fliplr": lambda x: x.flip((1,)), "flipud": lambda x: x.flip((0,)), "resize": lambda x, *shape: x.reshape(*shape),
    "itemset": lambda x, *args: x, "set_const_arg": lambda x, const_arg=True: None,
}
_NEW = {"new_zeros": 0, "new_ones": 1, "new_empty": 0, "new_full": None}
# Attributes that say nothing about a network.
FACTS = {"is_meta": False, "virtual_flag": False, "const_arg": False, "init_finished": True, "init_flag": False, "delta_seed": "",
         "device": "Ascend"}


def _new(tensor, name):
    def made(size, fill_value=_NEW[name], *, dtype=None, device=None):
        from mindspore.ops import functional
        return functional.full(_dims((size,)), fill_value, dtype=dtype or tensor.dtype)

    return made


def _in_place(tensor, name):
    """x.add_(y): x stands for the sum from there on; a parameter is assigned. None for methods without such a partner."""
    from mindspore._drydock.lazy import Stub
    fill = {"zero": lambda: tensor.fill(0), "fill": tensor.fill, "copy": lambda other, non_blocking=False: _same_type(other, tensor)}
    partner = fill.get(name[:-1]) or getattr(tensor, name[:-1], None)
    if isinstance(partner, Stub) or not callable(partner):
        return None

    def method(*args, **kwargs):
        from mindspore._drydock.session import session
        from mindspore.common.parameter import Parameter
        from mindspore.ops import functional
        result = partner(*args, **kwargs)
        if isinstance(tensor, Parameter):
            if session.depth > 0:
                functional.assign(tensor, result)
            tensor._small = None
            return tensor
        if session.depth > 0:
            session.warn_limit("Tensor.%s() is recorded as a new tensor: memory may be up to that tensor too high" % name,
                               at_line=True)
        tensor._node, tensor._source, tensor._shape = result._node, result._source, result._shape
        tensor._computed = result._computed
        return tensor

    return method


def _same_type(other, tensor):
    other = other if other.dtype is tensor.dtype else other.astype(tensor.dtype)
    return other if other.shape == tensor.shape else other.broadcast_to(tensor.shape)


def unlisted(tensor, name):
    """A method that MindSpore has: the function of the same name with the tensor as its first argument, or a stub."""
    import functools
    from mindspore import mint, ops
    from mindspore._drydock.lazy import Stub
    if name in _OTHERS:
        return functools.partial(_OTHERS[name], tensor)
    if name in _NEW:
        return _new(tensor, name)
    if name.endswith("_") and name not in ("set_", "to_", "put_", "random_", "index_put_"):
        found = _in_place(tensor, name)
        if found is not None:
            return found
    found = getattr(ops, name, None)
    if name.startswith("arc") and isinstance(found, Stub):
        found = getattr(mint, name)
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
    tensor.to, tensor.type = _to, _type
    tensor.flatten = _flatten
    tensor.swapaxes = _swapaxes
    tensor.swapdims = lambda self, dim0, dim1: _swapaxes(self, dim0, dim1)
    tensor.broadcast_to = tensor.expand = _broadcast_to
    tensor.expand_dims = _expand_dims
    tensor.reshape_as = tensor.view_as = _reshape_as
    tensor.fill = _fill
    tensor.max, tensor.min = _extreme("max"), _extreme("min")
    for name, dtype in (("float", "float32"), ("half", "float16"), ("int", "int32"), ("long", "int64"),
                        ("bool", "bool"), ("bfloat16", "bfloat16")):
        setattr(tensor, name, _cast_to(dtype))
