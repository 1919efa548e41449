"""AutoParallel: parallel settings of one network. Source: spec tracing-frontend 10.4."""
from mindspore import context
from mindspore._drydock import tracing
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.communication.management import get_group_size, get_rank
from mindspore.nn.cell import Cell

_MODES = ("semi_auto", "sharding_propagation", "recursive_programming")


def _fail(kind, detail, message):
    raise user_error(kind, "AutoParallel:" + detail, message)


class AutoParallel(Cell):
    """See mindspore.parallel.auto_parallel.AutoParallel."""

    def __init__(self, network, parallel_mode="semi_auto"):
        super().__init__(auto_prefix=False)
        if not isinstance(parallel_mode, str):
            _fail(TypeError, "mode-type", "parallel_mode must be a text")
        if parallel_mode not in _MODES:
            _fail(ValueError, "mode", "parallel_mode must be one of %s, not '%s'" % (", ".join(_MODES), parallel_mode))
        if not isinstance(network, Cell) and not callable(network):
            _fail(TypeError, "network-type", "AutoParallel() takes a Cell or a function")
        self.network = network
        self._mode = parallel_mode
        self._settings = {"dataset_strategy": "data_parallel", "enable_alltoall": True}
        self._devices = get_group_size()
        self._place = {}            # of this process, where others than the session say what it is
        if self._devices != session.world_size:
            self._place = {"device_num": self._devices, "global_rank": int(get_rank())}
        self._stages = 1
        self._strategy_file = None  # (mode, path) of the operators' strategies

    def _apply(self):
        if self._devices == 1:
            settings = {"parallel_mode": "stand_alone"}
        elif self._mode == "semi_auto":
            settings = {"parallel_mode": "semi_auto_parallel"}
        else:
            settings = {"parallel_mode": "auto_parallel", "search_mode": self._mode}
        settings.update(self._settings if self._devices > 1 else {})
        context.set_auto_parallel_context(**self._place, **settings)
        if self._strategy_file:
            from mindspore.parallel import _op_strategy
            _op_strategy.configure(*self._strategy_file)

    def __call__(self, *args, **kwargs):
        if session.depth > 0:
            return self._enter(*args, **kwargs)
        self._apply()
        names = tracing.input_names(getattr(self.network, "construct", self.network),
                                    skip=1 if isinstance(self.network, Cell) else 0)
        result = tracing.run(self, self._enter, args, kwargs, names)
        context.reset_auto_parallel_context()
        return result

    def compile_alone(self, args, kwargs):
        self._apply()
        names = tracing.input_names(getattr(self.network, "construct", self.network),
                                    skip=1 if isinstance(self.network, Cell) else 0)
        program = tracing.compile_alone(self, self._enter, args, kwargs, names)
        context.reset_auto_parallel_context()
        return program

    def construct(self, *args, **kwargs):
        return self.network(*args, **kwargs)

    # -- settings: each only stores ----------------------------------------------------------------------
    def dataset_strategy(self, config):
        if config is None:
            _fail(ValueError, "dataset-strategy", "dataset_strategy must not be None")
        self._settings["dataset_strategy"] = config

    def enable_gradients_mean(self):
        self._settings["gradients_mean"] = True

    def disable_gradient_fp32_sync(self):
        self._settings["gradient_fp32_sync"] = False

    def disable_loss_repeated_mean(self):
        self._settings["loss_repeated_mean"] = False

    def enable_fp32_communication(self):
        self._settings["force_fp32_communication"] = True

    def comm_fusion(self, config):
        self._settings["comm_fusion"] = config

    def hsdp(self, shard_size=-1, threshold=64, optimizer_level="level1"):
        if isinstance(shard_size, bool) or not isinstance(shard_size, int) or (shard_size != -1 and shard_size < 2):
            _fail(ValueError, "hsdp", "shard_size of hsdp() must be -1 or a whole number above 1")
        if optimizer_level not in ("level1", "level2", "level3"):
            _fail(ValueError, "hsdp", "optimizer_level of hsdp() must be level1, level2 or level3")
        self._settings["enable_parallel_optimizer"] = True
        self._settings["parallel_optimizer_config"] = {
            "optimizer_weight_shard_size": shard_size, "parallel_optimizer_threshold": threshold,
            "optimizer_level": optimizer_level}

    def pipeline(self, stages=1, output_broadcast=False, interleave=False, scheduler="1f1b"):
        if isinstance(stages, bool) or not isinstance(stages, int):
            _fail(TypeError, "pipeline-stages", "stages of pipeline() must be a whole number")
        if stages < 1:
            _fail(ValueError, "pipeline-stages", "stages of pipeline() must be positive")
        self._stages = stages
        self._settings["pipeline_stages"] = stages

    def get_pipeline_stages(self):
        return self._stages

    def load_operator_strategy_file(self, file_path):
        self._keep_strategies("LOAD", file_path)

    def save_operator_strategy_file(self, file_path):
        self._keep_strategies("SAVE", file_path)

    def _keep_strategies(self, mode, path):
        from mindspore.parallel import _op_strategy
        _op_strategy.check_path(path)
        self._strategy_file = (mode, path)

    def _without_effect(self, *args, **kwargs):
        return None

    no_init_parameters_in_compile = set_group_ckpt_save_file = print_local_norm = _without_effect
    dump_local_norm = enable_device_local_norm = transformer_opt = _without_effect
    load_param_strategy_file = save_param_strategy_file = _without_effect
    disable_strategy_file_only_for_trainable_params = _without_effect


__getattr__ = module_getattr(__name__)
