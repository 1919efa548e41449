"""Which ranks' checkpoint files hold the parts of a parameter."""
from mindspore._drydock.lazy import module_getattr


def _get_param_list_when_first_dim_sharded(device_arrange, first_dim_sharded_index, rank):
    """The block of consecutive ranks, `rank` among them, whose files hold one part of the first dimension.

    `first_dim_sharded_index` says which device dimension cuts the first dimension, counted from the right as in
    tensor maps: all devices to the right of it hold the same part. If it is the rightmost one, parts of neighbours
    differ and all ranks are given. Example: on 64 x 8 devices with index 1 rank 19 gets ranks 16 to 23.
    """
    size = 1
    for extent in device_arrange[-first_dim_sharded_index:]:
        size *= extent
    first = rank - rank % size
    return list(range(first, first + size))


__getattr__ = module_getattr(__name__)
