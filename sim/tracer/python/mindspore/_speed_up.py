"""The JSON file of `ascend_config={"parallel_speed_up_json_path": ...}` and of AutoParallel.transformer_opt().

Its options are flags of the compiler. Some can be asked for with get_context(), which scripts do; what an option does to the kernels is
not followed and counted, unless it is switched off. Source: mindspore/python/mindspore/context.py (_set_speedup_config_path).
"""
import json
import os

from mindspore._drydock.errors import user_error

# Option: (type, name of the setting that get_context() knows; "" if none).
_OPTIONS = {
    "recomputation_communication_overlap": (str, "recompute_comm_overlap"), "recompute_comm_overlap": (str, "recompute_comm_overlap"),
    "grad_matmul_communication_overlap": (str, ""), "matmul_grad_comm_overlap": (str, ""), "enable_communication_fusion": (bool, ""),
    "enable_task_opt": (bool, ""), "grad_computation_allreduce_overlap": (bool, ""), "enable_grad_comm_opt": (bool, ""),
    "grad_fa_allgather_overlap": (bool, ""), "recompute_allgather_overlap_fagrad": (bool, ""), "interleaved_matmul_comm": (bool, ""),
    "allreduce_and_biasadd_swap": (bool, ""), "bias_add_comm_swap": (bool, ""), "computation_allgather_overlap": (bool, ""),
    "enable_opt_shard_comm_opt": (bool, ""), "enable_begin_end_inline_opt": (bool, ""), "enable_concat_eliminate_opt": (bool, ""),
    "interleaved_layernorm_comm": (bool, ""), "enable_allreduce_slice_to_reducescatter": (bool, ""),
    "enable_interleave_split_concat_branch": (bool, ""), "enable_interleave_parallel_branch": (bool, ""),
    "enable_offloading_packed_experts": (bool, ""), "computation_communication_fusion_level": (int, ""),
    "compute_communicate_fusion_level": (int, ""), "enable_flash_attention_load_balance": (bool, ""), "pp_1f1b_overlap": (str, ""),
    "dataset_broadcast_opt_level": (int, "dataset_broadcast_opt_level"),
}
_TEXT_OR_FLAG = ("recomputation_communication_overlap", "recompute_comm_overlap", "grad_matmul_communication_overlap",
                 "matmul_grad_comm_overlap")


def _wrong(code, text, hint=""):
    return user_error(ValueError, "context:speed-up-" + code, text, hint)


def _read(path):
    if not isinstance(path, str):
        raise _wrong("path", "parallel_speed_up_json_path must be a string, not %r" % (path,))
    if not os.path.exists(path):
        raise _wrong("path", "parallel_speed_up_json_path: there is no file '%s'" % path, "paths begin at the folder the job is started in")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise _wrong("json", "parallel_speed_up_json_path: '%s' cannot be read: %s" % (path, error)) from None
    if not isinstance(found, dict):
        raise _wrong("json", "parallel_speed_up_json_path: '%s' must hold an object of options" % path)
    return found


def options_of(path):
    """({setting: value}, [texts of what is not followed]) of a file; nothing for an empty path."""
    settings, left_out = {}, []
    for name, value in (_read(path) if path else {}).items():
        if name not in _OPTIONS:
            import difflib  # here, since it is slow to import and rarely needed
            near = difflib.get_close_matches(name, _OPTIONS, 1)
            raise _wrong("option", "'%s' of '%s' is not an option of the compiler" % (name, path), "did you mean '%s'?" % near[0] if near else "")
        kind, setting = _OPTIONS[name]
        flag = isinstance(value, bool) and (kind is bool or name in _TEXT_OR_FLAG)
        if not flag and (kind is bool or isinstance(value, bool) or not isinstance(value, kind)):
            raise _wrong("type", "'%s' of '%s' must be %s, not %r" % (name, path, kind.__name__, value))
        if setting:
            settings[setting] = value
        if value and name != "dataset_broadcast_opt_level":  # how rows reach the devices is not part of a step
            left_out.append("%s of parallel_speed_up_json_path is not followed" % name)
    return settings, left_out
