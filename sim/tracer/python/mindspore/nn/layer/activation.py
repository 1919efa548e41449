"""Activations."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.ops import functional as F, operations as P


def _simple(name, attribute, primitive):
    """A cell around one operator without arguments."""
    def __init__(self):
        Cell.__init__(self)
        setattr(self, attribute, getattr(P, primitive)())

    def construct(self, x):
        return getattr(self, attribute)(x)

    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__module__": __name__,
                                "__doc__": "See mindspore.nn.%s." % name})


ReLU = _simple("ReLU", "relu", "ReLU")
Sigmoid = _simple("Sigmoid", "sigmoid", "Sigmoid")
Tanh = _simple("Tanh", "tanh", "Tanh")
SiLU = _simple("SiLU", "silu", "SiLU")
ReLU6 = _simple("ReLU6", "relu6", "ReLU6")
HSigmoid = _simple("HSigmoid", "hsigmoid", "HSigmoid")
FastGelu = _simple("FastGelu", "fast_gelu", "FastGeLU")


class ELU(Cell):
    """See mindspore.nn.ELU."""

    def __init__(self, alpha=1.0):
        super().__init__()
        if isinstance(alpha, bool) or not isinstance(alpha, (int, float)):
            raise user_error(TypeError, "ELU:alpha", "alpha must be a number, not %r" % (alpha,))
        self.elu = P.Elu(float(alpha))

    def construct(self, x):
        return self.elu(x)


class HSwish(Cell):
    """See mindspore.nn.HSwish."""

    def construct(self, x):
        from mindspore.ops import functional
        return functional.hardswish(x)


class LogSigmoid(Cell):
    """See mindspore.nn.LogSigmoid."""

    def construct(self, input_x):
        return F.log(F.reciprocal(F.exp(input_x * -1) + 1))


class GELU(Cell):
    """See mindspore.nn.GELU."""

    def __init__(self, approximate=True):
        super().__init__()
        if not isinstance(approximate, bool):
            raise user_error(TypeError, "GELU:approximate", "approximate must be True or False")
        self.approximate = "tanh" if approximate else "none"
        self.gelu = P.GeLU()

    def construct(self, x):
        return self.gelu(x) if self.approximate == "tanh" else F.gelu(x, self.approximate)


class Softmax(Cell):
    """See mindspore.nn.Softmax."""

    def __init__(self, axis=-1):
        super().__init__()
        self.softmax = P.Softmax(axis)

    def construct(self, x):
        return self.softmax(x)


class LogSoftmax(Cell):
    """See mindspore.nn.LogSoftmax."""

    def __init__(self, axis=-1):
        super().__init__()
        self.log_softmax = P.LogSoftmax(axis)

    def construct(self, x):
        return self.log_softmax(x)


class PReLU(Cell):
    """See mindspore.nn.PReLU."""

    def __init__(self, channel=1, w=0.25, dtype=mstype.float32):
        super().__init__()
        if isinstance(channel, bool) or not isinstance(channel, int) or channel < 1:
            raise user_error(ValueError, "PReLU:channel", "channel of PReLU must be a positive whole number")
        first = w if isinstance(w, Tensor) else initializer(w, [channel], dtype)
        self.w = Parameter(first, name="a")
        self.prelu = P.PReLU()

    def construct(self, x):
        return self.prelu(x, self.w)


_BY_NAME = {"relu": ReLU, "sigmoid": Sigmoid, "tanh": Tanh, "silu": SiLU, "gelu": GELU, "fast_gelu": FastGelu,
            "softmax": Softmax, "logsoftmax": LogSoftmax, "prelu": PReLU,
            "relu6": ReLU6, "hswish": HSwish, "hsigmoid": HSigmoid, "elu": ELU, "logsigmoid": LogSigmoid}


def get_activation(name, prim_name=None):
    """Activation cell by name."""
    if name is None:
        return None
    if name not in _BY_NAME:
        raise user_error(KeyError, "get_activation:name", "no activation is called '%s'" % name,
                         "known: " + ", ".join(sorted(_BY_NAME)))
    return _BY_NAME[name]()


__getattr__ = module_getattr("mindspore.nn")
