"""Layers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.layer.activation import (ELU, GELU, FastGelu, HSigmoid, HSwish, LogSigmoid, LogSoftmax,  # noqa: F401
                                           PReLU, ReLU, ReLU6, Sigmoid, SiLU, Softmax, Tanh, get_activation)
from mindspore.nn.layer.basic import (Dense, Dropout, Embedding, EmbeddingLookup, Flatten, Identity,  # noqa: F401
                                      Linear)
from mindspore.nn.layer.container import CellList, SequentialCell  # noqa: F401
from mindspore.nn.layer.conv import Conv2d, Conv2dTranspose  # noqa: F401
from mindspore.nn.layer.normalization import (BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm,  # noqa: F401
                                              SyncBatchNorm)
from mindspore.nn.layer.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d  # noqa: F401

__getattr__ = module_getattr("mindspore.nn")
