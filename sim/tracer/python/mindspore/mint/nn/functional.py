"""mindspore.mint.nn.functional: the functional forms of mindspore.ops under PyTorch's names."""
from mindspore._drydock import arguments, names
from mindspore._drydock.lazy import Stub, module_getattr

_NAMES = {"linear": "dense", "silu_func": "silu", "elu_ext": "elu", "relu_": "relu", "tanh_": "tanh", "sigmoid_": "sigmoid",
          "hardtanh_": "hardtanh", "threshold_": "threshold", "elu_": "elu"}
# Function -> operator that takes the tensor, and settings of its constructor or its call by name.
_OPERATORS = {"hardshrink": ("HShrink", "lambd"), "softshrink": ("SoftShrink", "lambd"), "hardsigmoid": ("HSigmoid", None),
              "selu": ("SeLU", None), "mish": ("Mish", None), "relu6": ("ReLU6", None)}


def softmax(input, dim=None, dtype=None):
    from mindspore.ops import functional
    return functional.softmax(input, -1 if dim is None else dim, dtype=dtype)


def softplus(input, beta=1, threshold=20):
    from mindspore.ops.primitive import operator
    return operator("SoftplusExt")(input, beta, threshold)


def gelu(input, *, approximate="none"):
    from mindspore.ops.primitive import operator
    return operator("GeluExt")(input, approximate)


def elu(input, alpha=1.0):
    from mindspore.ops.primitive import operator
    return operator("EluExt")(input, alpha)


def leaky_relu(input, negative_slope=0.01):
    from mindspore.ops.primitive import operator
    return operator("LeakyReLUExt")(input, negative_slope)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    from mindspore.ops.operations._python_ops import constant
    from mindspore.ops.primitive import operator
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    weight = constant(shape, 1, input.dtype) if weight is None else weight
    bias = constant(shape, 0, input.dtype) if bias is None else bias
    return operator("LayerNormExt")(input, shape, weight, bias, eps)[0]


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


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False):
    from mindspore.ops.primitive import operator
    return operator("Embedding")(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


def kl_div(input, target, reduction="mean", log_target=False):
    """target * (log(target) - input), or with the target's logarithm given."""
    from mindspore import ops
    from mindspore.ops import _losses
    loss = ops.exp(target) * (target - input) if log_target else target * (ops.log(target) - input)
    if reduction == "batchmean":
        return ops.sum(loss) / input.shape[0]
    return _losses.reduce_loss(loss, reduction)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    from mindspore import ops
    return ops.max_unpool2d(input, indices, kernel_size, stride, padding, output_size)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    from mindspore.ops.primitive import operator
    return operator("GroupNorm")(input, num_groups, weight, bias, eps)[0]


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    from mindspore.ops.operations._python_ops import constant
    from mindspore.ops.primitive import operator
    channels = (input.shape[1],)
    weight = constant(channels, 1, input.dtype) if weight is None else weight
    bias = constant(channels, 0, input.dtype) if bias is None else bias
    norm = operator("BatchNorm", is_training=training, epsilon=eps, momentum=momentum)
    return norm(input, weight, bias, running_mean, running_var)[0]


def _activation(name):
    operator_name, setting = _OPERATORS[name]

    def function(input, *values, **named):
        from mindspore.ops.primitive import operator
        settings = dict(zip([setting], values)) if setting else {}
        settings.update({key: value for key, value in named.items() if key == setting})
        return operator(operator_name, **settings)(input)

    function.__name__ = name
    return function


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore import ops
    from mindspore.ops import _fallback, functional
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    if name in _OPERATORS:
        return _activation(name)
    if name == "cosine_embedding_loss":  # of other kernels than the function of ops
        return module_getattr(__name__)(name)
    ours = _NAMES.get(name, name)
    found = _fallback.made_of_others(name) or getattr(functional if ours.islower() else ops, ours, None)
    if found is None or isinstance(found, Stub):
        return module_getattr(__name__)(name)
    found = arguments.fitted(__name__, name, found)
    if not names.lacks((__name__,), name):
        globals()[name] = found
    return found
