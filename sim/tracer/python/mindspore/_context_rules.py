"""Keys, types and ranges of the context settings."""
import re

from mindspore._drydock.errors import user_error

CONTEXT_DEFAULTS = {
    "mode": 0, "precompile_only": False, "device_target": "Ascend", "device_id": 0, "save_graphs": 0,
    "save_graphs_path": ".", "max_device_memory": "", "variable_memory_max_size": "", "mempool_block_size": "1GB",
    "memory_optimize_level": "O0", "memory_offload": "OFF", "max_call_depth": 1000, "enable_graph_kernel": False,
    "graph_kernel_flags": "", "reserve_class_name_in_scope": True, "check_bprop": False, "print_file_path": "",
    "env_config_path": "", "enable_compile_cache": False, "compile_cache_path": "", "runtime_num_threads": 30,
    "inter_op_parallel_num": 0, "pynative_synchronize": False, "op_timeout": 900, "deterministic": "OFF",
    "ascend_config": {}, "gpu_config": {}, "jit_config": {}, "jit_level": "", "jit_syntax_level": 2,
    "debug_level": 0, "aoe_tune_mode": "", "aoe_config": {}, "exec_order": "bfs", "recompute_comm_overlap": False,
    "dataset_broadcast_opt_level": 0, "infer_boost": "off",
    "grad_for_scalar": False, "support_binary": False, "jit_enable_inplace_ops": True, "disable_format_transform": False,
    "memory_opt": "",
}
_CONTEXT_TYPES = {
    "mode": int, "precompile_only": bool, "device_target": str, "device_id": int, "save_graphs": (bool, int),
    "save_graphs_path": str, "max_device_memory": str, "variable_memory_max_size": str, "mempool_block_size": str,
    "memory_optimize_level": str, "memory_offload": str, "max_call_depth": int, "enable_graph_kernel": bool,
    "graph_kernel_flags": str, "reserve_class_name_in_scope": bool, "check_bprop": bool, "print_file_path": str,
    "env_config_path": str, "enable_compile_cache": bool, "compile_cache_path": str, "runtime_num_threads": int,
    "inter_op_parallel_num": int, "pynative_synchronize": bool, "op_timeout": int, "deterministic": str,
    "ascend_config": dict, "gpu_config": dict, "jit_config": dict, "debug_level": int, "aoe_config": dict,
    "jit_level": str, "exec_order": str, "infer_boost": str,
}
_CONTEXT_CHOICES = {
    "mode": (0, 1), "device_target": ("Ascend", "GPU", "CPU"), "exec_order": ("bfs", "dfs"),
    "jit_level": ("O0", "O1", "O2", ""), "infer_boost": ("on", "off"), "memory_optimize_level": ("O0", "O1"),
    "memory_offload": ("ON", "OFF"), "deterministic": ("ON", "OFF"),
}
_JIT_KEYS = ("jit_level", "infer_boost")
_MEMORY = re.compile(r"[1-9][0-9]*(\.[0-9]+)?GB|0\.[0-9]*[1-9][0-9]*GB")

