"""Ranks and groups."""
import os
import sys

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.rank import rank_int
from mindspore._drydock.session import RANKS_PER_NODE, session
from mindspore._recording import groups

_BACKENDS = {"Ascend": "hccl", "GPU": "nccl", "CPU": "mccl"}
HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"


class GlobalComm:
    """State of the communication environment."""

    BACKEND = "hccl"
    WORLD_COMM_GROUP = HCCL_WORLD_COMM_GROUP
    INITED = False
    CHECK_ENVS = True


def world_group():
    """Name of the group of all ranks for the device target."""
    from mindspore import context
    return _BACKENDS[context.get_context("device_target")] + "_world_group"


def init(backend_name=None):
    """Succeeds without a network."""
    from mindspore import context
    if backend_name is not None and not isinstance(backend_name, str):
        raise user_error(TypeError, "communication:backend-type", "the backend must be a string")
    if not context.is_context_set("device_target"):  # the target is then that of the package that is installed
        context.set_context(device_target={name: target for target, name in _BACKENDS.items()}.get(backend_name, "Ascend"))
    target = context.get_context("device_target")
    backend = backend_name or _BACKENDS[target]
    if backend not in _BACKENDS.values():
        raise user_error(RuntimeError, "communication:backend", "no communication backend is called '%s'" % backend,
                         "use 'hccl', 'nccl' or 'mccl'")
    if backend != _BACKENDS[target]:
        raise user_error(RuntimeError, "communication:backend-target",
                         "backend '%s' does not work with device target '%s'" % (backend, target),
                         "call init() without arguments, or set_context(device_target=...) first")
    GlobalComm.BACKEND = backend
    GlobalComm.WORLD_COMM_GROUP = backend + "_world_group"
    GlobalComm.INITED = True
    session.communication_started = True
    if session.compile_at_once and "RANK_SIZE" not in os.environ:
        print("drydock: RANK_SIZE is not set, so init() takes this process for rank 0 of 1; msrun --sim_level=1 --worker_num=8 net.py "
              "runs a script as a rank of 8", file=sys.stderr)
    os.environ.setdefault("RANK_SIZE", str(session.world_size))


def release():
    GlobalComm.INITED = False


def _is_initialized():
    return GlobalComm.INITED


def _group_ranks(group):
    """Ranks of a group; None for all."""
    if group is None or group in (GlobalComm.WORLD_COMM_GROUP, HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP,
                                  MCCL_WORLD_COMM_GROUP):
        return None
    if not isinstance(group, str):
        raise user_error(TypeError, "communication:group-type", "a group is named by a string, not %r" % (group,))
    if group not in session.groups:
        raise user_error(RuntimeError, "communication:unknown-group", "no group is called '%s'" % group,
                         "call create_group() first")
    return session.groups[group]


def _mock():
    """The `hccl_test` package that the reference asks for ranks where it is installed, or None."""
    if _mocks is not None:
        return _mocks[0]
    import importlib.util
    found = importlib.import_module("hccl_test.manage.api") if importlib.util.find_spec("hccl_test") else None
    globals()["_mocks"] = (found,)
    return found


_mocks = None


def get_rank(group=None):
    if _mock() is not None:
        return _mock().get_rank_id(group)
    ranks = _group_ranks(group)
    if ranks is None:
        return session.rank

    def position(rank):
        there = groups.ranks_at(ranks, rank)
        return there.index(rank) if rank in there else -1

    return rank_int(session.rank_number, position, "position of rank in group '%s'" % group)


def get_group_size(group=None):
    if _mock() is not None:
        return _mock().get_rank_size(group)
    ranks = _group_ranks(group)
    return session.world_size if ranks is None else len(ranks)


def get_local_rank(group=None):
    _group_ranks(group)
    return session.local_rank


def get_local_rank_size(group=None):
    _group_ranks(group)
    return min(RANKS_PER_NODE, session.world_size)


def get_world_rank_from_group_rank(group, group_rank_id):
    ranks = _group_ranks(group)
    return group_rank_id if ranks is None else ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id, group):
    ranks = _group_ranks(group)
    return world_rank_id if ranks is None else ranks.index(world_rank_id)


def create_group(group, rank_ids, options=None):
    if not isinstance(group, str):
        raise user_error(TypeError, "communication:group-type", "a group is named by a string, not %r" % (group,))
    if not isinstance(rank_ids, list) or not rank_ids:
        raise user_error(TypeError, "communication:rank-ids", "rank_ids must be a list of ranks")
    rank_ids = list(rank_ids)
    if not groups.is_sound(rank_ids):
        raise user_error(ValueError, "communication:rank-ids", "rank_ids must hold different ranks below %d, not %s"
                         % (session.world_size, groups.ranks_at(rank_ids, session.rank_number)), "ranks are 0 to %d" % (session.world_size - 1))
    session.groups[group] = rank_ids


def destroy_group(group):
    session.groups.pop(group, None)


__getattr__ = module_getattr("mindspore.communication")
