"""Mixed precision. Source: mindspore/python/mindspore/train/amp.py.

Levels: O1 computes cells of a white list in the short type, O2 all but normalisations, O3 all; "auto" chooses by operator.
"""
from mindspore import nn
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell, WithLossCell
from mindspore.nn.wrap.loss_scale import TrainOneStepWithLossScaleCell
from mindspore.ops.primitive import Primitive, cast
from mindspore.parallel._utils import _get_pipeline_stages
from mindspore.train.loss_scale_manager import DynamicLossScaleManager

LEVELS = ("O0", "O1", "O2", "O3", "auto")

_WHITE_CELLS = ("Conv1d", "Conv2d", "Conv3d", "Conv1dTranspose", "Conv2dTranspose", "Conv3dTranspose", "Dense", "LSTMCell",
                "RNNCell", "GRUCell")
_WHITE_OPERATORS = ("Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Conv2DBackpropInput", "MatMul", "BatchMatMul",
                    "PReLU", "ReLU", "Ger")
_BLACK_CELLS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm")

# Level "auto": operators computed in the short type, in float32, and in the widest type among their operands.
_AUTO_WHITE = frozenset((
    "Conv2D", "Conv3D", "Conv2DExt", "Conv3DExt", "ConvTranspose2D", "Conv2DTranspose", "Conv3DTranspose", "Convolution",
    "MatMul", "MatMulExt", "BatchMatMul", "BatchMatMulExt", "PReLU", "Einsum", "Dense", "Addmm", "Addbmm", "Addmv", "Baddbmm",
    "Mv"))
_AUTO_BLACK = frozenset((
    "Pow", "ACos", "Asin", "Cosh", "Erfinv", "Exp", "Expm1", "Log", "Log10", "Log1p", "Log2", "Reciprocal", "Rsqrt", "Sinh",
    "Tan", "Softplus", "SoftplusExt", "LayerNorm", "LayerNormExt", "BatchNorm", "BatchNormExt", "GroupNorm", "Norm",
    "KLDivLoss", "SmoothL1Loss", "MultilabelMarginLoss", "SoftMarginLoss", "TripletMarginLoss", "MultiMarginLoss",
    "BCEWithLogitsLoss", "Pdist", "Cdist", "Renorm", "ReduceProd", "Softmax", "LogSoftmax", "LogSoftmaxExt", "CumProd",
    "CumSum", "CumsumExt", "ProdExt", "SumExt", "L1LossExt", "MSELossExt", "NLLLoss", "NLLLoss2d"))
_AUTO_WIDEST = frozenset(("Addcdiv", "Addcmul", "Cross", "Dot", "GridSampler2D", "GridSampler3D", "BiasAdd"))


class ByOperator:
    """The element type of an operator's operands by its name."""

    def __init__(self, dtype, white, black=frozenset(), widest=frozenset(), results_in_float32=False):
        self.dtype, self.white, self.black, self.widest, self.results_in_float32 = (
            dtype, white, black, widest, results_in_float32)

    def operands(self, name, operands):
        floats = [v for v in operands if isinstance(v, Tensor) and v.dtype.kind == "float"]
        if name in self.white:
            target = self.dtype
        elif name in self.black:
            target = mstype.float32
        elif name in self.widest and any(v.dtype is mstype.float32 for v in floats):
            target = mstype.float32
        else:
            return operands
        return [cast(v, target) if any(v is one for one in floats) else v for v in operands]

    def outcome(self, name, results):
        if not self.results_in_float32 or name not in self.white:
            return results
        return [_to_float32(result) for result in results]


class _OutputTo16(Cell):
    def __init__(self, backbone, dtype=mstype.float16):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self.dtype = dtype

    def construct(self, *args, **kwargs):
        return cast(self._backbone(*args, **kwargs), self.dtype)


def _to_float32(value):
    if isinstance(value, (tuple, list)):
        return type(value)(_to_float32(item) for item in value)
    if isinstance(value, Tensor) and value.dtype.kind == "float":
        return cast(value, mstype.float32)
    return value