PARALLEL_ALIASES = {"auto_parallel_search_mode": "search_mode"}
PARALLEL_DEFAULTS = {
    "device_num": None, "global_rank": None, "parallel_mode": "stand_alone", "search_mode": "recursive_programming",
    "dataset_strategy": "data_parallel", "full_batch": False, "full_batch_is_set": False, "pipeline_stages": 1,
    "pipeline_segments": 1, "pipeline_result_broadcast": False, "pipeline_config": {}, "auto_pipeline": False,
    "enable_parallel_optimizer": False, "parallel_optimizer_config": {}, "optimizer_weight_shard_size": -1,
    "optimizer_weight_shard_aggregated_save": False, "gradients_mean": False, "gradient_fp32_sync": True,
    "loss_repeated_mean": True, "parameter_broadcast": False, "force_fp32_communication": False, "comm_fusion": {},
    "all_reduce_fusion_config": [], "enable_alltoall": False, "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "", "group_ckpt_save_file": "", "strategy_ckpt_config": {},
    "grad_accumulation_step": 1, "communi_parallel_mode": "all_group_parallel", "sharding_propagation": False,
    "dump_local_norm": False, "dump_local_norm_path": "", "dump_device_local_norm": False,
    "auto_parallel_new_interface": False, "init_param_in_compile": True,
}
_CHOICES = {
    "parallel_mode": ("stand_alone", "data_parallel", "hybrid_parallel", "semi_auto_parallel", "auto_parallel"),
    "search_mode": ("recursive_programming", "dynamic_programming", "sharding_propagation"),
    "communi_parallel_mode": ("all_group_parallel", "same_server_group_parallel", "no_group_parallel"),
}
_BOOLS = frozenset((
    "full_batch", "pipeline_result_broadcast", "auto_pipeline", "enable_parallel_optimizer",
    "optimizer_weight_shard_aggregated_save", "gradients_mean", "gradient_fp32_sync", "loss_repeated_mean",
    "parameter_broadcast", "force_fp32_communication", "enable_alltoall", "sharding_propagation", "dump_local_norm",
    "dump_device_local_norm", "auto_parallel_new_interface", "init_param_in_compile"))
_TEXTS = frozenset(("strategy_ckpt_load_file", "strategy_ckpt_save_file", "group_ckpt_save_file",
                    "dump_local_norm_path"))
SCHEDULERS = ("1f1b", "gpipe", "seqpipe", "seqvpp", "seqsmartvpp", "zero_bubble_v")
_PYNATIVE_MODES = ("stand_alone", "data_parallel", "auto_parallel")

def unfollowed_context(key, value):
    """What the figures leave out for a setting of set_context; "" if nothing."""
    if key == "jit_level" and value == "O2":
        return "jit_level O2 (the graph engine of CANN) is taken as O0"
    if key == "memory_offload" and value == "ON":
        return "memory_offload: what is moved to the host counts as kept on the device"
    if key == "enable_graph_kernel" and value:
        return "enable_graph_kernel is not followed; jit_level O1 is"
    return ""


# Settings that change a step and are not followed: what the figures leave out. Each is counted where it is given.
_NOT_FOLLOWED = {
    "strategy_ckpt_load_file": "strategies are not read from the file of %s",
    "force_fp32_communication": "%s: gradients are exchanged in their own type",
    "dump_local_norm": "%s: the norms of gradients are not recorded",
    "dump_device_local_norm": "%s: the norms of gradients are not recorded",
    "parameter_broadcast": "%s: the Broadcast of the parameters in front of the first step is not recorded",
    "auto_pipeline": "%s is not followed",
}
# Files that MindSpore writes and a dry run does not.
_FILES = ("strategy_ckpt_save_file", "group_ckpt_save_file", "dump_local_norm_path")


def unfollowed(key, value):
    """(what the figures leave out, which file is not written), each "" if nothing."""
    if key == "strategy_ckpt_config":
        left_out, file = unfollowed("strategy_ckpt_load_file", value.get("load_file"))
        return left_out, file or unfollowed("strategy_ckpt_save_file", value.get("save_file"))[1]
    if key == "communi_parallel_mode" and value != "all_group_parallel":
        return "communi_parallel_mode '%s' is taken as all_group_parallel" % value, ""
    if not value:
        return "", ""
    left_out = _NOT_FOLLOWED[key] % key if key in _NOT_FOLLOWED else ""
    return left_out, "no file is written for %s" % key if key in _FILES else ""


ALGO_DEFAULTS = {
    "fully_use_devices": None, "elementwise_op_strategy_follow": False, "tensor_slice_align_enable": False,
    "tensor_slice_align_size": 16, "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
}


def nearest(word, known):
    """A hint that names the nearest known word."""
    import difflib  # here, since it is slow to import and rarely needed
    found = difflib.get_close_matches(str(word), [k for k in known if isinstance(k, str)], 1)
    return "did you mean '%s'?" % found[0] if found else ""


