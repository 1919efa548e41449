"""Slices of a checkpoint brought from one layout to another with numpy, and the layouts that a sharded optimizer gives a weight.

A layout is (device matrix, tensor map, shape). The optimizer shards dimension 0 of a slice once more: the shape gets a dimension for each axis of the
devices that does so, behind the part that the operator cuts. Source: mindspore/python/mindspore/parallel/_tensor.py (behaviour).
Example: (16, 16, 16) on devices (2, 2, 2), cut as (2, 1, -1): the free axis 0 shards, so the shape is (2, 8, 16, 16), the map (2, 0, 1, -1).
"""
import math

from mindspore._drydock.errors import user_error


def _axes(entry):
    return [axis for axis in (entry if isinstance(entry, (list, tuple)) else [entry]) if axis != -1]


def _get_tensor_strategy(dev_mat, tensor_map):
    """Into how many parts each dimension is cut."""
    return [math.prod(dev_mat[len(dev_mat) - 1 - axis] for axis in _axes(entry)) for entry in tensor_map]


# -- layouts of shards ------------------------------------------------------------------------------
def _free_places(matrix, tensor_map):
    """Places in the matrix, from the left, whose axes cut nothing."""
    used = {len(matrix) - 1 - axis for entry in tensor_map for axis in _axes(entry)}
    free = [place for place, extent in enumerate(matrix) if place not in used and extent > 1]
    if not free:
        raise user_error(ValueError, "layout:no-shards", "no axis of the devices %s is left to shard a weight cut as %s"
                         % (list(matrix), list(tensor_map)))
    return free


