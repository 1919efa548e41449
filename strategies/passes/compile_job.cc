#include "strategies/passes/compile_job.h"

#include <algorithm>
#include <iterator>

#include "strategies/passes/backward/fuse_kernels.h"
#include "strategies/passes/backward/recompute.h"
#include "strategies/passes/backward/regather.h"
#include "strategies/passes/backward/simplify.h"
#include "strategies/passes/backward/slice_activations.h"
#include "strategies/passes/choose/choose.h"
#include "strategies/passes/communicate/constant_sums.h"
#include "strategies/passes/communicate/fuse.h"
#include "strategies/passes/communicate/gather_halves.h"
#include "strategies/passes/communicate/merge_equal.h"
#include "strategies/passes/communicate/sum_decayed.h"
#include "strategies/passes/localize/localize.h"
#include "strategies/passes/prepare/check_graph.h"
#include "strategies/passes/prepare/clean_traced.h"
#include "strategies/passes/prepare/hand_cut.h"
#include "strategies/passes/prepare/micro_batches.h"
#include "strategies/passes/prepare/rewrite.h"
#include "strategies/passes/prepare/stages.h"
#include "strategies/passes/schedule/pipeline_schedule.h"
#include "strategies/passes/schedule/schedule.h"
#include "strategies/program/micro_nodes.h"

