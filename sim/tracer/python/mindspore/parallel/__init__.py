"""mindspore.parallel."""
import sys

import mindspore.parallel.shard as _shard_module
from mindspore._drydock.lazy import module_getattr
from mindspore.parallel.algo_parameter_config import (get_algo_parameters, reset_algo_parameters,  # noqa: F401
                                                      set_algo_parameters)
from mindspore.parallel.shard import Layout, reshard  # noqa: F401

sys.modules["mindspore.parallel.shard"] = _shard_module
shard = _shard_module.shard  # the attribute is the function, the module stays importable by its name


def sync_pipeline_shared_parameters(net):
    """Nothing to copy: a dry run has no values."""


def set_op_strategy_config(mode="SAVE", path=""):
    """Propagated strategies are written to a file, or taken from it."""
    from mindspore.parallel import _op_strategy
    _op_strategy.configure(mode, path)


_LATER = {name: "mindspore.parallel._strategy_files" for name in (
    "build_searched_strategy", "merge_pipeline_strategys", "rank_list_for_transform", "restore_group_info_list")}
_LATER.update({name: "mindspore.train.serialization" for name in (
    "load_distributed_checkpoint", "merge_sliced_parameter", "transform_checkpoint_by_rank", "transform_checkpoints")})


def __getattr__(name):
    if name == "AutoParallel":
        from mindspore.parallel.auto_parallel import AutoParallel
        return AutoParallel
    return module_getattr(__name__, _LATER)(name)
