"""Primitives that few networks use, with the form of their results: recurrent layers, pools with their places, experts, caches.

Each call is one operator under its own name that the summary counts; see ops/_unruled.py.
"""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._recording import tracing, values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.operations._forms import _Formed, _like, _pair
from mindspore.ops.primitive import Primitive


def _formed(name, types, *settings):
    """A primitive whose results `types(self, *operands)` gives; operands that are no tensors are settings of the call."""
    def call(self, *operands, **named):
        tensors = [value for value in operands + tuple(named.values()) if isinstance(value, Tensor)]
        results = tracing.apply(self.name, tensors, self.recorded_attrs(), self, types=types(self, *operands, **named))
        return results[0] if len(results) == 1 else tuple(results)

    return type(name, (_Formed,), {"settings": settings, "__call__": call, "__module__": __name__,
                                   "__doc__": "See mindspore.ops.%s." % name})


def _same(self, x, *others):
    return [(x.shape, x.dtype)]


# -- recurrent layers: time x batch x hidden --------------------------------------------------------
def _gates(count, gates):
    def types(self, x, weight, *others):
        hidden = weight.shape[-1] // gates
        return [(x.shape[:2] + (hidden,), x.dtype)] * count
    return types


_RECURRENT = (("direction", "UNIDIRECTIONAL"), ("cell_depth", 1), ("keep_prob", 1.0), ("cell_clip", -1.0), ("num_proj", 0),
              ("time_major", True))
DynamicRNN = _formed("DynamicRNN", _gates(8, 4), ("cell_type", "LSTM"), _RECURRENT[0], _RECURRENT[1], ("use_peephole", False),
                     *_RECURRENT[2:], ("activation", "tanh"), ("forget_bias", 0.0), ("is_training", True))
DynamicGRUV2 = _formed("DynamicGRUV2", _gates(6, 3), *_RECURRENT, ("activation", "tanh"), ("gate_order", "rzh"),
                       ("reset_after", True), ("is_training", True))


def _lstm(self, x, h, c, weight):
    ways = 2 if self.bidirectional else 1
    return [(x.shape[:2] + (ways * self.hidden_size,), x.dtype), (h.shape, x.dtype), (c.shape, x.dtype), ((1,), x.dtype), ((1,), x.dtype)]


LSTM = _formed("LSTM", _lstm, ("input_size", 0), ("hidden_size", 0), ("num_layers", 1), ("has_bias", True), ("bidirectional", False),
               ("dropout", 0.0), ("proj_size", 0))


