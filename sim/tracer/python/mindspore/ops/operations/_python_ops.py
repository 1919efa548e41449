"""Primitives that a trace answers in Python: facts about shapes, constants, communication helpers."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.session import session
from mindspore._recording import tracing, values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.primitive import Primitive, cast

__all__ = ["Shape", "DType", "Rank", "Size", "TupleToArray", "ScalarToTensor", "ScalarToArray",
           "MakeRange", "Fill", "Zeros", "Ones", "Eye", "Depend", "GetNext", "Print", "TensorDump", "DumpGradient", "ReduceOp",
           "ScalarSummary", "TensorSummary", "ImageSummary", "HistogramSummary", "Partial",
           "NPUAllocFloatStatus", "NPUGetFloatStatus", "NPUClearFloatStatus"]


class _PythonPrimitive(Primitive):
    def __init__(self, *args, **kwargs):
        super().__init__(type(self).__name__)


class Shape(_PythonPrimitive):
    def __call__(self, x):
        return x.shape


class DType(_PythonPrimitive):
    def __call__(self, x):
        return x.dtype


class Rank(_PythonPrimitive):
    def __call__(self, x):
        return len(x.shape)


class Size(_PythonPrimitive):
    def __call__(self, x):
        return values.count(x.shape)


class TupleToArray(_PythonPrimitive):
    def __call__(self, x):
        return Tensor(list(x))


class ScalarToTensor(_PythonPrimitive):
    def __call__(self, x, dtype=mstype.float32):
        return Tensor(x, dtype)


class ScalarToArray(_PythonPrimitive):
    def __call__(self, x):
        return Tensor(x)


class MakeRange(_PythonPrimitive):
    def __call__(self, *args):
        return tuple(range(*args))


class Fill(_PythonPrimitive):
    def __call__(self, dtype, shape, value):
        return constant(shape, value, dtype)


class Zeros(_PythonPrimitive):
    def __call__(self, shape, dtype=mstype.float32):
        return constant(shape, 0, dtype)


class Ones(_PythonPrimitive):
    def __call__(self, shape, dtype=mstype.float32):
        return constant(shape, 1, dtype)


class Eye(_PythonPrimitive):
    def __call__(self, n, m=None, dtype=mstype.float32):
        m = n if m is None else m
        if n * m > values.MAX_KEPT_ELEMENTS:
            return Tensor(shape=(n, m), dtype=dtype)
        return Tensor([[1 if i == j else 0 for j in range(m)] for i in range(n)], dtype)


class Depend(_PythonPrimitive):
    """A value after something else; what is no tensor orders nothing."""

    def __call__(self, value, expr):
        from mindspore._recording import tracing
        from mindspore.common.parameter import Parameter
        from mindspore.ops import _table
        if isinstance(value, (tuple, list)) and value and all(isinstance(one, Parameter) for one in value):
            return self._parameters(value, tracing.tensors_in(expr))
        for tensor in tracing.tensors_in(expr):
            if isinstance(value, Tensor):
                value = _table.primitive_class("Depend")()(value, tensor)
        return value

    @staticmethod
    def _parameters(parameters, tensors):
        """What parameters hold when the tensors are there, as a step waits for accumulated gradients."""
        from mindspore._recording import tracing
        from mindspore.ops import _table
        tensors = list(tensors)
        if not tensors:
            return tuple(parameters)
        every = tensors[0] if len(tensors) == 1 else tracing.apply("_All", tensors, {})[0]
        return tuple(_table.primitive_class("Depend")()(one, every) for one in parameters)


class GetNext(Primitive):
    """The next row of a data set: inputs of the program."""

    def __init__(self, types, shapes, output_num, shared_name):
        super().__init__("GetNext")
        self._rows = [Tensor(shape=tuple(shape), dtype=mstype.dtype_of(dtype)) for shape, dtype in zip(shapes, types)]

    def __call__(self):
        from mindspore._recording import tracing
        program = tracing.current_program()
        return tuple(program.input_for(row, "GetNext%d" % i) for i, row in enumerate(self._rows))


class _SideEffect(_PythonPrimitive):
    """Writes to the log or to a file when a job runs; nothing in a dry run."""

    def __call__(self, *args):
        return args[-1] if args and isinstance(args[-1], Tensor) else None


class Print(_SideEffect):
    pass


class TensorDump(_SideEffect):
    """Writes a tensor to a file; in a dry run there are no numbers to write."""

    def __init__(self, input_output="out"):
        super().__init__()
        if input_output not in ("in", "out", "all"):
            raise user_error(ValueError, "TensorDump:input_output",
                             "input_output of TensorDump must be 'in', 'out' or 'all', not %r" % (input_output,))
        self.input_output = input_output

    def __call__(self, file, input_x):
        session.warn_limit("%s writes no file, and its kernel is not counted" % self.name, at_line=True)
        if session.depth == 0:
            return None
        for mode in ("in", "out") if self.input_output == "all" else (self.input_output,):
            attrs = {name: value for name, value in self.attrs.items() if name != "side_effect_io"}
            tracing.apply("TensorDump", [input_x], dict(attrs, file=str(file), input_output=mode, runs_unread=True),
                          primitive=self)
        return input_x


class DumpGradient(_SideEffect):
    """Its operand; the gradient through it would be written to a file."""

    def __call__(self, path, x, bout=""):
        session.warn_limit("%s writes no file, and its kernel is not counted" % self.name, at_line=True)
        return x


class ScalarSummary(_SideEffect):
    pass


class TensorSummary(_SideEffect):
    pass


class ImageSummary(_SideEffect):
    pass


class HistogramSummary(_SideEffect):
    pass


class NPUAllocFloatStatus(_PythonPrimitive):
    """Eight words that say whether numbers overflowed; none do in a dry run."""

    def __call__(self):
        return constant((8,), 0.0, mstype.float32)


class NPUGetFloatStatus(_PythonPrimitive):
    """The words, written by the device."""

    def __call__(self, status):
        if not isinstance(status, Tensor) or status.shape != (8,):
            raise user_error(ValueError, self.name + ":shape", "%s takes the 8 words of NPUAllocFloatStatus" % self.name)
        return status


class NPUClearFloatStatus(NPUGetFloatStatus):
    """The words, set to zero."""


class Partial(_PythonPrimitive):
    def __call__(self, function, *args):
        import functools
        return functools.partial(function, *args)


class ReduceOp:
    SUM, MAX, MIN, PROD = "sum", "max", "min", "prod"


def constant(shape, value, dtype):
    """A tensor of equal elements; its values are kept where it is small."""
    dtype = mstype.dtype_of(dtype, mstype.float32)
    shape = values.shape_of_argument(shape)
    made = Tensor(shape=shape, dtype=dtype)
    if isinstance(value, Tensor):
        if not value._known():
            from mindspore.ops import functional
            return functional.broadcast_to(cast(value, dtype), shape)
        value = value.item()
    if values.count(shape) <= values.MAX_KEPT_ELEMENTS:
        made._source = values.nest([value] * values.count(shape), shape) if shape else value
    return made


def in_trace():
    return session.depth > 0
