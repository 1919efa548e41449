"""Binary cross entropy."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.loss.loss import LossBase


class BCELoss(LossBase):
    """See mindspore.nn.BCELoss; the one operator of the reference is recorded as those it is made of."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        gained = labels * F.log(logits) + (1.0 - labels) * F.log(1.0 - logits)
        return self.get_loss(-gained, 1.0 if self.weight is None else self.weight)


__getattr__ = module_getattr("mindspore.nn")