/// The pass pipeline: the one place that lists what runs, in order.
///
/// A network becomes a plan (prepare: what is there; choose: who is cut how), a plan becomes the
/// program of a rank (localize: slices and communication; backward; communicate: which collectives
/// go together; schedule: which kernels run, in which order). A job is compiled network by network;
/// ranks with other rows of a table that the script cuts by hand run programs of their own
/// (docs/adr/0010), so a network may have several.
namespace drydock::strategies {
namespace {

/// What is there: a step without remains, its data set, its tables.
Status Prepare(TracedPlan& plan) {
  plan.traced = CleanTraced(std::move(plan.traced));
  DRYDOCK_RETURN_IF_ERROR(CheckNotEmpty(plan.traced));
  if (!CutsOperators(plan.config.mode)) {
    return {};
  }
  DRYDOCK_RETURN_IF_ERROR(CheckInputs(plan.traced));
  DRYDOCK_RETURN_IF_ERROR(PrepareMicroBatches(plan.traced, plan.config));
  plan.traced = InsertDatasetNode(std::move(plan.traced));
  DRYDOCK_TRY(plan.hand_cuts, TakeHandCuts(plan.traced));
  if (RepeatsDatasetOnRight(plan.config) && !plan.traced.inputs.empty()) {
    plan.traced.nodes.front().attrs["dataset_repeat_dim_right"] = true;
  }
  return {};
}

/// Who is cut how.
Status Choose(TracedPlan& plan, std::vector<Region>& regions, RankId rank) {
  DRYDOCK_TRY(Assignment assignment, ChooseStrategies(plan.traced, regions, plan.config));
  plan.plans = std::move(assignment.plans);
  plan.diagnostics = std::move(assignment.diagnostics);
  plan.search = assignment.search;
  DRYDOCK_RETURN_IF_ERROR(GiveRows(plan, rank));
  CountUnknown(plan.traced, plan.diagnostics);
  NoteRecomputedEffects(plan.traced, plan.diagnostics);
  if (plan.config.pipeline_stages > 1 && plan.config.training) {
    NoteOwnerless(plan.traced, OwnersOf(plan.traced, regions, plan.config), plan.diagnostics);
  }
  return {};
}

/// A function asks for gradients (value_and_grad outside of Cells): the products of its optimizer
/// are in a graph of their own when the original looks at sums behind AllReduces.
bool AskedByFunction(const Graph& traced) {
  return std::ranges::any_of(traced.nodes, [](const Node& node) {
    return node.entry->kind == OpKind::kGradient &&
           BoolAttr(node.attrs, "of_function", false).value_or(false);
  });
}

/// What is left of the nodes and collectives behind differentiation, and which go together.
Result<Graph> Communicate(Graph local, const TracedPlan& plan) {
  const JobConfig& config = plan.config;
  // Not with several micro batches: their backward passes begin with one seed, whose sum stays.
  const bool one = config.micro_batches == 1;
  if (CutsOperators(config.mode) && one) {
    local = FoldConstantSums(std::move(local));
  }
  const bool calls = CallsStayApart(local, config);
  const ConstantWork work = one || calls ? ConstantWork::kAll : ConstantWork::kOneStep;
  const bool recomputes = AsksForRecomputation(local);
  const bool gathers_again =
      config.enable_parallel_optimizer && config.optimizer_sharding.level == 3;
  local = SimplifyGraph(std::move(local), work);
  if (!AskedByFunction(plan.traced)) {
    local = SumDecayedGradients(std::move(local), work);
  }
  local = MergeEqualNodes(std::move(local), false);
  if (recomputes) {
    // A graph that the micro batches of a pipeline call casts its weights in each of them, and
    // again.
    const bool casts_again = config.pipeline_stages > 1 && !one && !config.pipeline_interleave &&
                             StageCallsSharedGraph(local);
    local = RecomputeActivations(std::move(local), CutsOperators(config.mode) && !casts_again,
                                 gathers_again);
    DRYDOCK_TRY(local, SliceActivations(MergeEqualNodes(std::move(local)), plan));
    local = CleanLocal(std::move(local));
  }
  if (gathers_again && !recomputes) {
    local = RegatherWeights(std::move(local));
  }
  if (config.enable_parallel_optimizer) {
    local = GatherHalves(std::move(local));
  }
  return FuseCollectives(FuseKernels(std::move(local)), config);
}

/// Whose programs are wanted, and who helps to make them.
struct Wanted {
  RankId rank = {};        ///< Whose rows of tables that are cut by hand.
  RankSet stages_of = {};  ///< Whose stages get kernels; empty: all.
  const Executor* executor = nullptr;
};

Status FinishStage(LocalProgram& program, const SharedValue<TracedPlan>& from) {
  DRYDOCK_TRY(program.local, Communicate(std::move(program.local), *from));
  DRYDOCK_TRY(program.kernels, ScheduleKernels(program.local, from->config, program.stage));
  return {};
}

/// What a rank of each stage runs.
Result<std::vector<LocalProgram>> MakeLocal(TracedPlan plan, const std::vector<Region>& regions,
                                            const Wanted& wanted) {
  DRYDOCK_TRY(std::vector<LocalProgram> programs, BuildLocalPrograms(plan, regions));
  const SharedValue<TracedPlan> from(std::move(plan));
  const std::int64_t devices = StageDevices(from->config);
  std::vector<Status> outcomes(programs.size());
  const auto finish = [&](std::size_t i) {
    const auto stage = static_cast<std::int64_t>(i);
    const RankRange range{.first = stage * devices, .last = (stage + 1) * devices - 1};
    const bool asked = wanted.stages_of.ranges.empty() || programs.size() == 1 ||
                       CountRanks(Common(wanted.stages_of, {.ranges = {range}})) > 0;
    outcomes[i] = asked ? FinishStage(programs[i], from) : Status();
    programs[i].from = from;
  };
  if (wanted.executor != nullptr && programs.size() > 1) {
    ForEachIndex(*wanted.executor, programs.size(), finish);
  } else {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      finish(i);
    }
  }
  for (Status& outcome : outcomes) {
    DRYDOCK_RETURN_IF_ERROR(std::move(outcome));
  }
  return programs;
}

/// Whether the schedule of the pipeline comes to its end, before anything is cut for it.
Status ProvePipeline(const TracedPlan& plan, const std::vector<Region>& regions) {
  const JobConfig& config = plan.config;
  if (config.pipeline_stages <= 1 ||
      std::ranges::find(regions, Region::kGradient) == regions.end()) {
    return {};
  }
  DRYDOCK_TRY(PipelineScheduler scheduler, ParsePipelineScheduler(config.pipeline_scheduler));
  PipelineShape shape{.stages = config.pipeline_stages, .micros = config.micro_batches};
  // What cuts the batch, or whatever has a line: one micro batch is not cut.
  std::optional<SourcePlace> place;
  bool of_cut = false;
  for (const Node& node : plan.traced.nodes) {
    shape.chunks = std::max<std::int64_t>(shape.chunks, node.segment + 1);
    const std::optional<SourcePlace> here = PlaceOf(plan.traced, node);
    if (here && (!place || (node.entry->per_micro_batch && !of_cut))) {
      place = here;
      of_cut = node.entry->per_micro_batch;
    }
  }
  scheduler = SchedulerInForce(scheduler, config.pipeline_interleave && shape.chunks > 1);
  const auto orders = ProvenOrders(scheduler, shape);
  return orders ? Status() : tl::unexpected(WithPlace(orders.error(), place));
}

/// The programs of all stages; with tables cut by hand, for a rank and those like it.
Result<std::vector<LocalProgram>> CompileStages(Graph traced, const JobConfig& config,
                                                const Wanted& wanted) {
  DRYDOCK_RETURN_IF_ERROR(ValidateJob(config));
  TracedPlan plan{.config = config, .traced = std::move(traced)};
  DRYDOCK_RETURN_IF_ERROR(Prepare(plan));
  std::vector<Region> regions = ClassifyNodes(plan.traced);
  DRYDOCK_RETURN_IF_ERROR(ColourStages(plan.traced, regions, plan.config));
  DRYDOCK_RETURN_IF_ERROR(ProvePipeline(plan, regions));
  DRYDOCK_RETURN_IF_ERROR(Choose(plan, regions, wanted.rank));
  return MakeLocal(std::move(plan), regions, wanted);
}

/// Programs of one network, and the ranks that run each.
struct Variants {
  std::vector<LocalProgram> programs = {};
  std::vector<RankSet> ranks = {};
  std::vector<ProgramIndex> index = {};  ///< In the job.
};

/// One program per stage, for those of the stage's ranks that run the network.
Result<Variants> CompilePipeline(TracedNetwork network, const RankSet& ranks,
                                 const Wanted& wanted) {
  Variants variants;
  const std::int64_t devices = StageDevices(network.config);
  DRYDOCK_TRY(variants.programs, CompileStages(std::move(network.graph), network.config, wanted));
  for (std::int64_t stage = 0; stage < std::ssize(variants.programs); ++stage) {
    const RankRange range{.first = stage * devices, .last = (stage + 1) * devices - 1};
    variants.ranks.push_back(Common(ranks, {.ranges = {range}}));
  }
  return variants;
}

Result<Variants> CompileVariants(TracedNetwork network, const RankSet& ranks, RankId described,
                                 Wanted wanted) {
  DRYDOCK_RETURN_IF_ERROR(ValidateJob(network.config));  // Before a rank is asked for: none may be.
  const RankId first = Contains(ranks, ToInt(described))
                           ? described
                           : RankId{static_cast<std::int32_t>(ranks.ranges.front().first)};
  Variants variants;
  if (network.config.pipeline_stages > 1) {
    wanted.rank = first;
    return CompilePipeline(std::move(network), ranks, wanted);
  }
  if (!MayHaveHandCuts(network.graph)) {
    DRYDOCK_TRY(variants.programs.emplace_back(),
                Compile(std::move(network.graph), network.config, first));
    variants.ranks.push_back(ranks);
    return variants;
  }
  DRYDOCK_TRY(variants.programs.emplace_back(), Compile(network.graph, network.config, first));
  DRYDOCK_TRY(variants.ranks, RanksByRows(*variants.programs.front().from, ranks, first));
  for (std::size_t i = 1; i < variants.ranks.size(); ++i) {
    const RankId member{static_cast<std::int32_t>(variants.ranks[i].ranges.front().first)};
    DRYDOCK_TRY(variants.programs.emplace_back(), Compile(network.graph, network.config, member));
  }
  return variants;
}

/// Brings the networks of a job together.
class JobCompiler {
 public:
  JobCompiler(TracedJob traced, RankId described, const CompileHelp& help)
      : traced_(std::move(traced)),
        described_(described),
        help_(help),
        compiled_(traced_.networks.size()) {}

