"""mindspore.mint.nn."""
from mindspore._drydock.lazy import module_getattr, submodule
from mindspore.nn.layer import Dropout as _Dropout
from mindspore.nn.layer import GELU, Identity, LayerNorm, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh  # noqa: F401,E501
from mindspore.nn.layer import Dense as _Dense
from mindspore.ops import operations as _P


class Linear(_Dense):
    """See mindspore.mint.nn.Linear: the bias is added by Add, whose gradient is a sum."""

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=None):
        settings = {} if dtype is None else {"dtype": dtype}
        super().__init__(in_features, out_features, weight_init, bias_init, bool(bias), **settings)
        self.bias_add = _P.Add()


class Dropout(_Dropout):
    """See mindspore.mint.nn.Dropout: `p` is the share that is dropped."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__(p=p)


def __getattr__(name):
    return submodule(__name__, name) or module_getattr(__name__)(name)
