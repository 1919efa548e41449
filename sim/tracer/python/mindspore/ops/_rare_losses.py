"""Losses as functions: compositions in the order of the reference, and operators of which the form alone is known.

Source: mindspore/python/mindspore/ops/function/nn_func.py (which operators, in which order).
"""
import math

from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _unruled
from mindspore.ops._algebra import _f, _tensors
from mindspore.ops.primitive import cast, operator as op


def _weighted(loss, reduction):
    """The mean or the sum of all elements, in float32."""
    from mindspore.ops import _losses
    return _losses.reduce_loss(loss, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    F = _f()
    _tensors("cosine_embedding_loss", input1, input2, target)
    if isinstance(margin, bool) or not isinstance(margin, (int, float)):
        raise user_error(TypeError, "cosine_embedding_loss:margin", "margin must be a number, not %r" % (margin,))
    if not -1.0 <= margin <= 1.0:
        raise user_error(ValueError, "cosine_embedding_loss:margin", "margin must be between -1 and 1, not %s" % margin)
    input1, input2 = (x if x.dtype.kind == "float" else cast(x, mstype.float32) for x in (input1, input2))
    product = op("ReduceSum")(input1 * input2, (1,))
    squares = [op("ReduceSum")(F.square(x), (1,)) for x in (input1, input2)]
    cosine = product / (F.sqrt(squares[0]) * F.sqrt(squares[1]))
    alike, apart = 1.0 - cosine, op("Maximum")(cosine - float(margin), 0.0)
    zeros = F.zeros_like(cosine)
    return _weighted(op("Select")(target == 1, alike, zeros) + op("Select")(target == -1, apart, zeros), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    _tensors("margin_ranking_loss", input1, input2, target)
    if not isinstance(margin, float):
        raise user_error(TypeError, "margin_ranking_loss:margin", "margin must be a float, not %r" % (margin,))
    return _weighted(_f().clamp(-target * (input1 - input2) + margin, 0, None), reduction)


def hinge_embedding_loss(inputs, targets, margin=1.0, reduction="mean"):
    """Inputs where the target is above 0, what is missing to the margin where it is below."""
    _tensors("hinge_embedding_loss", inputs, targets)
    if not isinstance(margin, (int, float)):
        raise user_error(TypeError, "hinge_embedding_loss:margin", "margin must be a number, not %r" % (margin,))
    above, below = targets > 0, targets < 0
    near = above * inputs
    far = below * inputs
    far = Tensor(margin, inputs.dtype) * below - far
    loss = near + op("Maximum")(far, Tensor(0, inputs.dtype))
    return _plain(loss, reduction, "hinge_embedding_loss")


def _plain(loss, reduction, name):
    if reduction not in ("mean", "sum", "none"):
        raise user_error(ValueError, name + ":reduction", "reduction must be 'mean', 'sum' or 'none', not %r" % (reduction,))
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction="mean"):
    _tensors("gaussian_nll_loss", x, target, var)
    if not isinstance(eps, float) or eps <= 0:
        raise user_error(ValueError, "gaussian_nll_loss:eps", "eps must be a positive float, not %r" % (eps,))
    if x.shape != var.shape and x.shape[:-1] == var.shape:
        var = op("ExpandDims")(var, -1)
    spread = op("Maximum")(var, eps)
    loss = 0.5 * (op("Log")(spread) + op("Square")(x - target) / spread) + (0.5 * math.log(2 * math.pi) if full else 0)
    return _plain(loss, reduction, "gaussian_nll_loss")


def multilabel_soft_margin_loss(input, target, weight=None, reduction="mean"):
    _tensors("multilabel_soft_margin_loss", input, target)
    positive_part = op("Log")(op("Add")(op("Exp")(-input), 1))
    negative_part = op("Log")(op("Add")(op("Exp")(input), 1))
    loss = op("Mul")(target, positive_part) + op("Mul")(1 - target, negative_part)
    if weight is not None:
        loss = op("Mul")(loss, weight)
    last = input.ndim - 1
    return _weighted(loss.sum(axis=last) / input.shape[last], reduction)


def _one_for_each_row(name, input, reduction):
    _plain_reduction = reduction in ("mean", "sum", "none")
    if not _plain_reduction:
        raise user_error(ValueError, name + ":reduction", "reduction must be 'mean', 'sum' or 'none', not %r" % (reduction,))
    return input.shape[:-1] if reduction == "none" else ()


def multi_margin_loss(input, target, p=1, margin=1, weight=None, reduction="mean"):
    _tensors("multi_margin_loss", input, target)
    shape = _one_for_each_row("multi_margin_loss", input, reduction)
    return _unruled.record("MultiMarginLoss", [input, target, weight], [(shape, input.dtype)], p=p, margin=float(margin), reduction=reduction)


def multilabel_margin_loss(input, target, reduction="mean"):
    _tensors("multilabel_margin_loss", input, target)
    shape = _one_for_each_row("multilabel_margin_loss", input, reduction)
    return _unruled.record("MultilabelMarginLoss", [input, target], [(shape, input.dtype), (target.shape, mstype.int32)],
                           reduction=reduction)[0]


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, reduction="mean"):
    _tensors("triplet_margin_loss", anchor, positive, negative)
    shape = _one_for_each_row("triplet_margin_loss", anchor, reduction)
    margin = margin if isinstance(margin, Tensor) else Tensor(margin, mstype.float32)
    return _unruled.record("TripletMarginLoss", [anchor, positive, negative, margin], [(shape, anchor.dtype)], p=p, eps=eps, swap=swap,
                           reduction=reduction)


NAMES = ("cosine_embedding_loss", "margin_ranking_loss", "hinge_embedding_loss", "gaussian_nll_loss", "multilabel_soft_margin_loss",
         "multi_margin_loss", "multilabel_margin_loss", "triplet_margin_loss")