class _OutputTo32(Cell):
    def __init__(self, backbone):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def __getattr__(self, name):
        """What a layer reads of the cell that stands in this one's place: `self.out_proj.weight`."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
            return getattr(self._backbone, name)

    def construct(self, *args, **kwargs):
        return _to_float32(self._backbone(*args, **kwargs))


class _WithLossCell(Cell):
    """The loss sees float32."""

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data, label):
        out = self._backbone(data)
        return self._loss_fn(_to_float32(out), _to_float32(label))


def _classes(names):
    return tuple(getattr(nn, name) for name in names if isinstance(getattr(nn, name), type))


def _wrap_cells(network, classes, wrap):
    """Each cell of the classes below `network` becomes what `wrap` makes of it."""
    for name, cell in list(network._cells.items()):
        if cell is None:
            continue
        if isinstance(cell, classes):
            network._cells[name] = wrap(cell)
        else:
            _wrap_cells(cell, classes, wrap)


def _keep_float32(network, classes, dtype):
    _wrap_cells(network, classes, lambda cell: _OutputTo16(cell.to_float(mstype.float32), dtype))


def _by_operator(network, policy):
    """The network, or function, computed under the policy."""
    if isinstance(network, Cell):
        object.__setattr__(network, "_operator_types", policy)
        return network

    def inside(*args, **kwargs):
        saved, session.operator_types = session.operator_types, policy
        try:
            return network(*args, **kwargs)
        finally:
            session.operator_types = saved

    return inside


def _white_cells(network, white, dtype):
    classes = tuple(one for one in white if issubclass(one, Cell))
    names = frozenset(one.__name__ for one in white if issubclass(one, Primitive))

    def short(cell):
        return cell if cell._compute_dtype is not None else _OutputTo32(cell.to_float(dtype))

    if classes:
        if isinstance(network, classes):
            return short(network)
        _wrap_cells(network, classes, short)
    return _by_operator(network, ByOperator(dtype, names, results_in_float32=True)) if names else network


def auto_mixed_precision(network, amp_level="O0", dtype=mstype.float16):
    """See mindspore.amp.auto_mixed_precision."""
    if not isinstance(network, Cell) and not (amp_level == "auto" and callable(network)):
        raise user_error(TypeError, "auto_mixed_precision:network-type",
                         "auto_mixed_precision() at level %s takes a Cell, not %s" % (amp_level, type(network).__name__))
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise user_error(ValueError, "auto_mixed_precision:dtype", "dtype must be float16 or bfloat16, not %s" % (dtype,))
    _check_level("auto_mixed_precision", amp_level)
    if amp_level == "O0":
        return network
    if amp_level == "O1":
        network = _white_cells(network, get_white_list(), dtype)
    elif amp_level == "O2":
        network.to_float(dtype)
        _keep_float32(network, _classes(_BLACK_CELLS), dtype)
        network = _OutputTo32(network)
    elif amp_level == "O3":
        network = _OutputTo32(network.to_float(dtype))
    else:
        network = _by_operator(network, ByOperator(dtype, _AUTO_WHITE, _AUTO_BLACK, _AUTO_WIDEST))
    if isinstance(network, Cell):
        object.__setattr__(network, "_amp_level", amp_level)
    return network


def custom_mixed_precision(network, *, white_list=None, black_list=None, dtype=mstype.float16):
    """See mindspore.amp.custom_mixed_precision."""
    if (white_list is None) == (black_list is None):
        raise user_error(ValueError, "custom_mixed_precision:lists",
                         "custom_mixed_precision() takes either white_list or black_list")
    if white_list is not None:
        return _white_cells(network, white_list, dtype)
    network.to_float(dtype)
    _keep_float32(network, tuple(black_list), dtype)
    return _OutputTo32(network)


def _auto_mixed_precision_rewrite(network, dtype, white_list=None, black_list=None):
    """The network with operators of the white list, or all but those of the black list, in the short type."""
    return custom_mixed_precision(network, white_list=white_list, black_list=black_list, dtype=dtype)


class AmpDecorator:
    """A context of mixed precision by level and element type."""

    def __init__(self, amp_level="O0", dtype=mstype.float16, white_list=None, black_list=None):
        _check_level("AmpDecorator", amp_level)
        self.amp_level, self.dtype, self.white_list, self.black_list = amp_level, dtype, white_list, black_list


def get_white_list():
    from mindspore.ops import operations as P
    found = [getattr(P, name) for name in _WHITE_OPERATORS]
    return list(_classes(_WHITE_CELLS)) + [one for one in found if isinstance(one, type)]


def get_black_list():
    return list(_classes(_BLACK_CELLS))


def _check_level(owner, level):
    if level not in LEVELS:
        raise user_error(ValueError, owner + ":amp_level", "amp_level must be one of %s, not %r" % (", ".join(LEVELS), level))


def _short_network(network, level, keep_batchnorm_fp32, model_type):
    if model_type is mstype.float16:
        network.to_float(mstype.float16)
        if keep_batchnorm_fp32:
            _keep_float32(network, _classes(_BLACK_CELLS), mstype.float16)
        return network
    if level in ("O2", "O3"):
        return network
    return auto_mixed_precision(network, level)


def build_train_network(network, optimizer, loss_fn=None, level="O0", boost_level="O0", **kwargs):
    """See mindspore.amp.build_train_network: mixed precision, loss, training step."""
    _check_level("build_train_network", level)
    for name in kwargs:
        if name not in ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager"):
            raise user_error(ValueError, "build_train_network:setting", "unknown setting %s" % name)
    short = level in ("O2", "O3")
    model_type = kwargs.get("cast_model_type", mstype.float16 if short else mstype.float32)
    network = _short_network(network, level, kwargs.get("keep_batchnorm_fp32", level == "O2"), model_type)
    if loss_fn is not None:
        sees_float32 = model_type is mstype.float16 or getattr(network, "_amp_level", None) in ("O2", "O3", "auto")
        network = (_WithLossCell if sees_float32 else WithLossCell)(network, loss_fn)
    manager = kwargs["loss_scale_manager"] if "loss_scale_manager" in kwargs \
        else DynamicLossScaleManager() if level == "O2" else None
    return _step(network, optimizer, manager)


def _is_grad_accumulation(cell):
    """True if gradients are accumulated somewhere inside."""
    return type(cell).__name__ in ("GradAccumulationCell", "GradAccumulation") or any(
        _is_grad_accumulation(child) for child in cell.cells())


def _accumulating_step(network, optimizer, manager):
    """Training step of a pipeline or of micro batches; a fixed loss scale does not count there, as in the reference."""
    from mindspore.nn.wrap.more_wrappers import _TrainGradAccuStepCell, _TrainGradAccuWithLossScaleCell
    update_cell = manager.get_update_cell() if manager is not None else None
    if update_cell is not None:
        return _TrainGradAccuWithLossScaleCell(network, optimizer, update_cell).set_train()
    return _TrainGradAccuStepCell(network, optimizer).set_train()


def _step(network, optimizer, manager):
    if _get_pipeline_stages() > 1 or _is_grad_accumulation(network):
        return _accumulating_step(network, optimizer, manager)
    if manager is None:
        return TrainOneStepCell(network, optimizer).set_train()
    update_cell = manager.get_update_cell()
    if update_cell is not None:
        return TrainOneStepWithLossScaleCell(network, optimizer, update_cell).set_train()
    return TrainOneStepCell(network, optimizer, manager.get_loss_scale()).set_train()


_LISTS = {"AMP_WHITE_LIST": get_white_list, "AMP_BLACK_LIST": get_black_list}
_LISTS_OF_NAMES = {"AMP_AUTO_WHITE_LIST": _AUTO_WHITE, "AMP_AUTO_BLACK_LIST": _AUTO_BLACK}


def _auto_black_list(network, black_list, dtype):
    """Cells of the list keep float32, all others compute in the given type."""
    _keep_float32(network, tuple(black_list), dtype)
    return network


def _auto_white_list(network, white_list, dtype):
    """Cells of the list compute in the given type."""
    return _white_cells(network, white_list, dtype)


def __getattr__(name):
    if name in _LISTS:
        return _LISTS[name]()
    return sorted(_LISTS_OF_NAMES[name]) if name in _LISTS_OF_NAMES else _others(name)


_others = module_getattr(__name__)
