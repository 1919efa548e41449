"""Fusion of collectives: what comm_fusion and its relatives leave behind, and where they contradict each other.

Switches and thresholds change in the order of the calls, and within one dictionary in the order of its keys:
{"openstate": False, "allreduce": auto} fuses, the other way round nothing does.
Source: mindspore/python/mindspore/parallel/_auto_parallel_context.py (set_comm_fusion).
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.frames import place_text, user_place
from mindspore._drydock.session import session

DEFAULTS = {
    "enable_all_reduce_fusion": False, "enable_all_gather_fusion": False, "enable_reduce_scatter_fusion": False,
    "fusion_threshold_mb": 64, "allgather_fusion_threshold_mb": 64, "reducescatter_fusion_threshold_mb": 64,
    "data_parallel_fusion_threshold_mb": -1, "fusion_threshold_is_set": False,
}
_NAMES = {"allreduce": ("enable_all_reduce_fusion", "fusion_threshold_mb"),
          "allgather": ("enable_all_gather_fusion", "allgather_fusion_threshold_mb"),
          "reducescatter": ("enable_reduce_scatter_fusion", "reducescatter_fusion_threshold_mb")}
_JOB = {"all_reduce": "enable_all_reduce_fusion", "all_gather": "enable_all_gather_fusion",
        "reduce_scatter": "enable_reduce_scatter_fusion", "all_reduce_mb": "fusion_threshold_mb",
        "all_gather_mb": "allgather_fusion_threshold_mb", "reduce_scatter_mb": "reducescatter_fusion_threshold_mb",
        "data_parallel_mb": "data_parallel_fusion_threshold_mb"}


def whole_config(given):
    """A comm_fusion dictionary with the entries that the script left out."""
    config = {"openstate": True, **{name: {"mode": "auto", "config": None} for name in _NAMES}}
    return {**config, **(given or {})}


class Fusion:
    """State of one process; `settings` holds the names that auto_parallel_context() answers."""

    def __init__(self):
        self.settings = dict(DEFAULTS)
        self.splits = []
        self._split_place = None
        self._places = {}  # name of a threshold: where it was set last
        self._told = False  # that a split and a size are set
        self._numbered = None  # name of the first parameter with a fusion number of its own

    def reset(self):
        self.__init__()

    def set_threshold(self, name, value):
        self.settings[name] = value
        if name == "fusion_threshold_mb":
            self.settings["data_parallel_fusion_threshold_mb"] = value
        self._places[name] = user_place()

    def split(self, indices):
        """Parts of the gradients by their last members; switches fusion on."""
        if self.splits and self.splits != indices:
            session.warn("%s: the split %s of gradients takes the place of %s from %s; leave one of them out"
                         % (place_text(user_place()), indices, self.splits, place_text(self._split_place)))
        self.splits, self._split_place = list(indices), user_place()
        self.settings["enable_all_reduce_fusion"] = True

    def apply(self, config):
        """A comm_fusion dictionary, key by key."""
        closed_by = "openstate" if config.get("openstate") is False else None
        keys = list(config)
        for name, item in config.items():
            if name == "openstate":
                if item is False:
                    self.settings.update({switch: False for switch, _ in _NAMES.values()})
                continue
            switch, threshold = _NAMES[name]
            self.settings[switch] = True
            if item["mode"] == "index":
                self.split(item["config"])
            else:
                self.set_threshold(threshold, item["config"] if item["mode"] == "size" else DEFAULTS[threshold])
            if closed_by:
                self._warn_order(name, keys.index(name) > keys.index(closed_by))

    @staticmethod
    def _warn_order(name, reopened):
        place = place_text(user_place())
        if reopened:
            session.warn("%s: entry '%s' behind 'openstate': False switches its fusion on again; leave the entry out "
                         "to fuse nothing, or 'openstate' to fuse" % (place, name))
        else:
            session.warn("%s: 'openstate': False behind entry '%s' switches its fusion off; leave 'openstate' out to "
                         "fuse, or the entry to fuse nothing" % (place, name))

    def note_number(self, parameter):
        """Called for each parameter with a number of its own."""
        if self._numbered is None and self.settings["enable_all_reduce_fusion"]:
            self._numbered = parameter.name
            session.warn("comm_fusion of parameter '%s' (%d) goes for nothing: where operators are cut, fusion numbers all "
                         "gradients anew; use 'size' in comm_fusion={'allreduce': ...} to part them"
                         % (parameter.name, parameter.comm_fusion))

    def _warn_of_two_rules(self):
        """A split and a size say different things of the same gradients."""
        sized = self._places.get("fusion_threshold_mb")
        if self.splits and sized is not None and not self._told:
            self._told = True
            session.warn("%s: gradients are parted by the split %s, and by size (%s) as well; leave one of them out"
                         % (place_text(self._split_place), self.splits, place_text(sized)))

    def job_section(self, cuts_operators):
        """For the "job" section of a graph document; None if nothing was set."""
        self._warn_of_two_rules()
        threshold = self.settings["fusion_threshold_mb"]
        if self.settings["enable_all_reduce_fusion"] and threshold == 0:
            place = place_text(self._places.get("fusion_threshold_mb"))
            if cuts_operators:
                raise user_error(RuntimeError, "comm_fusion:threshold",
                                 "a fusion threshold of 0 MB (%s) is refused where operators are cut" % place,
                                 "give 'size' a config of 1 or more, or leave 'allreduce' out of comm_fusion")
            session.warn("%s: a fusion threshold of 0 MB switches fusion off; give it 1 or more to fuse, or leave it out"
                         % place)
        section = {name: self.settings[key] for name, key in _JOB.items()}
        section["split_indices"] = self.splits
        return None if section == _PLAIN else section


_PLAIN = {**{name: DEFAULTS[key] for name, key in _JOB.items()}, "split_indices": []}
fusion = Fusion()