def need(kind, where, key, value):
    """TypeError unless the value has one of the types; bools are no ints."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise user_error(TypeError, "%s:%s-type" % (where, key), "'%s' must be of type %s, not %s"
                         % (key, " or ".join(k.__name__ for k in kinds), type(value).__name__), _as_one_of(kinds, key, value))
    return value


def _as_one_of(kinds, key, value):
    """A hint with a value of another type as one of those that are taken: True for "True", a tuple for a list."""
    import ast
    if isinstance(value, list) and tuple in kinds:
        return "write a tuple: %s=%r" % (key, tuple(value))
    if key == "mode":
        return "write mode=mindspore.GRAPH_MODE"
    try:
        meant = ast.literal_eval(value) if isinstance(value, str) else value
    except (SyntaxError, ValueError):
        meant = {"true": True, "false": False}.get(value.lower())
    if isinstance(meant, float) and meant.is_integer() and float not in kinds:
        meant = int(meant)
    right = isinstance(meant, kinds) and meant is not value and isinstance(meant, bool) == (bool in kinds and bool is type(meant))
    return "write %s=%r" % (key, meant) if right else ""


OFFLOAD_DEFAULTS = {"offload_disk_size": 512 << 30}
_OFFLOAD_TYPES = {"offload_param": str, "offload_path": str, "offload_checkpoint": str, "enable_aio": bool,
                  "aio_queue_depth": int, "enable_pinned_mem": bool, "auto_offload": bool, "cpu_ratio": (int, float),
                  "hbm_ratio": (int, float)}
_OFFLOAD_SIZES = ("offload_disk_size", "offload_cpu_size", "aio_block_size", "host_mem_block_size")


def check_offload(key, value):
    """A setting of set_offload_context as it is kept: sizes ("0.5GB") in bytes, places of parameters in small letters."""
    where = "set_offload_context"
    if key in _OFFLOAD_SIZES:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)GB", need(str, where, key, value))
        if not match:
            raise user_error(ValueError, "%s:%s" % (where, key), "'%s' must be a size such as '1.5GB', not %r" % (key, value))
        return int(float(match.group(1)) * (1 << 30))
    if key not in _OFFLOAD_TYPES:
        raise user_error(ValueError, where + ":unknown-key", "no offload setting is called '%s'" % key,
                         nearest(key, list(_OFFLOAD_TYPES) + list(_OFFLOAD_SIZES)))
    need(_OFFLOAD_TYPES[key], where, key, value)
    if key == "offload_param":
        value = value.lower()
        _choice(where, key, value, ("cpu", "disk", ""))
    return value


_OF_OTHERS = {"npu": "did you mean 'Ascend'?", "cuda": "did you mean 'GPU'?"}  # names of devices elsewhere


def _choice(where, key, value, choices):
    if value not in choices:
        raise user_error(ValueError, "%s:%s" % (where, key), "'%s' cannot be %r" % (key, value),
                         _OF_OTHERS.get(str(value).lower(), "") or nearest(value, choices) or "known: " + ", ".join(str(one) for one in choices if one != ""))
    return value


def _at_least(where, key, value, low, high=None):
    need(int, where, key, value)
    if value < low or (high is not None and value > high):
        raise user_error(ValueError, "%s:%s-range" % (where, key), "'%s' must be %s, not %d"
                         % (key, ">= %d" % low if high is None else "from %d to %d" % (low, high), value))
    return value


# -- set_context -----------------------------------------------------------------------------------------
def check_context(key, value):
    """The value as kept; TypeError or ValueError as in the reference."""
    where = "context"
    if key not in CONTEXT_DEFAULTS:
        raise user_error(ValueError, "context:unknown-key", "no context setting is called '%s'" % key,
                         "it is a setting of set_auto_parallel_context()" if key in PARALLEL_DEFAULTS else nearest(key, CONTEXT_DEFAULTS))
    if key in _CONTEXT_TYPES:
        need(_CONTEXT_TYPES[key], where, key, value)
    if key in _CONTEXT_CHOICES:
        return _choice(where, key, value, _CONTEXT_CHOICES[key])
    if key == "jit_config":
        for name, item in value.items():
            _choice(where, "jit_config key", name, _JIT_KEYS)
            check_context(name, item)
        return value
    if key == "save_graphs":
        return {True: 2, False: 0}[value] if isinstance(value, bool) else _at_least(where, key, value, 0, 3)
    if key in ("max_device_memory", "variable_memory_max_size", "mempool_block_size"):
        if not _MEMORY.fullmatch(value):
            raise user_error(ValueError, "context:" + key, "'%s' must look like '30GB', not %r" % (key, value))
    if key == "max_call_depth":
        return _at_least(where, key, value, 1)
    if key in ("runtime_num_threads", "inter_op_parallel_num", "op_timeout"):
        return _at_least(where, key, value, 0)
    if key == "device_id" and type(value) is int:  # not one that follows from the rank, which is right for all
        return _at_least(where, key, value, 0, 4095)
    return value


# -- set_auto_parallel_context -----------------------------------------------------------------------------
def check_parallel(key, value, mode):
    """The value as kept; `mode` is the context's execution mode."""
    where = "auto-parallel-context"
    if key not in PARALLEL_DEFAULTS or key == "full_batch_is_set":
        raise user_error(ValueError, where + ":unknown-key", "no auto-parallel setting is called '%s'" % key,
                         "it is a setting of set_context()" if key in CONTEXT_DEFAULTS else nearest(key, PARALLEL_DEFAULTS))
    if key in _BOOLS:
        return need(bool, where, key, value)
    if key in _TEXTS:
        return need(str, where, key, value)
    if key in _CHOICES:
        return _check_choice(where, key, value, mode)
    if key in ("device_num", "pipeline_stages", "pipeline_segments"):
        return _at_least(where, key, value, 1)
    if key == "global_rank":
        return _at_least(where, key, value, 0, 4095)
    special = _SPECIAL.get(key)
    return special(where, key, value, mode) if special else value


