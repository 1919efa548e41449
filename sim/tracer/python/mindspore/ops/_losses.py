"""Losses made of operators of the table."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import operator as op


def reduce_loss(loss, reduction):
    if reduction == "mean":
        return op("ReduceMean")(loss, ())
    if reduction == "sum":
        return op("ReduceSum")(loss, ())
    if reduction == "none":
        return loss
    raise user_error(ValueError, "loss:reduction", "reduction must be 'mean', 'sum' or 'none', not %r" % (reduction,))


def nll_loss(inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    if label_smoothing:
        raise Unsupported("mindspore.ops.nll_loss.label_smoothing")
    if inputs.ndim != 2:
        raise Unsupported("mindspore.ops.nll_loss.rank", "nll_loss of inputs with %d dimensions is not supported"
                          % inputs.ndim, "reshape the inputs to (batch, classes)")
    if weight is None:
        weight = constant((inputs.shape[1],), 1, inputs.dtype)
    return op("NLLLoss", reduction=reduction, ignore_index=ignore_index)(inputs, target, weight)[0]


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    if target.dtype.kind == "float":
        scores = op("LogSoftmax", axis=1)(input)
        losses = op("Neg")(op("ReduceSum")(scores * target, 1))
        return reduce_loss(losses, reduction)
    scores = op("LogSoftmax", axis=1)(input)
    return nll_loss(scores, target, weight, ignore_index, reduction, label_smoothing)
