"""mindspore.mint.nn."""
from mindspore._drydock.lazy import module_getattr, submodule
from mindspore.nn.layer import Dropout as _Dropout
from mindspore.nn.layer import GELU, Identity, LayerNorm, Linear, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh  # noqa: F401,E501


class Dropout(_Dropout):
    """See mindspore.mint.nn.Dropout: `p` is the share that is dropped."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__(p=p)


def __getattr__(name):
    return submodule(__name__, name) or module_getattr(__name__)(name)
