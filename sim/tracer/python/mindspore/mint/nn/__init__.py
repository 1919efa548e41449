"""mindspore.mint.nn."""
from mindspore._drydock.lazy import module_getattr, submodule
from mindspore.nn.layer import GELU, Dropout, Identity, LayerNorm, Linear, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh  # noqa: F401,E501


def __getattr__(name):
    return submodule(__name__, name) or module_getattr(__name__)(name)
