"""AutoParallel: parallel settings of one network."""
from mindspore import _context_rules as _rules
from mindspore import context
from mindspore._drydock import frames
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import tracing
from mindspore.communication.management import get_group_size, get_rank
from mindspore.nn.cell import Cell
from mindspore.parallel._utils import parallel_settings

# What holds whatever set_auto_parallel_context said before. Source: mindspore/python/mindspore/parallel/_utils.py.
_DEFAULTS = {
    "dataset_strategy": "data_parallel", "enable_alltoall": True, "gradients_mean": False, "gradient_fp32_sync": True,
    "loss_repeated_mean": True, "force_fp32_communication": False, "parameter_broadcast": False, "comm_fusion": {},
    "strategy_ckpt_load_file": "", "strategy_ckpt_save_file": "", "group_ckpt_save_file": "",
    "enable_parallel_optimizer": False, "pipeline_stages": 1, "pipeline_result_broadcast": False,
    "pipeline_config": {"pipeline_interleave": False, "pipeline_scheduler": "1f1b"},
}
_MODES = ("semi_auto", "sharding_propagation", "recursive_programming")


def _fail(kind, detail, message):
    raise user_error(kind, "AutoParallel:" + detail, message)


class AutoParallel(Cell):
    """See mindspore.parallel.auto_parallel.AutoParallel."""

    def __init__(self, network, parallel_mode="semi_auto"):
        super().__init__(auto_prefix=False)
        if not isinstance(parallel_mode, str):
            _fail(TypeError, "mode-type", "parallel_mode must be a string")
        if parallel_mode not in _MODES:
            _fail(ValueError, "mode", "parallel_mode must be one of %s, not '%s'" % (", ".join(_MODES), parallel_mode))
        if not isinstance(network, Cell) and not callable(network):
            _fail(TypeError, "network-type", "AutoParallel() takes a Cell or a function")
        self.network = network
        self._mode = parallel_mode
        self._settings = dict(_DEFAULTS)
        self._places = dict.fromkeys(("parallel_mode", "search_mode"), frames.user_place())  # setting -> its line
        self._devices = get_group_size()
        self._place = {}            # of this process, where others than the session say what it is
        if self._devices != session.world_size:
            self._place = {"device_num": self._devices, "global_rank": int(get_rank())}
        self._strategy_file = None  # (mode, path) of the operators' strategies
        self._in_force = 0          # calls on the way for which these settings are those of the process

    def begin_settings(self):
        """Makes these settings those of the process: while the network is made, compiled or called."""
        self.__dict__["_in_force"] += 1
        if self._in_force > 1:
            return
        if self._devices == 1:
            settings = {"parallel_mode": "stand_alone"}
        elif self._mode == "semi_auto":
            settings = {"parallel_mode": "semi_auto_parallel"}
        else:
            settings = {"parallel_mode": "auto_parallel", "search_mode": self._mode}
        settings.update(self._settings if self._devices > 1 else {})
        context.set_auto_parallel_context(**self._place, **settings)
        context.settings_places().update(self._places)
        if self._strategy_file:
            from mindspore.parallel import _op_strategy
            _op_strategy.configure(*self._strategy_file)

    def end_settings(self):
        self.__dict__["_in_force"] -= 1
        if self._in_force == 0:
            context.reset_auto_parallel_context()

    def __call__(self, *args, **kwargs):
        if session.depth > 0:
            if not self._in_force:
                session.warn("AutoParallel around a part of the network that is called has no effect: "
                             "give the outermost cell to AutoParallel, or the wrapped network to Model")
            return self._enter(*args, **kwargs)
        with parallel_settings(self):
            return tracing.run(self, self._enter, args, kwargs, self._names(), jit_config=self._jit_config_dict)

    def compile_alone(self, args, kwargs):
        with parallel_settings(self):
            return tracing.compile_alone(self, self._enter, args, kwargs, self._names())

    def _names(self):
        return tracing.input_names(getattr(self.network, "construct", self.network),
                                   skip=1 if isinstance(self.network, Cell) else 0)

    def construct(self, *args, **kwargs):
        return self.network(*args, **kwargs)

    # -- settings: checked at once, in force from begin_settings() on ------------------------------------
    def _set(self, **settings):
        for key, value in settings.items():
            _rules.check_parallel(key, value, context.GRAPH_MODE)
        self._settings.update(settings)
        self._places.update((key, frames.user_place()) for key in settings)
        context.note_limits(settings)

    def dataset_strategy(self, config):
        if config is None:
            _fail(ValueError, "dataset-strategy", "dataset_strategy must not be None")
        self._set(dataset_strategy=config)

    def enable_gradients_mean(self):
        self._set(gradients_mean=True)

    def disable_gradient_fp32_sync(self):
        self._set(gradient_fp32_sync=False)

    def disable_loss_repeated_mean(self):
        self._set(loss_repeated_mean=False)

    def enable_fp32_communication(self):
        self._set(force_fp32_communication=True)

    def comm_fusion(self, config):
        self._set(comm_fusion={} if config is None else config)

    def hsdp(self, shard_size=-1, threshold=64, optimizer_level="level1"):
        if isinstance(shard_size, bool) or not isinstance(shard_size, int) or (shard_size != -1 and shard_size < 1):
            _fail(ValueError, "hsdp", "shard_size of hsdp() must be -1 or a whole number above 0")
        if isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 0:
            _fail(ValueError, "hsdp", "threshold of hsdp() must be a whole number from 0 on")
        if optimizer_level not in ("level1", "level2", "level3"):
            _fail(ValueError, "hsdp", "optimizer_level of hsdp() must be level1, level2 or level3")
        config = {"parallel_optimizer_threshold": threshold, "optimizer_level": optimizer_level}
        if shard_size > 1:
            config["optimizer_weight_shard_size"] = shard_size
        self._set(enable_parallel_optimizer=True, parallel_optimizer_config=config)

    def pipeline(self, stages=1, output_broadcast=False, interleave=False, scheduler="1f1b"):
        if isinstance(stages, bool) or not isinstance(stages, int):
            _fail(TypeError, "pipeline-stages", "stages of pipeline() must be a whole number")
        if stages < 1:
            _fail(ValueError, "pipeline-stages", "stages of pipeline() must be positive")
        for name, value in (("output_broadcast", output_broadcast), ("interleave", interleave)):
            if not isinstance(value, bool):
                _fail(TypeError, "pipeline-" + name, "%s of pipeline() must be True or False" % name)
        if scheduler not in _rules.SCHEDULERS:
            _fail(ValueError, "pipeline-scheduler", "scheduler of pipeline() must be one of %s, not %r"
                  % (", ".join(_rules.SCHEDULERS), scheduler))
        self._set(pipeline_stages=stages)
        if stages > 1:
            self._set(pipeline_result_broadcast=output_broadcast, pipeline_config={
                "pipeline_interleave": interleave, "pipeline_scheduler": scheduler})

    def get_pipeline_stages(self):
        return self._settings.get("pipeline_stages", 1)

    def load_operator_strategy_file(self, file_path):
        self._keep_strategies("LOAD", file_path)

    def save_operator_strategy_file(self, file_path):
        self._keep_strategies("SAVE", file_path)

    def _keep_strategies(self, mode, path):
        from mindspore.parallel import _op_strategy
        _op_strategy.check_path(path)
        self._strategy_file = (mode, path)

    def load_param_strategy_file(self, file_path):
        self._set(strategy_ckpt_load_file=file_path)

    def save_param_strategy_file(self, file_path):
        self._set(strategy_ckpt_save_file=file_path)

    def set_group_ckpt_save_file(self, file_path):
        self._set(group_ckpt_save_file=file_path)

    def print_local_norm(self):
        self._set(dump_local_norm=True)

    def dump_local_norm(self, file_path):
        self._set(dump_local_norm=True, dump_local_norm_path=file_path)

    def enable_device_local_norm(self):
        self._set(dump_device_local_norm=True)

    def transformer_opt(self, file_path):
        if file_path is not None:
            context.set_context(ascend_config={"parallel_speed_up_json_path": file_path})

    def no_init_parameters_in_compile(self):
        """Parameters have no values in a dry run, whenever they get them."""

    def disable_strategy_file_only_for_trainable_params(self):
        """About the file of save_param_strategy_file(), which is not written."""


__getattr__ = module_getattr(__name__)
