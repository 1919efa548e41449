"""A stand-in for MindSpore that records what a script computes; it executes no kernels."""
import sys

if sys.version_info < (3, 8):
    raise ImportError("Drydock's dry run needs Python 3.8 or newer")

from mindspore._drydock import lazy as _lazy, release as _release, side_imports as _side_imports  # noqa: E402

_lazy.install()
_side_imports.install()

from mindspore import ops  # noqa: E402  (before common.tensor users)
from mindspore import mint, nn, parallel, train  # noqa: E402,F401
from mindspore.common import *  # noqa: E402,F401,F403
from mindspore.common import (JitConfig, Parameter, ParameterTuple, Tensor, dtype, from_numpy, get_seed,  # noqa: E402,F401
                              initializer, jit, jit_class, lazy_inline, ms_function, ms_memory_recycle, mutable,
                              recompute, set_seed, tensor)
from mindspore.common.symbol import Symbol  # noqa: E402,F401
from mindspore.context import (GRAPH_MODE, PYNATIVE_MODE, ParallelMode, get_auto_parallel_context,  # noqa: E402,F401
                               get_context, get_offload_context, get_ps_context, reset_auto_parallel_context,
                               reset_ps_context, set_auto_parallel_context, set_context, set_device,
                               set_offload_context, set_ps_context)
from mindspore.ops import grad, value_and_grad  # noqa: E402,F401
from mindspore.parallel import (Layout, get_algo_parameters, reset_algo_parameters, reshard,  # noqa: E402,F401
                                set_algo_parameters, sync_pipeline_shared_parameters)
from mindspore.parallel.shard import shard  # noqa: E402,F401
from mindspore.train import (Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint,  # noqa: E402,F401
                             TimeMonitor, export, load_checkpoint, load_param_into_net, save_checkpoint)

__version__ = _release.in_force()

__getattr__ = _lazy.module_getattr(__name__, {
    "Generator": "mindspore.common.generator", "default_generator": "mindspore.common.generator",
    "DynamicLossScaleManager": "mindspore.train.loss_scale_manager",
    "FixedLossScaleManager": "mindspore.train.loss_scale_manager",
    "get_rng_state": "mindspore.common.seed", "manual_seed": "mindspore.common.seed",
    "set_rng_state": "mindspore.common.seed", "Profiler": "mindspore.profiler",
    "SummaryCollector": "mindspore.train", "SummaryRecord": "mindspore.train.summary",
    "data_sink": "mindspore.train.data_sink"})


def set_deterministic(deterministic):
    """Accepted: nothing is computed."""


def run_check():
    """Accepted: there is no device to check."""
