"""Initializers: descriptions of first values; nothing is ever allocated."""
import sys
import types

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor


class Initializer:
    """Base of all initializers."""

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, arr=None):
        return arr

    def __repr__(self):
        return type(self).__name__


def _make(name, *parameters):
    """An initializer class with the given (name, default) arguments."""
    def __init__(self, *args, **kwargs):
        accepted = dict(parameters)
        if len(args) > len(parameters):
            raise user_error(TypeError, name + ":arguments", "%s() takes at most %d arguments"
                             % (name, len(parameters)))
        given = dict(zip([p[0] for p in parameters], args))
        for key, value in kwargs.items():
            if key not in accepted or key in given:
                raise user_error(TypeError, name + ":arguments", "%s() got an unexpected argument '%s'"
                                 % (name, key))
            given[key] = value
        accepted.update(given)
        self.__dict__.update(accepted)
        Initializer.__init__(self, **accepted)

    return type(name, (Initializer,), {"__init__": __init__, "__module__": __name__})


Zero = _make("Zero")
One = _make("One")
Constant = _make("Constant", ("value", 0))
Normal = _make("Normal", ("sigma", 0.01), ("mean", 0.0))
Uniform = _make("Uniform", ("scale", 0.07))
TruncatedNormal = _make("TruncatedNormal", ("sigma", 0.01), ("mean", 0.0), ("a", -2.0), ("b", 2.0))
XavierUniform = _make("XavierUniform", ("gain", 1))
XavierNormal = _make("XavierNormal", ("gain", 1))
HeUniform = _make("HeUniform", ("negative_slope", 0), ("mode", "fan_in"), ("nonlinearity", "leaky_relu"))
HeNormal = _make("HeNormal", ("negative_slope", 0), ("mode", "fan_in"), ("nonlinearity", "leaky_relu"))
Orthogonal = _make("Orthogonal", ("gain", 1.0))
Identity = _make("Identity")
Sparse = _make("Sparse", ("sparsity", 0.1), ("sigma", 0.01))
Dirac = _make("Dirac", ("groups", 1))
VarianceScaling = _make("VarianceScaling", ("scale", 1.0), ("mode", "fan_in"),
                        ("distribution", "truncated_normal"))

_aliases = {
    "zeros": Zero, "zero": Zero, "ones": One, "one": One, "constant": Constant, "normal": Normal,
    "uniform": Uniform, "truncatednormal": TruncatedNormal, "truncated_normal": TruncatedNormal,
    "xavier_uniform": XavierUniform, "xavieruniform": XavierUniform, "xavier_normal": XavierNormal,
    "xaviernormal": XavierNormal, "he_uniform": HeUniform, "heuniform": HeUniform,
    "he_normal": HeNormal, "henormal": HeNormal, "orthogonal": Orthogonal, "identity": Identity,
    "sparse": Sparse, "dirac": Dirac, "variance_scaling": VarianceScaling,
    "variancescaling": VarianceScaling,
}


def initializer(init, shape=None, dtype=mstype.float32):
    """A tensor that will be initialised later: shape, element type and how."""
    if isinstance(init, Tensor):
        if shape is not None and tuple(values.shape_of_argument(shape)) != init.shape:
            raise user_error(ValueError, "initializer:shape",
                             "the tensor given to initializer() has shape %s, not %s" % (init.shape, shape))
        return init
    if not isinstance(init, (str, int, float, Initializer)) or isinstance(init, bool):
        raise user_error(TypeError, "initializer:init",
                         "initializer() takes a name, a number, an Initializer or a Tensor, not %s"
                         % type(init).__name__)
    if isinstance(init, str):
        if init.lower() not in _aliases:
            raise user_error(ValueError, "initializer:name", "no initializer is called '%s'" % init,
                             "known: " + ", ".join(sorted(_aliases)))
        init = _aliases[init.lower()]()
    elif isinstance(init, (int, float)):
        init = Constant(init)
    if shape is None:
        raise user_error(ValueError, "initializer:shape", "initializer() needs a shape")
    dims = values.shape_of_argument(shape)
    if any(extent < 1 for extent in dims):
        raise user_error(ValueError, "initializer:shape",
                         "initializer() needs a shape of positive extents, not %s" % (dims,))
    return Tensor(shape=dims, dtype=dtype, init=init)


def _calculate_fan_in_and_fan_out(shape):
    """Inputs and outputs of an element of the result: channels times the elements of a window."""
    if len(shape) < 2:
        raise user_error(ValueError, "initializer:fan", "fan in and fan out need a shape of two dimensions at least, not %s" % (shape,))
    window = values.count(tuple(shape)[2:])
    return shape[1] * window, shape[0] * window


def _calculate_correct_fan(shape, mode):
    return _calculate_fan_in_and_fan_out(shape)[0 if mode.lower() == "fan_in" else 1]


def _calculate_gain(nonlinearity, param=None):
    """What keeps the variance over a layer with that activation."""
    gains = {"tanh": 5.0 / 3, "relu": 2.0 ** 0.5, "leaky_relu": (2.0 / (1 + (0.01 if param is None else param) ** 2)) ** 0.5, "selu": 0.75}
    return gains.get(nonlinearity, 1.0)


def _assignment(arr, num):
    """The array with the given elements; values are not kept."""
    if hasattr(arr, "__setitem__") and getattr(arr, "shape", None):
        arr[:] = num
        return arr
    return num


def _register(*aliases):
    """Decorator of an initializer's class: further names of it."""
    def mark(kind):
        _aliases.update({name.lower(): kind for name in aliases + (kind.__name__,)})
        return kind
    return mark


class _CallableModule(types.ModuleType):
    """The module is also the function of its name."""

    def __call__(self, init, shape=None, dtype=mstype.float32):
        return initializer(init, shape, dtype)


sys.modules[__name__].__class__ = _CallableModule

__getattr__ = module_getattr(__name__)
