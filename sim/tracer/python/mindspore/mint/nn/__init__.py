"""mindspore.mint.nn."""
from mindspore._drydock.errors import user_error as _user_error
from mindspore._drydock.lazy import module_getattr, submodule
from mindspore.common import dtype as _mstype
from mindspore.common.initializer import initializer as _initializer
from mindspore.common.parameter import Parameter as _Parameter
from mindspore.nn.cell import Cell as _Cell
from mindspore.nn.layer import Dropout as _Dropout
from mindspore.nn.layer import Identity, Linear, ReLU, Sigmoid, Tanh  # noqa: F401
from mindspore.nn.layer import LogSoftmax as _LogSoftmax, SiLU as _SiLU, Softmax as _Softmax
from mindspore.ops import operations as _P


class LayerNorm(_Cell):
    """See mindspore.mint.nn.LayerNorm: a number is the one last dimension."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, bool) or not isinstance(normalized_shape, (int, tuple, list)):
            raise _user_error(TypeError, "LayerNorm:shape-type",
                              "normalized_shape must be a whole number, a tuple or a list, not %r" % (normalized_shape,))
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        dtype = dtype or _mstype.float32
        one, zero = _initializer("ones", shape, dtype), _initializer("zeros", shape, dtype)
        self.weight = _Parameter(one, name="weight") if elementwise_affine else one
        self.bias = _Parameter(zero, name="bias") if elementwise_affine and bias else zero
        self.layer_norm = _P.LayerNormExt()

    def construct(self, input):
        return self.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)[0]


class GELU(_Cell):
    """See mindspore.mint.nn.GELU."""

    def __init__(self, approximate="none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise _user_error(ValueError, "GELU:approximate", "approximate must be 'none' or 'tanh', not %r" % (approximate,))
        self.approximate = approximate

    def construct(self, input):
        return _P.GeluExt()(input, self.approximate)


class Dropout(_Dropout):
    """See mindspore.mint.nn.Dropout: `p` is the share that is dropped."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__(p=p)


class Softmax(_Softmax):
    """See mindspore.mint.nn.Softmax."""

    def __init__(self, dim=None):
        super().__init__(-1 if dim is None else dim)


class LogSoftmax(_LogSoftmax):
    """See mindspore.mint.nn.LogSoftmax."""

    def __init__(self, dim=None):
        super().__init__(-1 if dim is None else dim)


class SiLU(_SiLU):
    """See mindspore.mint.nn.SiLU."""

    def __init__(self, inplace=False):
        super().__init__()


def __getattr__(name):
    if name == "Cell":
        return _Cell
    found = submodule(__name__, name) or submodule(__name__, "_layers").find(name)
    if found is None:
        return module_getattr(__name__)(name)
    globals()[name] = found
    return found
