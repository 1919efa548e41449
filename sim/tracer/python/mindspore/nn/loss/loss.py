"""Losses."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P


class LossBase(Cell):
    """See mindspore.nn.LossBase."""

    def __init__(self, reduction="mean"):
        super().__init__()
        if reduction is None:
            reduction = "none"
        if reduction not in ("mean", "sum", "none"):
            raise user_error(ValueError, "loss:reduction", "reduction must be 'mean', 'sum' or 'none', not %r"
                             % (reduction,))
        self.reduction = reduction
        self.average = reduction == "mean"
        self.reduce = reduction != "none"
        self.reduce_mean = P.ReduceMean()
        self.reduce_sum = P.ReduceSum()
        self.mul = P.Mul()
        self.cast = P.Cast()

    def get_axis(self, x):
        return tuple(range(x.ndim))

    def get_loss(self, x, weights=1.0):
        """Weighted reduction in float32."""
        kind = x.dtype
        if kind is not mstype.float32:
            x = self.cast(x, mstype.float32)
        if isinstance(weights, Tensor) or weights != 1.0:
            x = self.mul(weights, x)
        if self.reduce:
            x = (self.reduce_mean if self.average else self.reduce_sum)(x, self.get_axis(x))
        return x if kind is mstype.float32 else self.cast(x, kind)

    def construct(self, logits, labels):
        raise user_error(NotImplementedError, "loss:construct", "a loss must define construct()")


_Loss = LossBase


class MSELoss(LossBase):
    """See mindspore.nn.MSELoss."""

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return self.get_loss(F.square(logits - labels))


class L1Loss(LossBase):
    """See mindspore.nn.L1Loss."""

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return self.get_loss(F.abs(logits - labels))


class MAELoss(L1Loss):
    """See mindspore.nn.MAELoss."""


class SoftmaxCrossEntropyWithLogits(LossBase):
    """See mindspore.nn.SoftmaxCrossEntropyWithLogits."""

    def __init__(self, sparse=False, reduction="none"):
        super().__init__(reduction)
        if not isinstance(sparse, bool):
            raise user_error(TypeError, "SoftmaxCrossEntropyWithLogits:sparse", "sparse must be True or False")
        self.sparse = sparse
        self.softmax_cross_entropy = P.SoftmaxCrossEntropyWithLogits()
        self.one_hot = P.OneHot()
        self.on_value = Tensor(1.0, mstype.float32)
        self.off_value = Tensor(0.0, mstype.float32)
        self.sparse_softmax_cross_entropy = P.SparseSoftmaxCrossEntropyWithLogits()

    def construct(self, logits, labels):
        if self.sparse:
            if self.reduction == "mean":
                return self.sparse_softmax_cross_entropy(logits, labels)
            labels = self.one_hot(labels, logits.shape[-1], self.on_value, self.off_value)
        return self.get_loss(self.softmax_cross_entropy(logits, labels)[0])


class CrossEntropyLoss(LossBase):
    """See mindspore.nn.CrossEntropyLoss."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return F.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction,
                               self.label_smoothing)


class NLLLoss(LossBase):
    """See mindspore.nn.NLLLoss."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return F.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


__getattr__ = module_getattr("mindspore.nn")