  Result<JobProgram> Run() {
    std::vector<std::size_t> told;
    std::vector<std::size_t> later;
    for (const TracedClass& item : traced_.classes) {
      AddNew(told, item.described);
    }
    for (const TracedClass& item : traced_.classes) {
      for (const std::size_t network : item.runs) {
        if (std::ranges::find(told, network) == told.end()) {
          AddNew(later, network);
        }
      }
    }
    for (const std::size_t network : told) {
      DRYDOCK_TRY(compiled_[network].emplace(), CompileNetwork(network));
    }
    for (const std::size_t network : later) {
      DRYDOCK_TRY(compiled_[network], CompileLater(network));
    }
    AddPrograms(told);
    AddPrograms(later);
    for (const TracedClass& item : traced_.classes) {
      AddClasses(item);
    }
    job_.config = job_.programs[ClassOf(job_, described_).described].from->config;
    return std::move(job_);
  }

 private:
  static void AddNew(std::vector<std::size_t>& list, std::size_t item) {
    if (std::ranges::find(list, item) == list.end()) {
      list.push_back(item);
    }
  }

  Result<Variants> CompileNetwork(std::size_t network) {
    if (help_.watch) {
      help_.watch(++begun_, traced_.networks.size());
    }
    RankSet ranks;
    for (const TracedClass& item : traced_.classes) {
      if (std::ranges::find(item.runs, network) != item.runs.end()) {
        ranks = Merge(ranks, item.ranks);
      }
    }
    const std::string note = traced_.networks[network].note;
    Result<Variants> variants =
        CompileVariants(std::move(traced_.networks[network]), ranks, described_,
                        {.stages_of = traced_.wanted, .executor = help_.executor});
    if (!variants && !note.empty()) {
      variants.error().notes.push_back(note);
    }
    return variants;
  }

