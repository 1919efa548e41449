"""Losses."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.loss.loss import (CrossEntropyLoss, L1Loss, LossBase, MAELoss, MSELoss, NLLLoss,  # noqa: F401
                                    SoftmaxCrossEntropyWithLogits, _Loss)

__getattr__ = module_getattr("mindspore.nn")
