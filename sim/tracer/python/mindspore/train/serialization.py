"""Checkpoints: nothing is written, missing files are empty."""
import os

from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter  # noqa: F401  (scripts take them from here)
from mindspore.common.tensor import Tensor  # noqa: F401


def _update_param(param, new_param, strict_load=False):
    """Values are not kept, so there is nothing to take over."""


def save_checkpoint(save_obj, ckpt_file_name, *args, **kwargs):
    session.warn("checkpoints are not written in a dry run")


def export(net, *inputs, file_name="model", file_format="MINDIR", **kwargs):
    session.warn("models are not exported in a dry run")


def load_checkpoint(ckpt_file_name, net=None, *args, **kwargs):
    if not os.path.exists(ckpt_file_name):
        session.warn("checkpoint '%s' does not exist; the dry run goes on without it" % ckpt_file_name)
    return {}


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):
    return [], []


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


def __getattr__(name):
    return _types_of_numpy() if name == "tensor_to_np_type" else _others(name)


_others = module_getattr("mindspore.train.serialization")
