"""Losses as functions: operators of which the form alone is known."""
from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype
from mindspore.ops import _unruled
from mindspore.ops._algebra import _tensors


def _one_for_each_row(name, input, reduction):
    if reduction not in ("mean", "sum", "none"):
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


NAMES = ("multi_margin_loss", "multilabel_margin_loss")