def _check_choice(where, key, value, mode):
    _choice(where, key, need(str, where, key, value), _CHOICES[key])
    if key == "parallel_mode" and mode == 1 and value not in _PYNATIVE_MODES:
        raise user_error(ValueError, where + ":pynative-mode", "parallel mode '%s' does not work in PYNATIVE_MODE"
                         % value, "use GRAPH_MODE")
    return value


def _check_dataset_strategy(where, key, value, mode):
    from mindspore.parallel.shard import Layout
    if isinstance(value, str):
        return _choice(where, key, value, ("full_batch", "data_parallel"))
    need(tuple, where, key, value)
    if mode == 1:
        raise user_error(ValueError, where + ":dataset_strategy-pynative",
                         "dataset_strategy must be a string in PYNATIVE_MODE")
    for entry in value:
        if isinstance(entry, Layout):
            if entry.to_dict()["interleaved_parallel"]:
                raise user_error(ValueError, where + ":dataset_strategy", "dataset_strategy takes no interleaved Layout")
        elif not isinstance(entry, tuple) or any(type(number) is not int for number in entry):
            raise user_error(TypeError, where + ":dataset_strategy-entry",
                             "dataset_strategy must hold tuples of ints or Layouts, not %r" % (entry,))
    return value


def _check_pipeline_config(where, key, value, mode):
    need(dict, where, key, value)
    for name in value:
        _choice(where, "pipeline_config key", name, ("pipeline_interleave", "pipeline_scheduler"))
    for name in ("pipeline_interleave", "pipeline_scheduler"):
        if name not in value:
            raise user_error(KeyError, where + ":pipeline_config", "pipeline_config lacks '%s'" % name)
    need(bool, where, "pipeline_interleave", value["pipeline_interleave"])
    _choice(where, "pipeline_scheduler", value["pipeline_scheduler"], SCHEDULERS)
    if not value["pipeline_interleave"] and value["pipeline_scheduler"] != "1f1b":
        raise user_error(TypeError, where + ":pipeline_config", "without pipeline_interleave the scheduler is '1f1b'",
                         "set 'pipeline_interleave': True, or 'pipeline_scheduler': '1f1b'")
    return value