# -- windows ----------------------------------------------------------------------------------------
def _pooled(self, x):
    kernel, pads, dilation = _pair(self.kernel_size), _pair(self.pads), _pair(self.dilation)
    stride = kernel if self.strides is None else _pair(self.strides)
    sides = []
    for side, k, s, p, d in zip(x.shape[2:], kernel, stride, pads, dilation):
        room = side + 2 * p - d * (k - 1) - 1
        sides.append((-(-room // s) if self.ceil_mode else room // s) + 1)
    return x.shape[:2] + tuple(sides)


def _with_mask(self, x):
    shape = _pooled(self, x)
    kernel = _pair(self.kernel_size)
    columns = (-(-shape[2] * shape[3] // 16) + 1) * 32  # bytes of the mask for one place of the window
    return [(shape, x.dtype), (shape[:2] + (kernel[0] * kernel[1], columns), mstype.int8)]


_POOL = (("kernel_size", 1), ("strides", None), ("pads", 0), ("dilation", 1), ("ceil_mode", False), ("argmax_type", mstype.int64))
MaxPoolWithMask = _formed("MaxPoolWithMask", _with_mask, *_POOL)
MaxPoolWithIndices = _formed("MaxPoolWithIndices", lambda self, x: [(_pooled(self, x), x.dtype), (_pooled(self, x), self.argmax_type)],
                             *_POOL)
PsROIPooling = _formed("PsROIPooling", lambda self, x, rois: [((rois.shape[0], self.out_dim, self.pooled_height, self.pooled_width), kind)
                                                              for kind in (x.dtype, mstype.int32)],
                       ("pooled_height", 1), ("pooled_width", 1), ("num_rois", 1), ("spatial_scale", 1.0), ("out_dim", 1),
                       ("group_size", 1))


def _volume(self, x, weight, *others):
    def triple(value):
        return (value,) * 3 if isinstance(value, int) else tuple(value)[-3:]
    kernel, stride, dilation, more = map(triple, (self.kernel_size, self.stride, self.dilation, self.output_padding))
    pads = (self.pad,) * 6 if isinstance(self.pad, int) else tuple(self.pad)
    sides = []
    for dim, side in enumerate(x.shape[2:]):
        full = (side - 1) * stride[dim] + dilation[dim] * (kernel[dim] - 1) + 1
        sides.append(side * stride[dim] if self.pad_mode == "same" else
                     full - sum(pads[2 * dim:2 * dim + 2]) * (self.pad_mode == "pad") + more[dim])
    return [((x.shape[0], weight.shape[1] * self.group) + tuple(sides), x.dtype)]


Conv3DTranspose = _formed("Conv3DTranspose", _volume, ("in_channel", 1), ("out_channel", 1), ("kernel_size", 1), ("mode", 1),
                          ("pad_mode", "valid"), ("pad", 0), ("stride", 1), ("dilation", 1), ("group", 1), ("output_padding", 0),
                          ("data_format", "NCDHW"))


def _columns(self, x):
    def of(value):
        return _pair(value)[-2:]
    blocks = []
    for dim, (k, s, d) in enumerate(zip(of(self.ksizes), of(self.strides), of(self.dilations))):
        pads = 2 * of(self.pads)[dim] if isinstance(self.pads, (int, tuple, list)) else 0
        blocks.append((x.shape[2 + dim] + pads - d * (k - 1) - 1) // s + 1)
    return [(x.shape[:2] + (values.count(of(self.ksizes)), values.count(blocks)), x.dtype)]


Im2Col = _formed("Im2Col", _columns, ("ksizes", 1), ("strides", 1), ("dilations", 1), ("pads", 0))


# -- losses and reductions --------------------------------------------------------------------------
CTCLoss = _formed("CTCLoss", lambda self, x, *others: [(x.shape[1:2], x.dtype), (x.shape, x.dtype)],
                  ("preprocess_collapse_repeated", False), ("ctc_merge_repeated", True), ("ignore_longer_outputs_than_inputs", False))
CTCLossV2 = _formed("CTCLossV2", lambda self, x, targets, *others: [(x.shape[1:2], x.dtype), (
    (x.shape[1], x.shape[0], 2 * targets.shape[-1] + 1), x.dtype)], ("blank", 0), ("reduction", "none"), ("zero_infinity", False))


def _reduced(x, axes, keep):
    axes = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    axes = [axis % x.ndim for axis in axes] or range(x.ndim)
    return tuple(1 if dim in axes else extent for dim, extent in enumerate(x.shape) if keep or dim not in axes)


LpNorm = _formed("LpNorm", lambda self, x: [(_reduced(x, self.axis, self.keep_dims), x.dtype)],
                 ("axis", ()), ("p", 2), ("keep_dims", False), ("epsilon", 1e-12))
ReduceStd = _formed("ReduceStd", lambda self, x: [(_reduced(x, self.axis, self.keep_dims), x.dtype)] * 2,
                    ("axis", ()), ("unbiased", True), ("keep_dims", False))
DiagPart = _formed("DiagPart", lambda self, x: [(x.shape[:x.ndim // 2], x.dtype)])
Bucketize = _formed("Bucketize", lambda self, x: [(x.shape, mstype.int32)], ("boundaries", ()), ("right", False))
FillDiagonal = _like("FillDiagonal", ("fill_value", 0.0), ("wrap", False))


def _factors(self, x):
    rows, columns = x.shape[-2:]
    inner = rows if self.full_matrices else min(rows, columns)
    return [(x.shape[:-2] + (rows, inner), x.dtype), (x.shape[:-2] + (inner, columns), x.dtype)]


Qr = _formed("Qr", _factors, ("full_matrices", False))

# -- random numbers, scattered updates, caches ------------------------------------------------------
UniformInt = _formed("UniformInt", lambda self, shape, *bounds: [(tuple(shape), mstype.int32)], ("seed", 0), ("seed2", 0))
Randperm = _formed("Randperm", lambda self, n: [((self.max_length,), self.dtype)], ("max_length", 1), ("pad", -1), ("dtype", mstype.int32))
RandomCategorical = _formed("RandomCategorical", lambda self, logits, samples, *seed: [((logits.shape[0], samples), self.dtype)],
                            ("dtype", mstype.int64))
TensorScatterElements = _like("TensorScatterElements", ("axis", 0), ("reduction", "none"))
Scatter, MoveTo, GroupTopk = _formed("Scatter", _same), _formed("MoveTo", _same), _formed("GroupTopk", _same)
DecoderKVCache, PromptKVCache = _formed("DecoderKVCache", _same), _formed("PromptKVCache", _same, ("align_mode", "LEFT"))
AdamNoUpdateParam = _formed("AdamNoUpdateParam", lambda self, *operands: [(operands[-1].shape, operands[-1].dtype)],
                            ("use_locking", False), ("use_nesterov", False))

# -- experts ----------------------------------------------------------------------------------------
FusedAddTopKDiv = _formed("FusedAddTopKDiv", lambda self, x, add_num, group_num, group_topk, n, k, *others: [
    (x.shape[:-1] + (k,), mstype.float32), (x.shape[:-1] + (k,), mstype.int32)])


def _routed(self, x, expert_idx, active_num=0, expert_capacity=0, expert_num=0, drop_pad_mode=0,
            expert_tokens_count_or_cumsum_flag=0, expert_tokens_before_capacity_flag=False):
    copies = values.count(expert_idx.shape)
    rows = (expert_num, expert_capacity) if drop_pad_mode else (min(copies, active_num) if active_num else copies,)
    return [(rows + x.shape[-1:], x.dtype), ((copies,), mstype.int32), ((expert_num,), mstype.int32), ((expert_num,), mstype.int32)]


MoeInitRoutingV2 = _formed("MoeInitRoutingV2", _routed)


class GroupedMatmulV4(_Formed):
    """Products of groups of rows with a weight each: lists in, a tuple out. See mindspore.ops.auto_generate.GroupedMatmulV4."""

    settings = ()

    def __call__(self, x, weight, bias=None, scale=None, offset=None, antiquant_scale=None, antiquant_offset=None,
                 pre_token_scale=None, group_list=None, activation_input=None, activation_quant_scale=None,
                 activation_quant_offset=None, split_item=0, group_type=-1, group_list_type=0, act_type=0, output_dtype=None):
        operands = [x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, pre_token_scale, group_list,
                    activation_input, activation_quant_scale, activation_quant_offset]
        tensors = [one for operand in operands for one in (operand if isinstance(operand, (list, tuple)) else [operand])
                   if isinstance(one, Tensor)]
        dtype = output_dtype or x[0].dtype
        if split_item in (2, 3):  # one result of all rows
            types = [((sum(part.shape[0] for part in x), weight[0].shape[-1]), dtype)]
        else:
            types = [(part.shape[:-1] + (w.shape[-1],), dtype) for part, w in zip(x, weight)]
        return tuple(tracing.apply(self.name, tensors, self.recorded_attrs(), self, types=types))


class MoeTokenUnpermute(Primitive):
    """See mindspore.ops.moe_token_unpermute."""

    def __init__(self):
        super().__init__("MoeTokenUnpermute")

    def __call__(self, permuted_tokens, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
        from mindspore.ops import _unruled
        return _unruled.moe_token_unpermute(permuted_tokens, sorted_indices, probs, padded_mode, restore_shape)


# -- others -----------------------------------------------------------------------------------------
class Morph(Primitive):
    """See mindspore.ops.Morph: the function, whose operators are recorded one by one."""

    def __init__(self, fn, infer_shape=None, infer_dtype=None, bprop_fn=None):
        super().__init__("Morph")
        if not callable(fn):
            raise user_error(TypeError, "Morph:fn", "Morph takes a function, not %s" % type(fn).__name__)
        self.fn = fn

    def __call__(self, *args):
        return self.fn(*args)


class Einsum(Primitive):
    """See mindspore.ops.Einsum."""

    def __init__(self, equation):
        super().__init__("Einsum")
        self.equation = equation

    def __call__(self, x):
        from mindspore.ops import functional
        return functional.einsum(self.equation, *x)


class TensorShape(Primitive):
    """See mindspore.ops.TensorShape: the shape as a tensor of whole numbers."""

    def __init__(self):
        super().__init__("TensorShape")

    def __call__(self, input_x):
        return Tensor(list(input_x.shape), mstype.int64)


class MaskedSelect(Primitive):
    """See mindspore.ops.masked_select."""

    def __init__(self):
        super().__init__("MaskedSelect")

    def __call__(self, x, mask):
        from mindspore.ops import _counted
        return _counted.masked_select(x, mask)


class TensorToScalar(Primitive):
    """A number of Python from a tensor whose value is known."""

    def __init__(self):
        super().__init__("TensorToScalar")

    def __call__(self, input_x):
        if not isinstance(input_x, Tensor) or not input_x._known():
            raise Unsupported("mindspore.ops.TensorToScalar", "the value of a tensor is needed while the network is being recorded")
        return input_x.item()


FORMS = {name: value for name, value in dict(globals()).items()
         if isinstance(value, type) and issubclass(value, Primitive) and not name.startswith("_") and name != "Primitive"}
# Names of former releases that MindSpore still has, and what they are today.
RENAMED = {"GatherV2": "Gather", "Gelu": "GeLU", "Pack": "Stack", "Unpack": "Unstack"}
