"""mindspore.communication."""
from mindspore._drydock.lazy import module_getattr
from mindspore.communication.management import (HCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP,  # noqa: F401
                                                NCCL_WORLD_COMM_GROUP, GlobalComm, _is_initialized, create_group, destroy_group,
                                                get_group_rank_from_world_rank, get_group_size, get_local_rank,
                                                get_local_rank_size, get_rank, get_world_rank_from_group_rank, init,
                                                release)

__getattr__ = module_getattr(__name__, {"get_process_group_ranks": "mindspore.mint.distributed"})
