"""Losses."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P


class LossBase(Cell):
    """See mindspore.nn.LossBase."""

    _loops_apply_it = True

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


class _Functional(LossBase):
    """Losses that one function of ops computes."""

    _function = ""

    def __init__(self, reduction="mean"):
        super().__init__("mean" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return getattr(F, self._function)(logits, labels, reduction=self.reduction)


class L1Loss(_Functional):
    """See mindspore.nn.L1Loss."""

    _function = "l1_loss"


class SoftMarginLoss(_Functional):
    """See mindspore.nn.SoftMarginLoss."""

    _function = "soft_margin_loss"


class KLDivLoss(_Functional):
    """See mindspore.nn.KLDivLoss."""

    _function = "kl_div"


class SmoothL1Loss(LossBase):
    """See mindspore.nn.SmoothL1Loss."""

    def __init__(self, beta=1.0, reduction="none"):
        super().__init__(reduction)
        self.smooth_l1_loss = P.SmoothL1Loss(beta, reduction)

    def construct(self, logits, labels):
        return self.smooth_l1_loss(logits, labels)


class HuberLoss(LossBase):
    """See mindspore.nn.HuberLoss."""

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return F.huber_loss(logits, labels, self.reduction, self.delta)


class RMSELoss(LossBase):
    """See mindspore.nn.RMSELoss."""

    def __init__(self):
        super().__init__()
        self.MSELoss = MSELoss()

    def construct(self, logits, label):
        from mindspore.ops import functional as F
        return F.sqrt(self.MSELoss(logits, label))


class MAELoss(LossBase):
    """See mindspore.nn.MAELoss."""

    def construct(self, logits, label):
        from mindspore.ops import functional as F
        return self.get_loss(F.abs(logits - label))


class BCEWithLogitsLoss(LossBase):
    """See mindspore.nn.BCEWithLogitsLoss."""

    def __init__(self, reduction="mean", weight=None, pos_weight=None):
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, input, target):
        from mindspore.ops import functional as F
        return F.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight, self.reduction)


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