def _shard_axes(matrix, free, size):
    """(matrix, places of the axes that shard): the free ones from the right, the last of them cut in two if it is too large."""
    matrix, places = list(matrix), []
    left = size if size != -1 else math.prod(matrix[place] for place in free)
    for place in reversed(free):
        extent = matrix[place]
        if left < extent:
            if extent % left:
                raise user_error(ValueError, "layout:shards", "%d shards do not fit an axis of %d devices" % (left, extent))
            matrix[place:place + 1] = [extent // left, left]
            return matrix, [place + 1] + [other + 1 for other in places], place
        if left % extent:
            raise user_error(ValueError, "layout:shards", "%d shards do not fit axes of %d devices" % (left, extent))
        places.insert(0, place)
        left //= extent
        if left == 1:
            break
    return matrix, places, None


def _over_free_axes(dev_matrix, tensor_map, size, shape):
    matrix, places, cut = _shard_axes(dev_matrix, _free_places(dev_matrix, tensor_map), size)
    moved = len(dev_matrix) - 1 - cut if cut is not None else len(dev_matrix)  # axes from this one on have a new number

    def renumber(axis):
        return axis + 1 if cut is not None and axis >= moved else axis

    new_map = [[renumber(axis) for axis in entry] if isinstance(entry, (list, tuple)) else renumber(entry) for entry in tensor_map]
    rows = _get_tensor_strategy(dev_matrix, tensor_map)[0]
    shards = [matrix[place] for place in places[:-1]]
    new_shape = [rows] + shards + [shape[0] // rows // math.prod(shards)] + list(shape[1:])
    new_map[1:1] = [len(matrix) - 1 - place for place in places]
    return matrix, new_map, new_shape


def _construct_tensor_layout_for_opt_shard_by_layout(dev_matrix, tensor_map, opt_shard_step, opt_shard_size, origin_full_tensor_shape):
    """The layout of a weight whose dimensions are cut by several axes each."""
    if opt_shard_step == 0 or opt_shard_size == 0:
        return dev_matrix, tensor_map, list(origin_full_tensor_shape)
    return _over_free_axes(dev_matrix, tensor_map, opt_shard_size, origin_full_tensor_shape)


def _construct_tensor_layout_for_opt_shard(dev_matrix, tensor_map, opt_shard_step, opt_shard_size, origin_full_tensor_shape):
    """The layout of a weight whose shards are `opt_shard_step` ranks apart, `opt_shard_size` of them (-1: as many as there can be)."""
    if any(isinstance(entry, (list, tuple)) for entry in tensor_map):
        from mindspore.parallel._tensor import _expanded
        matrix, axes, shape = _construct_tensor_layout_for_opt_shard_by_layout(
            dev_matrix, tensor_map, opt_shard_step, opt_shard_size, origin_full_tensor_shape)
        return (matrix,) + _expanded(matrix, axes, shape)
    if opt_shard_step == 0 or opt_shard_size == 0:
        return dev_matrix, tensor_map, list(origin_full_tensor_shape)
    free, shape = _free_places(dev_matrix, tensor_map), list(origin_full_tensor_shape)
    behind = math.prod(dev_matrix[free[0] + 1:])
    if len(free) == 1 and behind != opt_shard_step:
        raise user_error(ValueError, "layout:shard-step", "shards %d ranks apart do not fit the %d ranks that share a slice"
                         % (opt_shard_step, behind))
    if 1 < len(free) < len(dev_matrix) or free[0] > 0:
        return _over_free_axes(dev_matrix, tensor_map, opt_shard_size, shape)
    cuts = _get_tensor_strategy(dev_matrix, tensor_map)
    axes = [-1 if cut == 1 else len(cuts) - 1 - at for at, cut in enumerate(cuts)]
    repeats = math.prod(dev_matrix) // (opt_shard_step * opt_shard_size)
    matrix = ([repeats] if repeats > 1 else []) + [opt_shard_size] + cuts
    return matrix, axes[:1] + [len(cuts)] + axes[1:], [cuts[0], shape[0] // cuts[0]] + shape[1:]


def _construct_from_to_tensor_layout(from_full_tensor_shape, from_dev_matrix, from_tensor_map, to_full_tensor_shape, to_dev_matrix,
                                     to_tensor_map):
    """Both layouts over the same number of devices: the smaller one is repeated."""
    layouts = [(list(from_dev_matrix), list(from_tensor_map), list(from_full_tensor_shape)),
               (list(to_dev_matrix), list(to_tensor_map), list(to_full_tensor_shape))]
    if any(len(axes) != len(shape) for _, axes, shape in layouts):
        raise user_error(ValueError, "layout:rank", "a tensor map must have an entry for each dimension")
    devices = [math.prod(matrix) for matrix, _, _ in layouts]
    small = devices.index(min(devices))
    if max(devices) % devices[small]:
        raise user_error(ValueError, "layout:devices", "slices of %d ranks cannot become those of %d" % tuple(devices))
    if devices[0] != devices[1]:
        layouts[small][0].insert(0, max(devices) // devices[small])
    return tuple(layouts)


# -- operators, and what they do --------------------------------------------------------------------
def _get_needed_rank_transform_operator_map_by_layouts(from_tensor_layout, to_tensor_layout, device_list, self_rank,
                                                       enable_redist_opt=False):
    """{rank: [(operator, numbers)]} for `self_rank` and the ranks whose slices it needs."""
    from mindspore.parallel._tensor import _get_resharding_operator_map
    ranks = list(device_list)
    return _get_resharding_operator_map(tuple(from_tensor_layout) + (ranks,), tuple(to_tensor_layout) + (ranks,), self_rank,
                                        enable_redist_opt)


def _transform_tensor_by_layout(from_layout, to_layout, device_list, rank_id, enable_redist_opt=False):
    """[(operator, numbers)] of one rank."""
    if not isinstance(from_layout, tuple) or not isinstance(to_layout, tuple):
        raise user_error(TypeError, "layout:type", "a layout must be a tuple, not %s and %s" % (from_layout, to_layout))
    return _get_needed_rank_transform_operator_map_by_layouts(from_layout, to_layout, device_list, rank_id)[rank_id]


def _get_needed_rank_list_by_layouts(from_tensor_layout, to_tensor_layout, device_list, self_rank):
    return sorted(_get_needed_rank_transform_operator_map_by_layouts(from_tensor_layout, to_tensor_layout, device_list, self_rank))


def _generate_transform_operator_stack(transform_operators_map, self_rank):
    """[(rank, number of the operator, operator)] from the last operator of `self_rank` back to all first ones."""
    if self_rank not in transform_operators_map:
        raise user_error(ValueError, "transform:rank", "the operators of rank %d are missing" % self_rank)
    last = len(transform_operators_map[self_rank]) - 1
    found = [(self_rank, last, transform_operators_map[self_rank][last])] if last >= 0 else []
    for rank, number, (name, numbers) in found:
        if number > 0:
            before = numbers[:-1] if name == "AllConcat" else [rank]
            found.extend((other, number - 1, transform_operators_map[other][number - 1]) for other in before)
    return found


def _slice_of(data, numbers):
    third = len(numbers) // 3
    begin, end, stride = numbers[:third], numbers[third:2 * third], numbers[2 * third:]
    return data[tuple(map(slice, begin, end, stride))]


def _apply_tensor_transform_operators(transform_operator_stack, tensor_dict, device_num):
    """Applies the operators to the slices {rank: array}, all of one number before the next."""
    import numpy as np  # of whoever has arrays; the names of this module are there without it
    def slice_at(rank):
        if rank % device_num not in tensor_dict:
            raise user_error(ValueError, "transform:slice", "the slice of rank %d is missing" % (rank % device_num))
        return tensor_dict[rank % device_num]

    for number in sorted({entry[1] for entry in transform_operator_stack}):
        done = {}
        for rank, _, (name, numbers) in [entry for entry in transform_operator_stack if entry[1] == number]:
            if rank % device_num in done:
                continue
            if name == "AllConcat":
                done[rank % device_num] = np.concatenate([slice_at(other) for other in numbers[:-1]], numbers[-1])
            else:
                done[rank % device_num] = slice_at(rank).reshape(numbers) if name == "Reshape" else _slice_of(slice_at(rank), numbers)
        tensor_dict.update(done)


def _reshape_param_data(param_data, dev_mat, tensor_map):
    """The whole tensor from the slices of all ranks, one behind the other in dimension 0."""
    import numpy as np

    from mindspore.common.tensor import Tensor
    slices = np.split(param_data.asnumpy(), math.prod(dev_mat), axis=0)
    cuts = _get_tensor_strategy(dev_mat, tensor_map)
    extent = slices[0].shape
    whole = np.zeros([size * cut for size, cut in zip(extent, cuts)], slices[0].dtype)
    for rank, part in enumerate(slices):
        at = np.unravel_index(rank, dev_mat)
        places = [int(at[len(dev_mat) - 1 - entry]) if entry != -1 else 0 for entry in tensor_map]
        whole[tuple(slice(place * size, (place + 1) * size) for place, size in zip(places, extent))] = part
    return Tensor(whole)
