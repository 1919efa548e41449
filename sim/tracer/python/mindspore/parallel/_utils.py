"""Internal helpers that user code imports."""
import contextlib

from mindspore import context
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


def _get_parallel_mode():
    return context.get_auto_parallel_context("parallel_mode")


def _get_device_num():
    return context.get_auto_parallel_context("device_num")


def _get_gradients_mean():
    return context.get_auto_parallel_context("gradients_mean")


def _get_pipeline_stages():
    return context.get_auto_parallel_context("pipeline_stages")


def _get_enable_parallel_optimizer():
    return context.get_auto_parallel_context("enable_parallel_optimizer")


def _is_sharding_propagation():
    return context.get_auto_parallel_context("search_mode") == "sharding_propagation"


def _is_in_auto_parallel_mode():
    return context.cuts_operators()


def _get_global_rank():
    return session.rank


def _reset_op_id():
    return None


def _reset_op_id_with_offset():
    return None


def _is_auto_parallel(net):
    return net is not None and type(net).__name__ == "AutoParallel"


def _init_auto_parallel_context(net):
    """The settings of an AutoParallel become those of the process; any other network changes nothing."""
    if _is_auto_parallel(net):
        net.begin_settings()


def _clear_auto_parallel_context(net):
    if _is_auto_parallel(net):
        net.end_settings()


@contextlib.contextmanager
def parallel_settings(net):
    """Inside, the settings of an AutoParallel hold: around whatever compiles a network that it is part of.

    Source: mindspore/python/mindspore/train/model.py (every public method), nn/cell.py (compile).
    """
    _init_auto_parallel_context(net)
    try:
        yield
    finally:
        _clear_auto_parallel_context(net)


def _get_auto_parallel_net(net):
    """The AutoParallel among a network's cells, else the network."""
    return next((cell for _, cell in net.cells_and_names() if _is_auto_parallel(cell)), net)


def _infer_rank_list(train_map, predict_map=None):
    """Ranks whose files hold a parameter: name -> (ranks, True if each rank needs its own file only).

    Layouts are (device matrix, tensor map, ...). Where prediction cuts a parameter as training did, a rank's own file
    is enough: ([0], True). Otherwise the ranks that hold different parts are given, the first of those that hold
    the same.
    """
    ranks = {}
    for name, layout in train_map.items():
        holders = _holders_of_parts(layout[0], layout[1])
        alike = predict_map is not None and name in predict_map and _parts(predict_map[name]) == _parts(layout)
        if len(holders) == 1:
            ranks[name] = ([0], False)
        else:
            ranks[name] = ([0], True) if alike else (holders, False)
    return ranks


def _axes(tensor_map):
    """Device dimensions that cut a tensor, counted from the right."""
    for entry in tensor_map:
        for axis in entry if isinstance(entry, (tuple, list)) else (entry,):
            if axis >= 0:
                yield axis


def _parts(layout):
    """Number of parts of every dimension."""
    matrix, tensor_map = layout[0], layout[1]
    parts = []
    for entry in tensor_map:
        count = 1
        for axis in _axes([entry]):
            count *= matrix[len(matrix) - 1 - axis]
        parts.append(count)
    return parts


def _holders_of_parts(matrix, tensor_map):
    """Ranks whose digits are 0 in every device dimension that does not cut the tensor."""
    ranks, stride = [0], 1
    cutting = set(_axes(tensor_map))
    for axis in range(len(matrix)):
        extent = matrix[len(matrix) - 1 - axis]
        if axis in cutting:
            ranks = sorted(rank + digit * stride for rank in ranks for digit in range(extent))
        stride *= extent
    return ranks


__getattr__ = module_getattr(__name__)
