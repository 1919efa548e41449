#include "launcher/commands.h"

namespace drydock::launcher {
namespace {

/// Text that roff takes for text: no line begins a request, no dash is a hyphen.
std::string Escaped(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char character : text) {
    if (line_start && (character == '.' || character == '\'')) {
      escaped += "\\&";
    }
    if (character == '\\') {
      escaped += "\\e";
    } else if (character == '-') {
      escaped += "\\-";
    } else {
      escaped += character;
    }
    line_start = character == '\n';
  }
  return escaped;
}

std::string FlagEntries(const FlagSet& flags, FlagOrigin origin) {
  std::string text;
  for (const FlagSpec& spec : flags.SpecsOf(origin)) {
    text += ".TP\n\\fB\\-\\-" + Escaped(spec.name) + "\\fR";
    if (!spec.value.empty()) {
      text += " \\fI" + Escaped(spec.value) + "\\fR";
    }
    text += "\n" + Escaped(spec.help) + "\n";
  }
  return text;
}

constexpr std::string_view kDescription =
    R"(With \fB\-\-sim_level\fR the job is inspected: every rank is compiled and accounted for in this
process, without devices, and reports are written to the log folder. Without it the job is started:
\fB\-\-local_worker_num\fR processes on this node, of \fB\-\-worker_num\fR in all, and the scheduler if
\fB\-\-master_addr\fR is an address of this machine.
.PP
Flags end at the first word that is none; everything from there on belongs to the script. Names may be
cut short while they fit one flag only.
.PP
\fItask_script\fR is a Python script, \fBpython\fR, \fBpython3\fR or \fBpytest\fR with arguments, an
executable file, or the name of a program in PATH.
)";

constexpr std::string_view kTail =
    R"(.SH ENVIRONMENT OF THE RANKS
MS_ROLE, MS_SCHED_HOST, MS_SCHED_PORT (only where ranks register themselves), MS_WORKER_NUM,
MS_TOPO_TIMEOUT, MS_NODE_ID, MS_NODE_RANK, RANK_ID, RANK_SIZE, DEVICE_ID; RANK, WORLD_SIZE, LOCAL_RANK,
LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT; with \-\-rendezvous=launcher also PADDLE_*.
.SH FILES
.TP
.I worker_<rank>.log
output of a rank; numbered by local index where the rank is not known
.TP
.I scheduler.log
what the scheduler saw
.TP
.I msrun_status.json
why a job failed
.TP
.I msrun.pids
processes of a job that was not waited for
.SH EXIT STATUS
0 all ranks ended well (with \-\-join=False: have started); 1 a rank failed; 2 wrong usage; 3 refused
before anything was started; 4 the cluster did not form; 5 a defect of msrun; 6 program or strategy
rejected; 7 a limit that was asked for is exceeded; 8 not handled; 128+n ended by signal n.
.SH EXAMPLES
.nf
msrun \-\-sim_level=1 \-\-worker_num=4096 net.py
msrun \-\-worker_num=8 \-\-local_worker_num=8 \-\-join=True net.py
msrun \-\-worker_num=16 \-\-local_worker_num=8 \-\-master_addr=10.0.0.1 \-\-node_rank=1 \-\-join=True net.py
.fi
)";

/// `drydock man`: the manual page of msrun, from the same table as its help.
class ManCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "man"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "print the manual page of msrun";
  }
  [[nodiscard]] std::string Usage() const override { return ""; }
  void AddFlags(FlagSet& /*flags*/) override {}
  [[nodiscard]] Result<ExitCode> Run(const FlagSet& /*flags*/, const Context& context) override {
    const std::unique_ptr<Command> msrun = MakeMsrunCommand();
    FlagSet flags;
    msrun->AddFlags(flags);
    context.out << ".TH MSRUN 1\n.SH NAME\nmsrun \\- " << Escaped(msrun->Summary())
                << "\n.SH SYNOPSIS\n.B msrun\n"
                << Escaped(msrun->Usage()) << "\n.SH DESCRIPTION\n"
                << kDescription << ".SH OPTIONS\nFlags of the original:\n"
                << FlagEntries(flags, FlagOrigin::kMsrun) << ".PP\nFurther flags:\n"
                << FlagEntries(flags, FlagOrigin::kDrydock) << kTail;
    return ExitCode::kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeManCommand() {
  return std::make_unique<ManCommand>();
}

}  // namespace drydock::launcher
