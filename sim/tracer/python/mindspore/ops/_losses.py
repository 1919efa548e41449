"""Losses made of operators of the table, in the order and of the kinds in which the reference makes them.

Source: mindspore/python/mindspore/ops/function/nn_func.py.
"""
from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import cast, operator as op


def _sum(x, axes=None, keep_dims=False):
    return op("SumExt")(x, axes, keep_dims)


def check_reduction(reduction):
    if reduction not in ("mean", "sum", "none"):
        raise user_error(ValueError, "loss:reduction", "reduction must be 'mean', 'sum' or 'none', not %r" % (reduction,))


def reduce_loss(loss, reduction):
    """In float32."""
    check_reduction(reduction)
    kind = loss.dtype
    if kind is not mstype.float32:
        loss = cast(loss, mstype.float32)
    if reduction != "none":
        loss = op("ReduceMean" if reduction == "mean" else "ReduceSum")(loss, tuple(range(loss.ndim)))
    return loss if kind is mstype.float32 else cast(loss, kind)


def log_softmax(x, axis):
    """x - log(sum(exp(x))), with the largest element taken out of the exponent."""
    largest = op("ReduceMax", keep_dims=True)(x, (axis,))
    total = _sum(op("Exp")(x - largest), (axis,), True)
    return x - (op("Log")(total) + largest)


def nll_loss(inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    check_reduction(reduction)
    if inputs.ndim in (1, 2, 4):
        axis = {1: 0, 2: -1, 4: 1}[inputs.ndim]
        return _nll_loss(inputs, target, axis, weight, ignore_index, reduction, label_smoothing)
    n, classes = inputs.shape[:2]
    result = _nll_loss(inputs.reshape((n, classes, 1, -1)), target.reshape((n, 1, -1)), 1, weight, ignore_index,
                       reduction, label_smoothing)
    return result if reduction != "none" else result.reshape((n,) + inputs.shape[2:])


def _zero_where(x, mask):
    return x if mask is None else op("MaskedFill")(x, mask, Tensor(0, x.dtype))


def _weighted(inputs, target, axis, weight):
    """Inputs times the weights of their classes; weights of the targets."""
    of_targets = op("Gather")(weight, target, 0)
    shape = inputs.shape
    if inputs.ndim != 2:
        inputs, weight = inputs.reshape(shape[:2] + (-1,)), weight.reshape(weight.shape + (1,))
    return (inputs * weight).reshape(shape), of_targets


def _nll_loss(inputs, target, axis, weight, ignore_index, reduction, label_smoothing):
    if target.ndim == inputs.ndim - 1:
        target = op("ExpandDims")(target, axis)
    ignored = None
    if ignore_index is not None:
        ignored = op("Equal")(target, Tensor(ignore_index, target.dtype))
        target = _zero_where(target, ignored)
    of_targets = None
    if weight is not None:
        inputs, of_targets = _weighted(inputs, target, axis, weight)
    loss = op("Neg")(op("GatherD")(inputs, axis, target))
    smooth = op("Neg")(_sum(inputs, (axis,), True))
    if of_targets is None:
        of_targets = constant(loss.shape, 1, loss.dtype)
    loss, of_targets, smooth = (_zero_where(x, ignored) for x in (loss, of_targets, smooth))
    loss, smooth = (op("Squeeze", axis=(axis % inputs.ndim,))(x) for x in (loss, smooth))
    if reduction != "none":
        loss, smooth = _sum(loss), _sum(smooth)
    if reduction == "mean":
        of_targets = _sum(of_targets)
        loss, smooth = op("Div")(loss, of_targets), op("Div")(smooth, of_targets)
    share = label_smoothing / inputs.shape[axis]
    return (1.0 - label_smoothing) * loss + share * smooth


def _cross_entropy_of_shares(input, target, axis, weight, reduction, label_smoothing):
    """Targets say how much of each class there is."""
    classes, elements = input.shape[axis], input.size
    scores = log_softmax(input, axis)
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    product = scores * target
    if weight is not None:
        if input.ndim != 1:
            weight = weight.reshape((1, weight.shape[0]) + (1,) * (input.ndim - 2))
        product = product * weight
    if reduction == "none":
        return op("Neg")(_sum(product, (axis,)))
    total = op("Neg")(_sum(product))
    return total / (elements / classes) if reduction == "mean" else total


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    check_reduction(reduction)
    axis = 0 if input.ndim == 1 else 1
    if target.dtype.kind == "float":
        return _cross_entropy_of_shares(input, target, axis, weight, reduction, label_smoothing)
    return nll_loss(log_softmax(input, axis), target, weight, ignore_index, reduction, label_smoothing)


def huber_loss(input, target, reduction="mean", delta=1.0):
    distance = op("Abs")(input - target)
    near = op("Less")(distance, Tensor(delta, distance.dtype))
    square = op("Mul")(Tensor(0.5, distance.dtype), op("Square")(distance))
    line = distance - Tensor(0.5 * delta, distance.dtype)
    if delta != 1.0:
        line = op("Mul")(Tensor(delta, distance.dtype), line)
    return reduce_loss(op("Select")(near, square, line), reduction)


def kl_div(logits, labels, reduction="mean"):
    """The operator's mean is its sum divided by the number of elements."""
    if reduction == "batchmean":
        return op("KLDivLoss", reduction="sum")(logits, labels) / logits.shape[0]
    if reduction == "mean":
        return op("KLDivLoss", reduction="sum")(logits, labels) / logits.size
    return op("KLDivLoss", reduction=reduction)(logits, labels)


def binary_cross_entropy(logits, labels, weight=None, reduction="mean"):
    return op("BinaryCrossEntropy", reduction=reduction)(logits, labels, weight)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction="mean"):
    return op("BCEWithLogitsLoss", reduction=reduction)(input, target, weight, pos_weight)


