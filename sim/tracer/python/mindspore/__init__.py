"""A stand-in for MindSpore that records what a script computes; it executes no kernels."""
import sys

if sys.version_info < (3, 8):
    raise ImportError("Drydock's dry run needs Python 3.8 or newer")

from mindspore._drydock import large_arrays as _large_arrays, lazy as _lazy, release as _release, side_imports as _side_imports  # noqa: E402

_lazy.install()
_side_imports.install()
_large_arrays.install()

from mindspore import ops  # noqa: E402  (before common.tensor users)
from mindspore import mint, nn, parallel, train  # noqa: E402,F401
from mindspore.common import *  # noqa: E402,F401,F403
from mindspore.common import (JitConfig, Parameter, ParameterTuple, Tensor, dtype, from_numpy, get_seed,  # noqa: E402,F401
                              initializer, jit, jit_class, lazy_inline, ms_function, ms_memory_recycle, mutable,
                              recompute, set_recursion_limit, set_seed, tensor)
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

_LATER = {
    "Generator": "mindspore.common.generator", "default_generator": "mindspore.common.generator", "is_tensor": "mindspore.ops",
    "DatasetHelper": "mindspore.train.dataset_helper", "connect_network_with_dataset": "mindspore.train.dataset_helper",
    "build_train_network": "mindspore.amp", "FileWriter": "mindspore.mindrecord", "bool": "mindspore.common.dtype", "int": "mindspore.common.dtype",
    "float": "mindspore.common.dtype", "string": "mindspore.common.dtype", "Type": "mindspore.common.dtype", "TensorType": "mindspore.common.dtype"}
for _name in ("DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"):
    _LATER[_name] = "mindspore.train.loss_scale_manager"
for _name in ("get_rng_state", "initial_seed", "manual_seed", "set_rng_state"):
    _LATER[_name] = "mindspore.common.seed"
for _name in ("RunContext", "EarlyStopping", "LambdaCallback", "LearningRateScheduler", "ReduceLROnPlateau", "FlopsUtilizationCollector",
              "OnRequestExit", "SummaryCollector", "TrainFaultTolerance", "History", "BackupAndRestore"):
    _LATER[_name] = "mindspore.train.callback"
for _name in ("Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
              "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "OcclusionSensitivity", "Perplexity",
              "Precision", "ROC", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
              "TopKCategoricalAccuracy", "auc", "get_metric_fn", "get_metrics", "names", "rearrange_inputs"):
    _LATER[_name] = "mindspore.train.metrics"
for _name in ("synchronize", "empty_cache", "set_cpu_affinity", "memory_allocated", "memory_reserved", "max_memory_allocated",
              "max_memory_reserved", "memory_stats", "reset_peak_memory_stats", "reset_max_memory_allocated",
              "reset_max_memory_reserved", "set_memory", "launch_blocking", "current_stream", "default_stream", "Stream", "StreamCtx",
              "dispatch_threads_num", "set_kernel_launch_group", "set_cur_stream"):
    _LATER[_name] = "mindspore.runtime"
for _name in ("Event", "communication_stream", "memory_summary", "set_device_limit", "set_stream_limit", "reset_stream_limit",
              "set_kernel_launch_capture"):
    _LATER[_name] = "mindspore.runtime"
for _name in ("FileReader", "Cifar10ToMR", "Cifar100ToMR", "CsvToMR", "ImageNetToMR", "MnistToMR", "TFRecordToMR"):
    _LATER[_name] = "mindspore.mindrecord"
_LATER.update({"vjp": "mindspore.ops", "constexpr": "mindspore.ops", "no_inline": "mindspore.common.api", "set_dump": "mindspore.common.api",
               "set_recursion_limit": "mindspore.common.api",                "frombuffer": "mindspore.common.tensor"})
for _name in ("build_searched_strategy", "merge_pipeline_strategys", "rank_list_for_transform", "restore_group_info_list"):
    _LATER[_name] = "mindspore.parallel._strategy_files"
for _name in ("merge_sliced_parameter", "transform_checkpoint_by_rank", "transform_checkpoints", "unified_safetensors",
              "load_checkpoint_async", "async_ckpt_thread_status", "load_distributed_checkpoint",
              "get_ckpt_path_with_strategy"):
    _LATER[_name] = "mindspore.train.serialization"
_LATER.update({"Profiler": "mindspore.profiler", "SummaryRecord": "mindspore.train.summary", "data_sink": "mindspore.train.data_sink", "RowTensor": "mindspore.common.sparse_tensor"})
for _name in ("sdc_detect_start", "sdc_detect_stop", "get_sdc_detect_result"):
    _LATER[_name] = "mindspore.utils._sdc_detect"

__getattr__ = _lazy.module_getattr(__name__, _LATER)
STRICT, COMPATIBLE, LAX = 0, 1, 2  # levels of the syntax of compiled functions
SUCCESS, FAILED = 0, 1


def get_current_device():
    """The device that set_device() or the context has chosen."""
    from mindspore import context
    return context.get_context("device_target"), context.get_context("device_id")


def set_deterministic(deterministic):
    """Accepted: nothing is computed."""


def run_check():
    """Accepted: there is no device to check."""
