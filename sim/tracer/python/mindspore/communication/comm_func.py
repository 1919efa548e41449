"""Collectives as functions."""
from mindspore._drydock.lazy import module_getattr


def barrier(group=None):
    """Nothing to wait for in a dry run."""
    return None


def all_gather_into_tensor(output, tensor, group=None, async_op=False):
    """Records an AllGather along dimension 0; the result takes the place of `output`."""
    from mindspore.communication import management
    from mindspore.ops import operations as P
    return P.AllGather(group or management.world_group())(tensor)


def isend(tensor, dst=0, group=None, tag=0):
    from mindspore.mint import distributed
    return distributed.isend(tensor, dst, group, tag)


def irecv(tensor, src=0, group=None, tag=0):
    from mindspore.mint import distributed
    return distributed.irecv(tensor, src, group, tag)


__getattr__ = module_getattr(__name__)
