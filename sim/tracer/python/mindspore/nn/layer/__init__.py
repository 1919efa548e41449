"""Layers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.layer.activation import (GELU, FastGelu, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax,  # noqa: F401
                                           Tanh, get_activation)
from mindspore.nn.layer.basic import Dense, Dropout, Embedding, Flatten, Identity, Linear  # noqa: F401
from mindspore.nn.layer.container import CellList, SequentialCell  # noqa: F401
from mindspore.nn.layer.normalization import LayerNorm  # noqa: F401

__getattr__ = module_getattr("mindspore.nn")