def _check_optimizer_config(where, key, value, mode):
    need(dict, where, key, value)
    known = ("gradient_accumulation_shard", "parallel_optimizer_threshold", "optimizer_weight_shard_size",
             "optimizer_level")
    for name, item in value.items():
        _choice(where, "parallel_optimizer_config key", name, known)
        if name == "gradient_accumulation_shard":
            need(bool, where, name, item)
        elif name == "parallel_optimizer_threshold":
            _at_least(where, name, item, 0)
        elif name == "optimizer_weight_shard_size":
            need(int, where, name, item)
            if item != -1 and item <= 1:
                raise user_error(ValueError, where + ":" + name, "'%s' must be -1 or above 1" % name)
        else:
            _choice(where, name, item, ("level1", "level2", "level3"))
    if value.get("gradient_accumulation_shard") and value.get("optimizer_level", "level2") != "level2":
        raise user_error(ValueError, where + ":" + key, "gradient_accumulation_shard means optimizer_level 'level2'")
    return value


def _check_shard_size(where, key, value, mode):
    need(int, where, key, value)
    return value if value > 1 else -1


def _check_comm_fusion(where, key, value, mode):
    need(dict, where, key, value)
    for name, item in value.items():
        if name == "openstate":
            need(bool, where, name, item)
            continue
        if name not in ("allreduce", "allgather", "reducescatter"):
            raise user_error(KeyError, where + ":comm_fusion", "comm_fusion has no entry '%s'" % name)
        need(dict, where, name, item)
        modes = ("auto", "size", "index") if name == "allreduce" else ("auto", "size")
        if "mode" not in item or "config" not in item or item["mode"] not in modes:
            raise user_error(KeyError, where + ":comm_fusion", "'%s' needs a mode of %s and a config"
                             % (name, ", ".join(modes)), "write '%s': {'mode': 'auto', 'config': None}" % name)
        if item["mode"] == "size":
            _at_least(where, name, item["config"], 0)
        elif item["mode"] == "index":
            _check_fusion_indices(where, "comm_fusion", item["config"], mode)
    return value


def _check_fusion_indices(where, key, value, mode):
    need(list, where, key, value)
    if not value:
        raise user_error(ValueError, where + ":" + key, "'%s' must not be empty" % key)
    for item in value:
        need(int, where, key, item)
    if any(a >= b for a, b in zip(value, value[1:])):
        raise user_error(ValueError, where + ":" + key, "'%s' must ascend" % key,
                         "give each index once, in order: %s" % sorted(set(value)))
    return value


def _check_accumulation(where, key, value, mode):
    need(int, where, key, value)
    if value != 1:
        raise user_error(ValueError, where + ":" + key, "'grad_accumulation_step' above 1 is not available any more",
                         "use mindspore.parallel.nn.GradAccumulation")
    return value


def _check_strategy_config(where, key, value, mode):
    need(dict, where, key, value)
    for name, item in value.items():
        _choice(where, "strategy_ckpt_config key", name, ("load_file", "save_file", "only_trainable_params"))
        need(bool if name == "only_trainable_params" else str, where, name, item)
    return value


_SPECIAL = {
    "dataset_strategy": _check_dataset_strategy, "pipeline_config": _check_pipeline_config,
    "parallel_optimizer_config": _check_optimizer_config, "optimizer_weight_shard_size": _check_shard_size,
    "comm_fusion": _check_comm_fusion, "all_reduce_fusion_config": _check_fusion_indices,
    "grad_accumulation_step": _check_accumulation, "strategy_ckpt_config": _check_strategy_config,
}


# -- set_algo_parameters -----------------------------------------------------------------------------------
def check_algo(key, value):
    where = "algo-parameters"
    if key not in ALGO_DEFAULTS:
        raise user_error(ValueError, where + ":unknown-key", "no algorithm setting is called '%s'" % key,
                         nearest(key, ALGO_DEFAULTS))
    if key == "tensor_slice_align_size":
        return _at_least(where, key, value, 1, 1024)
    if key == "algo_approxi_epsilon":
        need(float, where, key, value)
        if not 0 < value <= 1:
            raise user_error(ValueError, where + ":" + key, "'%s' must be in (0, 1]" % key)
        return value
    return need(bool, where, key, value)

