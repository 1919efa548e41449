"""What this run of the script is: the rank it plays, the job, and the programs recorded so far."""
import os

from mindspore._drydock.rank import rank_int, rank_text

RANKS_PER_NODE = 8
STEPS_THAT_MATTER = 6  # memory has settled after as many
RANK_VARIABLES = ("RANK_ID", "OMPI_COMM_WORLD_RANK")
LOCAL_VARIABLES = ("DEVICE_ID", "OMPI_COMM_WORLD_LOCAL_RANK")


def _number(name, fallback):
    try:
        return int(os.environ.get(name, fallback))
    except ValueError:
        return fallback


class Session:
    def __init__(self):
        self.rank_number = _number("RANK_ID", 0)
        self.world_size = _number("RANK_SIZE", 1)
        self.compat = os.environ.get("DRYDOCK_TRACE_COMPAT", "")  # MindSpore release to emulate
        self.release = os.environ.get("DRYDOCK_INSTALLED_RELEASE", "")  # of a MindSpore that is installed
        self.recompute_layers = bool(os.environ.get("DRYDOCK_TRACE_RECOMPUTE"))  # as if the script did so
        self.shard_optimizer = bool(os.environ.get("DRYDOCK_TRACE_SHARD"))  # as if the script did so
        self.layers = []           # (class, list, number) of layers that recompute for this, or could
        self.steps = max(1, _number("DRYDOCK_STEPS", 1))
        self.rank = rank_int(self.rank_number)
        self.local_rank = rank_int(self.rank_number, lambda rank: rank % RANKS_PER_NODE,
                                   "(rank mod %d)" % RANKS_PER_NODE)
        self.communication_started = False
        self.groups = {}           # name -> ranks of create_group
        self.depth = 0             # > 0 while a compiled function is being traced
        self.scope = "Default"
        self.in_cell = False       # a construct() is running
        self.in_own_construct = False  # one that the script defines
        self.layer = None          # (line that makes the cell that runs, line that runs), see nn/cell.py
        self.in_micro_batch = False  # what is recorded is a graph that micro batches call
        self.phase = "forward"
        self.stage = -1
        self.segment = -1
        self.call_steps = None     # steps that the compiled call on the way stands for; None: its inputs say it
        self.data_sink = False  # its inputs come from a queue on the device
        self.branches = None       # the running construct() as branches.py sees it
        self.behind_branch = False  # a branch on a tensor's value was decided: what follows may be left out
        self.repeating = False     # it runs once more, for another outcome of a branch
        self.strategy_cuts = False  # the script has given a strategy that needs more than one device
        self.shards_functions = False  # shard() of a Cell or a function was called
        self.in_shard = False      # inside of such a function
        self.next_strategy = None  # (in_strategy, out_strategy) for the next operator that is recorded
        self.extra_attrs = {}      # attributes that every recorded operator gets
        self.compute_dtype = None  # of Cell.to_float
        self.operator_types = None  # of amp.auto_mixed_precision by operator
        self.program = None        # the one being recorded
        self.programs = []         # all, in order
        self.read_zeros = False    # the script has looked at values that were computed
        self.fitted_examples = {}  # id of a tensor with open extents -> extents that its network wants
        self.failures = []         # exceptions that ended the recording of a network
        self.warnings = []         # {"kind", "text"}, first occurrence only
        self._limits_said = set()  # texts without their lines
        self.compile_at_once = True  # False under the launcher, which compiles after the script
        self.last_compile = None   # facts about the last compile of this process, as a dictionary

    def warn(self, text, kind="note"):
        """Something the user should know. `kind`: "note"; "limit": the dry run leaves it out; "failure": of the script, behind its
        network; "no-init". The C++ side reads the word (trace_result.cc)."""
        warning = {"kind": kind, "text": text}
        if warning not in self.warnings:
            self.warnings.append(warning)

    def warn_limit(self, text, at_line=False):
        """Something the dry run leaves out: counted in the summary, an error under --strict.

        `at_line`: with the line of the script that asks for it; said once, for the first such line.
        """
        if at_line:
            if text in self._limits_said:
                return
            self._limits_said.add(text)
            from mindspore._drydock import frames
            text += " (%s)" % frames.place_text(frames.user_place())
        self.warn(text, "limit")


session = Session()


class _RankEnvironment(type(os.environ)):
    """The process environment, with the rank's variables as rank-dependent texts."""

    def __getitem__(self, key):
        value = super().__getitem__(key)
        if key in RANK_VARIABLES and value == str(session.rank_number):
            return rank_text(session.rank)
        if key in LOCAL_VARIABLES and value == str(session.rank_number % RANKS_PER_NODE):
            return rank_text(session.local_rank)
        return value


def watch_environment():
    os.environ.__class__ = _RankEnvironment
