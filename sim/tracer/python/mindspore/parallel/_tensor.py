"""Which operators bring a tensor from one layout to another, rank by rank: what tools for weights ask for.

A layout is (device matrix, tensor map, shape, ranks). Source: mindspore/python/mindspore/parallel/_tensor.py (behaviour).
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.parallel._transform import (  # noqa: F401
    _apply_tensor_transform_operators, _construct_from_to_tensor_layout, _construct_tensor_layout_for_opt_shard,
    _construct_tensor_layout_for_opt_shard_by_layout, _generate_transform_operator_stack, _get_needed_rank_list_by_layouts,
    _get_needed_rank_transform_operator_map_by_layouts, _get_tensor_strategy, _reshape_param_data, _transform_tensor_by_layout)


def _expanded(matrix, tensor_map, shape):
    """The layout with a dimension for each axis of the devices that cuts one: map [[2, 1], -1] is [2, 1, -1]."""
    axes, extents = [], []
    for entry, extent in zip(tensor_map, shape):
        several = list(entry) if isinstance(entry, (list, tuple)) else [entry]
        for axis in several[:-1]:
            cut = matrix[len(matrix) - 1 - axis]
            axes.append(axis)
            extents.append(cut)
            extent //= cut
        axes.append(several[-1])
        extents.append(extent)
    return axes, extents


def _slice(matrix, tensor_map, shape):
    """Extents of what a rank holds."""
    extents = []
    for entry, extent in zip(tensor_map, shape):
        for axis in entry if isinstance(entry, (list, tuple)) else [entry]:
            extent //= matrix[len(matrix) - 1 - axis] if axis >= 0 else 1
        extents.append(extent)
    return extents


def _is_multi_shard(tensor_map):
    return any(isinstance(entry, (list, tuple)) and len(entry) > 1 for entry in tensor_map)


def _get_resharding_operator_map(from_layout, to_layout, self_rank, optimize=True):
    """{rank: [(operator, numbers)]} for `self_rank` and the ranks whose slices it needs."""
    from mindspore._drydock.native import Recorder
    ranks = list(from_layout[3])
    if self_rank not in ranks:
        raise user_error(ValueError, "resharding:rank", "rank %s is not one of the layout's ranks %s" % (self_rank, ranks))
    layouts, shapes = [], []
    for matrix, tensor_map, shape in (from_layout[:3], to_layout[:3]):
        axes, extents = _expanded(matrix, tensor_map, shape)
        layouts.append({"device_matrix": list(matrix), "tensor_map": [[axis] if axis >= 0 else [] for axis in axes]})
        shapes.append(extents)
    answer = Recorder().call("reshard", layouts=layouts, from_shape=shapes[0], to_shape=shapes[1],
                             position=ranks.index(self_rank), stage_begin=ranks[0], optimize=optimize)
    found = {rank: [(name, numbers) for name, numbers in operators] for rank, operators in answer["ranks"]}
    for operators in found.values():
        if _is_multi_shard(from_layout[1]):
            operators.insert(0, ("Reshape", _slice(from_layout[0], *_expanded(*from_layout[:3]))))
        if _is_multi_shard(to_layout[1]):
            operators.append(("Reshape", _slice(*to_layout[:3])))
    return found


def _get_pipeline_operator_map(from_layout, to_layout, self_rank):
    """{rank: [("Broadcast", root, ranks)]} where fewer stages hold a weight that more ranks share then; else {}."""
    before, after = list(from_layout[3]), list(to_layout[3])
    if len(before) >= len(after):
        return {}
    position = self_rank % len(before)
    root = before[position]
    ranks = sorted([root] + [rank for rank in after if rank not in before][position::len(before)])
    return {rank: [("Broadcast", root, ranks)] for rank in ranks}


__getattr__ = module_getattr(__name__)
