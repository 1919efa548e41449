"""Losses around functions of mindspore.ops, and sampled softmax. Source: mindspore/python/mindspore/nn/loss/loss.py (operators)."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.nn.loss.loss import LossBase
from mindspore.ops import operations as P
from mindspore.ops.primitive import cast, operator


class MultiLabelSoftMarginLoss(LossBase):
    """See mindspore.nn.MultiLabelSoftMarginLoss."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x, target):
        from mindspore.ops import functional as F
        return F.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """See mindspore.nn.MultiMarginLoss: without weights they are a constant of ones."""

    def __init__(self, p=1, margin=1.0, reduction="mean", weight=None):
        super().__init__(reduction)
        if p not in (1, 2):
            raise user_error(ValueError, "MultiMarginLoss:p", "p of MultiMarginLoss must be 1 or 2, not %r" % (p,))
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x, target, weight=None):
        from mindspore.ops import _unruled
        from mindspore.ops.operations._python_ops import constant
        weight = weight if self.weight is None else self.weight
        weight = constant(x.shape[1:], 1, x.dtype) if weight is None else weight
        shape = x.shape[:1] if self.reduction == "none" else ()
        return _unruled.record("MultiMarginLoss", [x, target, weight], [(shape, x.dtype)], p=self.p, margin=self.margin,
                               reduction=self.reduction)


class MultilabelMarginLoss(LossBase):
    """See mindspore.nn.MultilabelMarginLoss."""

    def construct(self, x, target):
        from mindspore.ops import functional as F
        return F.multilabel_margin_loss(x, target, self.reduction)


class TripletMarginLoss(LossBase):
    """See mindspore.nn.TripletMarginLoss."""

    def __init__(self, p=2, swap=False, eps=1e-06, reduction="mean", margin=1.0):
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x, positive, negative, margin=1.0):
        from mindspore.ops import functional as F
        return F.triplet_margin_loss(x, positive, negative, self.margin if self.margin != 1.0 else margin, self.p, self.eps, self.swap,
                                     self.reduction)


class TripletMarginWithDistanceLoss(LossBase):
    """See mindspore.nn.TripletMarginWithDistanceLoss: distances by a function of the script's."""

    def __init__(self, distance_function=None, swap=False, reduction="mean", margin=1.0):
        super().__init__(reduction)
        if not isinstance(margin, float):
            raise user_error(TypeError, "TripletMarginWithDistanceLoss:margin", "margin must be a float, not %r" % (margin,))
        self.distance_function = self._distance if distance_function is None else distance_function
        self.swap, self.margin = swap, margin

    @staticmethod
    def _distance(x, y):
        return P.LpNorm(axis=1, p=2)(operator("Abs")(x - y))

    def construct(self, x, positive, negative):
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = P.Minimum()(far, self.distance_function(positive, negative))
        return self.get_loss(P.Maximum()(near - far + self.margin, 0))


class CTCLoss(LossBase):
    """See mindspore.nn.CTCLoss."""

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(self, log_probs, targets, input_lengths, target_lengths):
        from mindspore.ops import functional as F
        single = log_probs.ndim == 2
        if single:
            targets = operator("ExpandDims")(targets, 0) if targets.ndim == 1 else targets
            log_probs = operator("ExpandDims")(log_probs, -2)
        loss = F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)[0]
        return F.squeeze(loss, 0) if single and loss.ndim else loss


class SampledSoftmaxLoss(LossBase):
    """See mindspore.nn.SampledSoftmaxLoss: the softmax of the true classes and of some that are drawn."""

    def __init__(self, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=True, seed=0, reduction="none"):
        super().__init__(reduction)
        if num_true < 1 or num_true > num_classes or num_sampled > num_classes:
            raise user_error(ValueError, "SampledSoftmaxLoss:classes", "num_true (%d) and num_sampled (%d) must not be larger than "
                             "num_classes (%d), num_true at least 1" % (num_true, num_sampled, num_classes))
        if sampled_values is not None and len(sampled_values) != 3:
            raise user_error(ValueError, "SampledSoftmaxLoss:values", "sampled_values must be three tensors, not %d" % len(sampled_values))
        self.num_true, self.sampled_values = num_true, sampled_values
        self.sampler = P.UniformCandidateSampler(num_true, num_sampled, True, num_classes, seed, remove_accidental_hits)

    def construct(self, weights, biases, labels, logits):
        logits, targets = self._sampled(weights, biases, labels, logits)
        scores = operator("Exp")(logits - P.ReduceMax(True)(logits, 1))
        share = scores / P.ReduceSum(True)(scores, 1)
        return -1 * self.reduce_sum(targets * operator("Log")(share + 1e-20), 1)

    def _sampled(self, weights, biases, labels, logits):
        """Logits and targets of the true and of the drawn classes."""
        labels = P.Reshape()(cast(labels, mstype.int32), (-1, self.num_true))
        flat = P.Reshape()(labels, (-1,))
        sampled, true_count, sampled_count = self.sampler(labels) if self.sampled_values is None else self.sampled_values
        sampled = cast(sampled, mstype.int32)
        every = P.Concat(0)((flat, sampled))
        rows, biases = P.Gather()(weights, every, 0), P.Gather()(biases, every, 0)
        n_true, n_sampled, width = flat.shape[0], sampled.shape[0], rows.shape[1]
        true_rows = P.Slice()(rows, (0, 0), (n_true, width))
        drawn = P.MatMul(False, True)(logits, P.Slice()(rows, (n_true, 0), (n_sampled, width)))
        true_bias, drawn_bias = P.Slice()(biases, (0,), (n_true,)), P.Slice()(biases, (n_true,), (n_sampled,))
        dots = P.Mul()(P.ExpandDims()(logits, 1), P.Reshape()(true_rows, (-1, self.num_true, width)))
        true_logits = P.Reshape()(self.reduce_sum(P.Reshape()(dots, (-1, width)), 1), (-1, self.num_true))
        true_logits = true_logits + P.Reshape()(true_bias, (-1, self.num_true)) - operator("Log")(true_count)
        drawn = drawn + drawn_bias - operator("Log")(sampled_count)
        targets = P.Concat(1)((operator("OnesLike")(true_logits) / self.num_true, operator("ZerosLike")(drawn)))
        return P.Concat(1)((true_logits, drawn)), targets


NAMES = tuple(name for name, value in dict(globals()).items() if not name.startswith("_") and isinstance(value, type)
              and issubclass(value, LossBase) and name != "LossBase")
__getattr__ = module_getattr("mindspore.nn")
