"""Checkpoints: nothing is written, missing files are empty."""
import os

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter  # noqa: F401  (scripts take them from here)
from mindspore.common.tensor import Tensor  # noqa: F401
from mindspore.parallel import _strategy_files
from mindspore.train import _checkpoint_files


def _update_param(param, new_param, strict_load=False):
    """Values are not kept, so there is nothing to take over."""


def save_checkpoint(save_obj, ckpt_file_name, *args, **kwargs):
    session.warn("checkpoints are not written in a dry run")


def export(net, *inputs, file_name="model", file_format="MINDIR", **kwargs):
    session.warn("models are not exported in a dry run")


def load_checkpoint(ckpt_file_name, net=None, strict_load=False, filter_prefix=None, dec_key=None, dec_mode="AES-GCM", specify_prefix=None,
                    *args, **kwargs):
    """The parameters of a file by name, without their contents; of a missing file none, since the real job may have it."""
    if not os.path.isfile(ckpt_file_name):
        session.warn("checkpoint '%s' does not exist; the dry run goes on without it" % ckpt_file_name)
        return {}
    if dec_key is not None:
        return {}  # encrypted
    try:
        found = _checkpoint_files.parameters_of(ckpt_file_name)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise user_error(ValueError, "load_checkpoint:file", "'%s' is not a checkpoint: %s" % (ckpt_file_name, error),
                         "give a file that save_checkpoint() wrote, or none: a dry run needs no weights") from None
    without, only = ((given,) if isinstance(given, str) else tuple(given or ()) for given in (filter_prefix, specify_prefix))
    return {name: Parameter(Tensor(shape=shape, dtype=tensor_to_ms_type.get(kind, mstype.float32)), name)
            for name, shape, kind in found if not name.startswith(without) and (not only or name.startswith(only))}


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):
    """Names of the network that the checkpoint lacks, and the other way round; values are not taken over."""
    if not parameter_dict or not hasattr(net, "parameters_and_names"):
        return [], []
    own = [parameter.name for _, parameter in net.parameters_and_names()]
    return [name for name in own if name not in parameter_dict], [name for name in parameter_dict if name not in set(own)]


def load_distributed_checkpoint(network, *args, **kwargs):
    return None


def load_checkpoint_async(ckpt_file_name, net=None, *args, **kwargs):
    """A future whose result is that of load_checkpoint()."""
    from concurrent.futures import Future
    future = Future()
    future.set_result(load_checkpoint(ckpt_file_name, net))
    return future


def async_ckpt_thread_status():
    """Nothing is being written."""
    return False


def get_ckpt_path_with_strategy(cur_ckpt_path, cur_strategy_path):
    return cur_ckpt_path if os.path.exists(cur_ckpt_path) else None


tensor_to_ms_type = {"Int8": mstype.int8, "UInt8": mstype.uint8, "Int16": mstype.int16, "UInt16": mstype.uint16,
                     "Int32": mstype.int32, "UInt32": mstype.uint32, "Int64": mstype.int64, "UInt64": mstype.uint64,
                     "Float16": mstype.float16, "Float32": mstype.float32, "Float64": mstype.float64, "Bool": mstype.bool_,
                     "BFloat16": mstype.bfloat16}


def _types_of_numpy():
    return {name: mstype.dtype_to_nptype(kind) for name, kind in tensor_to_ms_type.items()}


def merge_sliced_parameter(sliced_parameters, strategy=None):
    """One parameter of the slices of all ranks: put together as the strategy cuts it, or along the first dimension."""
    if not isinstance(sliced_parameters, list) or not all(isinstance(part, Parameter) for part in sliced_parameters):
        raise user_error(TypeError, "merge_sliced_parameter:type", "merge_sliced_parameter() takes a list of parameters")
    if not sliced_parameters:
        raise user_error(ValueError, "merge_sliced_parameter:empty", "merge_sliced_parameter() got no slices")
    first = sliced_parameters[0]
    if any(part.name != first.name or part.dtype is not first.dtype for part in sliced_parameters):
        raise user_error(ValueError, "merge_sliced_parameter:name", "slices of one parameter have one name and one element type")
    if strategy is None:
        shape = (sum(part.shape[0] for part in sliced_parameters),) + first.shape[1:]
    else:
        layout = strategy[first.name]
        matrix, cuts = list(layout.dev_matrix[0].dim), list(layout.tensor_map[0].dim)
        shape = tuple(extent * (matrix[-1 - axis] if axis >= 0 else 1) for extent, axis in zip(first.shape, cuts))
    return Parameter(Tensor(shape=shape, dtype=first.dtype), first.name, first.requires_grad)


def transform_checkpoints(src_checkpoints_dir, dst_checkpoints_dir, ckpt_prefix, src_strategy_file=None, dst_strategy_file=None,
                          *args, **kwargs):
    """The strategy files are read; checkpoints are not written."""
    for path in (src_strategy_file, dst_strategy_file):
        _strategy_files.build_searched_strategy(path)
    session.warn("checkpoints are not transformed in a dry run")


def transform_checkpoint_by_rank(rank_id, checkpoint_files_map, save_checkpoint_file_name, src_strategy_file=None,
                                 dst_strategy_file=None, *args, **kwargs):
    """The files of the ranks that hold the parts must be in the map; nothing is written."""
    if not isinstance(checkpoint_files_map, dict):
        raise user_error(TypeError, "transform_checkpoint_by_rank:map", "checkpoint_files_map must be a dict of ranks and files")
    needed = _strategy_files.rank_list_for_transform(rank_id, src_strategy_file, dst_strategy_file)
    missing = sorted(set(needed) - set(checkpoint_files_map))
    if missing:
        raise user_error(ValueError, "transform_checkpoint_by_rank:ranks", "rank %d needs the checkpoints of ranks %s, and those of %s "
                         "are not in checkpoint_files_map" % (rank_id, sorted(needed), missing),
                         "rank_list_for_transform() tells which are needed")
    session.warn("checkpoints are not transformed in a dry run")


def unified_safetensors(src_dir, src_strategy_file, dst_dir, *args, **kwargs):
    """The strategy file is read; no file is written."""
    _strategy_files.build_searched_strategy(src_strategy_file)
    session.warn("checkpoints are not merged in a dry run")


def _check_checkpoint_param(ckpt_file_name, filter_prefix=None):
    """Names of files are text."""
    if not isinstance(ckpt_file_name, str):
        raise user_error(TypeError, "load_checkpoint:name", "a checkpoint's name must be a string, not %s" % type(ckpt_file_name).__name__)


def _exec_save(ckpt_file_name, data_list, *args, **kwargs):
    session.warn("checkpoints are not written in a dry run")


def _get_merged_param_data(net, parameter_dict, param_name, param_data, integrated_save=True):
    """Values are not kept, so there is nothing to gather."""
    return param_data


def _load_dismatch_prefix_params(net, parameter_dict, param_not_load, strict_load=False):
    """Values are not kept, so there is nothing to take over."""


_OF_STRATEGIES = ("build_searched_strategy", "merge_pipeline_strategys", "rank_list_for_transform", "restore_group_info_list")


def __getattr__(name):
    if name in _OF_STRATEGIES:
        return getattr(_strategy_files, name)
    return _types_of_numpy() if name == "tensor_to_np_type" else _others(name)


_others = module_getattr("mindspore.train.serialization")
