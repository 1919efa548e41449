"""auto_parallel_context(): the settings of set_auto_parallel_context as an object with set_ and get_ methods."""
from mindspore import context
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._fusion import fusion

_FLAGS = {
    "parameter_broadcast_is_set": "parameter_broadcast", "device_num_is_set": "device_num",
    "global_rank_is_set": "global_rank", "full_batch_is_set": "full_batch_is_set",
}
_FUSION = {
    "enable_all_reduce_fusion": bool, "enable_all_gather_fusion": bool, "enable_reduce_scatter_fusion": bool,
}
_THRESHOLDS = ("fusion_threshold_mb", "allgather_fusion_threshold_mb", "reducescatter_fusion_threshold_mb",
               "data_parallel_fusion_threshold_mb")
_NAMES = {"strategy_search_mode": "search_mode", "auto_parallel_search_mode": "search_mode",
          "enable_fp32_communication": "force_fp32_communication"}


class _AutoParallelContext:
    """One per process; holds nothing itself."""

    def __getattr__(self, name):
        action, _, key = name.partition("_")
        if action == "get":
            return lambda *args: self._get(key)
        if action == "set":
            return lambda *args, **kwargs: self._set(key, *args, **kwargs)
        if name in _THRESHOLDS:
            return lambda: self._get(name)
        raise AttributeError(name)

    @staticmethod
    def _get(key):
        key = _NAMES.get(key, key)
        settings = context.fusion_settings()
        if key in settings:
            return settings[key]
        if key in _FLAGS:
            return context.is_set(_FLAGS[key])
        if key in ("pipeline_interleave", "pipeline_scheduler"):
            defaults = {"pipeline_interleave": False, "pipeline_scheduler": "1f1b"}
            return context.get_auto_parallel_context("pipeline_config").get(key, defaults[key])
        if key in ("gradient_accumulation_shard", "parallel_optimizer_threshold"):
            defaults = {"gradient_accumulation_shard": False, "parallel_optimizer_threshold": -1}
            return context.get_auto_parallel_context("parallel_optimizer_config").get(key, defaults[key])
        return context.get_auto_parallel_context(key)

    @staticmethod
    def _set(key, *args, **kwargs):
        key = _NAMES.get(key, key)
        values = list(args) + list(kwargs.values())
        settings = context.fusion_settings()
        if key in settings:
            value = values[0]
            if key in _FUSION and not isinstance(value, bool):
                raise user_error(TypeError, "auto-parallel-context:%s-type" % key, "'%s' must be True or False" % key)
            if key in _THRESHOLDS:
                fusion.set_threshold(key, value)
            else:
                settings[key] = value
            return
        context.set_auto_parallel_context(**{key: values[0]})

    def reset(self):
        context.reset_auto_parallel_context()

    def set_all_reduce_fusion_split_indices(self, indices, group=""):
        context.set_auto_parallel_context(all_reduce_fusion_config=indices)

    def get_all_reduce_fusion_split_indices(self, group=""):
        return context.get_auto_parallel_context("all_reduce_fusion_config")

    def set_all_reduce_fusion_split_sizes(self, sizes, group=""):
        context.fusion_settings()["all_reduce_fusion_split_sizes"] = list(sizes)

    def get_all_reduce_fusion_split_sizes(self, group=""):
        return context.fusion_settings().get("all_reduce_fusion_split_sizes", [])


_instance = _AutoParallelContext()


def auto_parallel_context():
    return _instance


def _set_auto_parallel_context(**kwargs):
    context.set_auto_parallel_context(**kwargs)


def _get_auto_parallel_context(attr_key):
    return context.get_auto_parallel_context(attr_key)


def _reset_auto_parallel_context():
    context.reset_auto_parallel_context()


__getattr__ = module_getattr(__name__)
