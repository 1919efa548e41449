"""Binary cross entropy."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.loss.loss import LossBase


class BCELoss(LossBase):
    """See mindspore.nn.BCELoss."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return F.binary_cross_entropy(logits, labels, self.weight, self.reduction)


__getattr__ = module_getattr("mindspore.nn")