def smooth_l1_loss(input, target, beta=1.0, reduction="none"):
    return op("SmoothL1Loss", beta=beta, reduction=reduction)(input, target)


def soft_margin_loss(input, target, reduction="mean"):
    return op("SoftMarginLoss", reduction=reduction)(input, target)


def l1_loss(input, target, reduction="mean"):
    return reduce_loss(op("Abs")(input - target), reduction)


def _f():
    from mindspore.ops import functional
    return functional


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    return reduce_loss(_f().clamp(-target * (input1 - input2) + margin, min=0), reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    F = _f()
    if not -1.0 <= margin <= 1.0:
        raise user_error(ValueError, "cosine_embedding_loss:margin", "margin must be between -1 and 1, not %s" % margin)
    first, second = (cast(x, mstype.float32) if x.dtype.kind == "int" else x for x in (input1, input2))
    product, *squares = (F.reduce_sum(x, (1,)) for x in (first * second, F.square(first), F.square(second)))
    cosine = product / (F.sqrt(squares[0]) * F.sqrt(squares[1]))
    zeros = F.zeros_like(cosine)
    alike, apart = 1.0 - cosine, F.maximum(cosine - float(margin), 0.0)
    return reduce_loss(F.select(target == 1, alike, zeros) + F.select(target == -1, apart, zeros), reduction)


def hinge_embedding_loss(inputs, targets, margin=1.0, reduction="mean"):
    F = _f()
    alike, apart = targets > 0, targets < 0
    alike, far = alike * inputs, apart * inputs
    far = F.clip_by_value(Tensor(margin, inputs.dtype) * apart - far, Tensor(0, inputs.dtype))
    return _mean_or_sum(alike + far, reduction)


def _mean_or_sum(loss, reduction):
    check_reduction(reduction)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction="mean"):
    F = _f()
    if x.shape != var.shape and x.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    spread = F.maximum(var, eps)
    return _mean_or_sum(0.5 * (F.log(spread) + F.square(x - target) / spread) + (0.9189385332046727 if full else 0), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, reduction="mean"):
    F = _f()
    loss = target * F.log(F.exp(-input) + 1) + (1 - target) * F.log(F.exp(input) + 1)
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss.sum(-1) / input.shape[-1], reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction="mean"):
    """One kernel, whose form alone is known."""
    from mindspore.ops import _unruled
    check_reduction(reduction)
    margin = margin if isinstance(margin, Tensor) else Tensor(margin, mstype.float32)
    shape = anchor.shape[:1] + anchor.shape[2:] if reduction == "none" else ()
    return _unruled.record("TripletMarginLoss", [anchor, positive, negative, margin], [(shape, anchor.dtype)], p=p, swap=swap)
