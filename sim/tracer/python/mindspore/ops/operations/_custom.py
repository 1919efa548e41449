"""Custom: an operator whose kernel the script brings; its shape and dtype functions say what comes out.

The kernel itself is never run or read. Its backward kernel counts as one that reads all operands and gives each of
them a gradient.
"""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._recording import tracing
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _strategy
from mindspore.ops.primitive import Primitive, attr_value

_FUNC_TYPES = ("hybrid", "pyfunc", "tbe", "aicpu", "aot", "akg", "julia")


class Custom(Primitive):
    """P.Custom(func, out_shape, out_dtype, func_type, bprop, reg_info)."""

    def __init__(self, func, out_shape=None, out_dtype=None, func_type="hybrid", bprop=None, reg_info=None):
        super().__init__("Custom")
        if func_type not in _FUNC_TYPES:
            raise user_error(ValueError, "Custom:func-type", "func_type of 'Custom' must be one of %s, not %r"
                             % (", ".join(_FUNC_TYPES), func_type))
        self.func, self.bprop = func, bprop
        self._out_shape, self._out_dtype = out_shape, out_dtype
        self._arguments = ()       # of the last call: what each argument was, see _kind()
        self.attrs["func_type"] = func_type

    def __call__(self, *args):
        self._arguments = tuple(map(_kind, args))
        types = self._types(args)
        attrs = dict(self.recorded_attrs(), dyn_input_sizes=[_tuple_size(arg) for arg in args if _kind(arg) != "setting"],
                     settings=[attr_value(arg) for arg in args if _kind(arg) == "setting"])
        operands = list(tracing.tensors_in(args))
        results = tracing.apply(self.name, operands, attrs, self, types=types)
        return results[0] if len(results) == 1 else tuple(results)

    def sharding_fields(self):
        """Layouts of tensors: those of numbers are left out."""
        fields = super().sharding_fields()
        given = self.attrs.get("in_layout") or self.attrs.get("in_strategy")
        if given and len(given) == len(self._arguments):
            field = "layout" if "in_layout" in self.attrs else "strategy"
            fields[field] = _strategy.flat([g for g, kind in zip(given, self._arguments) if kind == "tensors"])
        return fields

    def _types(self, args):
        """[(shape, element type)] of the results."""
        if self._out_shape is None or self._out_dtype is None:
            raise Unsupported("mindspore.ops.Custom", "'Custom' without out_shape and out_dtype is not handled",
                              "give both, as functions or as values")
        shapes = _result(self._out_shape, args, lambda v: list(v.shape) if isinstance(v, Tensor) else [])
        dtypes = _result(self._out_dtype, args, lambda v: v.dtype if isinstance(v, Tensor) else type(v))
        several = isinstance(dtypes, (tuple, list))
        pairs = list(zip(shapes, dtypes)) if several else [(shapes, dtypes)]
        return [(_shape(shape), _dtype(dtype)) for shape, dtype in pairs]


def _kind(arg):
    """"tensors" for a tensor or a tuple of them, "setting" for everything else."""
    return "tensors" if any(True for _ in tracing.tensors_in([arg])) else "setting"


def _tuple_size(arg):
    return -1 if isinstance(arg, Tensor) else sum(1 for _ in tracing.tensors_in([arg]))


def _result(wanted, args, fact):
    """What out_shape or out_dtype says; functions of the script get the facts of all arguments."""
    if not callable(wanted) or isinstance(wanted, mstype.Type):
        return wanted
    return wanted(*[tuple(map(fact, arg)) if isinstance(arg, (tuple, list)) else fact(arg) for arg in args])


def _shape(shape):
    if not isinstance(shape, (tuple, list)) or not all(isinstance(extent, int) for extent in shape):
        raise user_error(TypeError, "Custom:out-shape", "out_shape of 'Custom' gave %r, which is not a shape" % (shape,))
    return tuple(shape)


def _dtype(dtype):
    made = mstype.dtype_of(dtype)
    if made is None:
        raise user_error(TypeError, "Custom:out-dtype", "out_dtype of 'Custom' gave %r, which is not an element type" % (dtype,))
    return made