  /// A later network with a limit is left out of the comparison, which is counted.
  Result<std::optional<Variants>> CompileLater(std::size_t network) {
    Result<Variants> variants = CompileNetwork(network);
    if (variants) {
      return std::optional<Variants>(*std::move(variants));
    }
    if (variants.error().code != ErrorCode::kUnsupported) {
      return tl::unexpected(std::move(variants).error());
    }
    job_.diagnostics.push_back(
        {.code = "not-modelled",
         .text = "a later program of the script is not compared between ranks: " +
                 variants.error().message,
         .first_place = variants.error().place,
         .kind = DiagnosticKind::kLimit});
    return std::optional<Variants>();
  }

  /// First one program of each network, then the variants of the networks.
  void AddPrograms(const std::vector<std::size_t>& networks) {
    for (const bool first : {true, false}) {
      for (const std::size_t network : networks) {
        std::optional<Variants>& variants = compiled_[network];
        for (std::size_t i = first ? 0 : 1; variants && i < (first ? 1 : variants->ranks.size());
             ++i) {
          variants->index.push_back(job_.programs.size());
          job_.programs.push_back(std::move(variants->programs[i]));
        }
      }
    }
  }

  /// A class whose networks have variants falls apart by them.
  void AddClasses(const TracedClass& traced) {
    std::vector<RankClass> pieces = {{.ranks = traced.ranks}};
    for (const std::size_t network : traced.runs) {
      std::vector<RankClass> finer;
      for (RankClass& piece : pieces) {
        AddPieces(std::move(piece), network, network == traced.described, finer);
      }
      pieces = std::move(finer);
    }
    std::ranges::move(pieces, std::back_inserter(job_.classes));
  }

  void AddPieces(RankClass piece, std::size_t network, bool described,
                 std::vector<RankClass>& finer) const {
    const std::optional<Variants>& variants = compiled_[network];
    if (!variants) {
      piece.runs.emplace_back();
      finer.push_back(std::move(piece));
      return;
    }
    for (std::size_t i = 0; i < variants->ranks.size(); ++i) {
      RankClass part = piece;
      part.ranks = Common(piece.ranks, variants->ranks[i]);
      part.runs.emplace_back(variants->index[i]);
      part.described = described ? variants->index[i] : part.described;
      if (!part.ranks.ranges.empty()) {
        finer.push_back(std::move(part));
      }
    }
  }

  TracedJob traced_;
  RankId described_;
  const CompileHelp& help_;
  std::size_t begun_ = 0;
  std::vector<std::optional<Variants>> compiled_;  ///< Per network; nullopt: beyond our limits.
  JobProgram job_ = {};
};

}  // namespace

TracedJob JobOf(Graph graph, const JobConfig& config) {
  TracedJob job;
  job.networks.push_back({.graph = std::move(graph), .config = config});
  job.classes.push_back({.ranks = AllRanks(config.world_size), .runs = {0}});
  return job;
}

Result<LocalProgram> Compile(Graph traced, const JobConfig& config, RankId rank) {
  DRYDOCK_TRY(std::vector<LocalProgram> stages,
              CompileStages(std::move(traced), config, {.rank = rank}));
  return std::move(stages[StageOf(config, rank)]);
}

Result<JobProgram> CompileJob(TracedJob job, RankId described, const CompileHelp& help) {
  return JobCompiler(std::move(job), described, help).Run();
}

}  // namespace drydock::strategies
