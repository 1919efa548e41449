"""Losses for overlap, imbalance, rankings and embeddings. Source: mindspore/python/mindspore/nn/loss/loss.py (operators)."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.loss.loss import LossBase
from mindspore.ops import operations as P
from mindspore.ops.primitive import cast, operator


def _refuse(owner, what, message, hint=""):
    return user_error(ValueError, "%s:%s" % (owner, what), message, hint)


class DiceLoss(LossBase):
    """See mindspore.nn.DiceLoss."""

    def __init__(self, smooth=1e-5):
        super().__init__()
        if isinstance(smooth, bool) or not isinstance(smooth, (int, float)) or smooth <= 0:
            raise _refuse("DiceLoss", "smooth", "smooth of DiceLoss must be a positive number, not %r" % (smooth,))
        self.smooth = smooth

    def construct(self, logits, label):
        if logits.shape != label.shape:
            raise _refuse("DiceLoss", "shape", "DiceLoss takes logits and labels of one shape, not %s and %s"
                          % (logits.shape, label.shape))
        a, b = logits.view(-1), label.view(-1)
        common = self.reduce_sum(self.mul(a, b))
        both = P.Add()(self.reduce_sum(self.mul(a, a)), self.reduce_sum(self.mul(b, b)))
        return P.Sub()(1, 2 * common / P.Add()(both, self.smooth))


class MultiClassDiceLoss(LossBase):
    """See mindspore.nn.MultiClassDiceLoss: the DiceLoss of each class."""

    def __init__(self, weights=None, ignore_indiex=None, activation="softmax"):
        super().__init__()
        from mindspore import nn
        self.binarydiceloss = DiceLoss(smooth=1e-5)
        self.weights, self.ignore_indiex = weights, ignore_indiex
        kinds = {"softmax": "Softmax", "logsoftmax": "LogSoftmax", "relu": "ReLU", "relu6": "ReLU6", "tanh": "Tanh",
                 "sigmoid": "Sigmoid"}
        if isinstance(activation, str) and activation not in kinds:
            raise _refuse("MultiClassDiceLoss", "activation", "activation must be one of %s, not %r"
                          % (", ".join(kinds), activation))
        self.activation = getattr(nn, kinds[activation])() if isinstance(activation, str) else activation

    def construct(self, logits, label):
        if logits.shape != label.shape or logits.ndim < 2:
            raise _refuse("MultiClassDiceLoss", "shape", "MultiClassDiceLoss takes logits and labels of one shape with classes "
                          "in dimension 1, not %s and %s" % (logits.shape, label.shape))
        if self.activation is not None:
            logits = self.activation(logits)
        total = 0
        for i in range(label.shape[1]):
            if i == self.ignore_indiex:
                continue
            loss = self.binarydiceloss(logits[:, i], label[:, i])
            total += loss if self.weights is None else loss * self.weights[i]
        return total / label.shape[1]


class FocalLoss(LossBase):
    """See mindspore.nn.FocalLoss."""

    def __init__(self, weight=None, gamma=2.0, reduction="mean"):
        super().__init__(reduction)
        if not isinstance(gamma, float):
            raise user_error(TypeError, "FocalLoss:gamma", "gamma of FocalLoss must be a float, not %r" % (gamma,))
        if weight is not None and not (isinstance(weight, Tensor) and weight.ndim == 1):
            raise user_error(TypeError, "FocalLoss:weight", "weight of FocalLoss must be a Tensor of one dimension")
        self.gamma, self.weight = gamma, weight
        self.logsoftmax = P.LogSoftmax(1)

    def construct(self, logits, labels):
        if logits.ndim != labels.ndim or labels.shape[1] not in (1, logits.shape[1]):
            raise _refuse("FocalLoss", "shape", "labels of FocalLoss have the dimensions of the logits and 1 or as many classes: "
                          "%s beside %s" % (labels.shape, logits.shape))
        wide = (logits.shape[0], logits.shape[1], -1)
        marks = labels.view(labels.shape[0], labels.shape[1], -1) if logits.ndim > 2 else P.ExpandDims()(labels, 2)
        scores = self.logsoftmax(logits.view(*wide) if logits.ndim > 2 else P.ExpandDims()(logits, 2))
        single = labels.shape[1] == 1
        if single:
            scores = self._of_class(scores, marks)
        probability = operator("Exp")(scores)
        if self.weight is not None:
            weight = P.Tile()(self.weight.reshape((1, -1, 1)), (marks.shape[0], 1, marks.shape[2]))
            scores = scores * (self._of_class(weight, marks) if single else weight)
        focus = P.Pow()(-1 * probability + 1.0, self.gamma)
        if single:
            return self.get_loss((-1 * focus * scores).mean(axis=1))
        return self.get_loss((-1 * focus * marks * scores).mean(axis=-1))

    @staticmethod
    def _of_class(values, classes):
        return P.Squeeze(axis=1)(P.GatherD()(values, 1, cast(classes, mstype.int32)))


class PoissonNLLLoss(LossBase):
    """See mindspore.nn.PoissonNLLLoss."""

    def __init__(self, log_input=True, full=False, eps=1e-08, reduction="mean"):
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input, target):
        from mindspore.ops import functional as F
        target = cast(target, input.dtype)
        loss = operator("Exp")(input) - target * input if self.log_input else \
            input - target * operator("Log")(input + self.eps)
        if self.full:
            target = P.Maximum()(target, self.eps)
            stirling = (target > 1) * ((target + 0.5) * operator("Log")(target) - target + 0.9189385332046727)
            loss += F.masked_fill(stirling, target <= 1, 0.0)
        return self.get_loss(loss)


class CosineEmbeddingLoss(LossBase):
    """See mindspore.nn.CosineEmbeddingLoss."""

    def __init__(self, margin=0.0, reduction="mean"):
        super().__init__(reduction)
        if not isinstance(margin, float):
            raise user_error(TypeError, "CosineEmbeddingLoss:margin", "margin must be a float, not %r" % (margin,))
        if not -1.0 <= margin <= 1.0:
            raise _refuse("CosineEmbeddingLoss", "margin", "margin must be between -1 and 1, not %s" % margin)
        self.margin = margin

    def construct(self, logits_x1, logits_x2, labels):
        from mindspore.ops import functional as F
        product = self.reduce_sum(logits_x1 * logits_x2, (1,))
        norms = [F.sqrt(self.reduce_sum(F.square(x), (1,))) for x in (logits_x1, logits_x2)]
        cosine = product / (norms[0] * norms[1])
        zeros = operator("ZerosLike")(cosine)
        alike = P.Select()(labels == 1, 1.0 - cosine, zeros)
        apart = P.Select()(labels == -1, P.Maximum()(cosine - self.margin, 0.0), zeros)
        return self.get_loss(alike + apart)


class MarginRankingLoss(LossBase):
    """See mindspore.nn.MarginRankingLoss."""

    def __init__(self, margin=0.0, reduction="mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1, input2, target):
        from mindspore.ops import functional as F
        return F.margin_ranking_loss(input1, input2, target, float(self.margin), self.reduction)


class HingeEmbeddingLoss(LossBase):
    """See mindspore.nn.HingeEmbeddingLoss."""

    def __init__(self, margin=1.0, reduction="mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits, labels):
        from mindspore.ops import functional as F
        return F.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class GaussianNLLLoss(LossBase):
    """See mindspore.nn.GaussianNLLLoss."""

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits, labels, var):
        from mindspore.ops import functional as F
        return F.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


__getattr__ = module_getattr("mindspore.nn")
