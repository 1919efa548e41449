"""mindspore.mint.nn.functional: the functional forms of mindspore.ops under PyTorch's names."""
_NAMES = {"linear": "dense"}


def softmax(input, dim=None, dtype=None):
    from mindspore.ops import functional
    return functional.softmax(input, -1 if dim is None else dim, dtype=dtype)


def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    """One operator; classes are dimension 1, and all others but it are one batch."""
    from mindspore.ops.operations._python_ops import constant
    from mindspore.ops.primitive import operator
    shape = target.shape
    if input.ndim > 2:
        order = (0,) + tuple(range(2, input.ndim)) + (1,)
        input = input.transpose(*order).reshape((-1, input.shape[1]))
        target = target.reshape((-1,))
    if weight is None:
        weight = constant((input.shape[-1],), 1, input.dtype)
    loss = operator("NLLLoss", reduction=reduction, ignore_index=ignore_index)(input, target, weight)[0]
    return loss.reshape(shape) if reduction == "none" and len(shape) > 1 else loss


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    from mindspore import ops
    from mindspore.ops.primitive import operator
    if label_smoothing or target.dtype.kind == "float":
        return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    scores = operator("LogSoftmax", axis=0 if input.ndim == 1 else 1)(input)
    return nll_loss(scores, target, weight, ignore_index, reduction)


def pad(input, pad, mode="constant", value=0):
    """Pairs of widths from the last dimension on."""
    from mindspore.ops.primitive import operator
    if mode == "constant":
        return operator("PadV3", mode=mode)(input, tuple(pad), value)
    return operator("PadV3", mode=mode)(input, tuple(pad))


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore import ops
    return getattr(ops, _NAMES.get(name, name))
