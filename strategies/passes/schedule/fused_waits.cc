#include "strategies/passes/schedule/fused_waits.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

/// What states of memory wait for while kernels are fused.
///
/// An update waits for all that read its weight before. Where a reader became part of a fused
/// kernel, its result would have to come out of that kernel only for this. It is enough to wait for
/// other results of the kernel that are made of it and that somebody reads.
///
/// Example: Add(x, bias) is followed by Add(.., y) in one kernel, and nothing else reads the first
/// sum; the update of the bias waits for the second one.
///
/// Source: mindspore/ccsrc/backend/common/graph_kernel/core/update_state_formatter.cc.
namespace drydock::strategies {
namespace {

class WaitSpreader {
 public:
  explicit WaitSpreader(FusedGraph& graph) : graph_(graph) {}

  void Run() {
    ReadMembers();
    const std::size_t count = graph_.size();
    waited_.assign(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      if (graph_.at(id).kind == KernelKind::kUpdateState) {
        SpreadState(id);
      }
    }
    JoinItems(graph_);
  }

  /// One node for each result that is taken out of several.
  static void JoinItems(FusedGraph& graph) {
    std::map<std::pair<KernelId, std::int32_t>, KernelId> known;
    const std::size_t count = graph.size();
    for (std::size_t i = 0; i < count; ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      const KernelNode& node = graph.at(id);
      if (node.kind == KernelKind::kTupleGetItem) {
        const auto [first, fresh] = known.emplace(std::pair(node.inputs.front(), node.item), id);
        if (!fresh) {
          graph.Replace(id, first->second);
        }
      }
    }
    graph.Resolve();
  }

 private:
  /// Members of tuples are read as such.
  void ReadMembers() {
    const std::size_t count = graph_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      const KernelNode& node = graph_.at(id);
      if (node.kind == KernelKind::kTupleGetItem &&
          graph_.at(node.inputs.front()).kind == KernelKind::kMakeTuple) {
        graph_.Replace(id,
                       graph_.at(node.inputs.front()).inputs[static_cast<std::size_t>(node.item)]);
      }
    }
    graph_.Resolve();
  }

  /// Members of tuples instead of tuples, results instead of kernels with several.
  void SpreadState(KernelId id) {
    std::vector<KernelId> spread = {graph_.at(id).inputs.front()};
    const std::vector<KernelId> inputs = graph_.at(id).inputs;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      // What a state before waited for already is not waited for again.
      const bool kernel = graph_.at(inputs[i]).kind == KernelKind::kKernel;
      if (!kernel || !waited_[IndexOf(inputs[i])]) {
        AppendSpread(inputs[i], spread);
      }
      if (kernel) {
        waited_[IndexOf(inputs[i])] = true;
      }
    }
    graph_.at(id).inputs = std::move(spread);
  }

  void AppendSpread(KernelId id, std::vector<KernelId>& spread) {
    if (graph_.at(id).kind == KernelKind::kMakeTuple) {
      const std::vector<KernelId> members = graph_.at(id).inputs;
      for (const KernelId member : members) {
        AppendSpread(member, spread);
      }
    } else if (graph_.at(id).kind == KernelKind::kKernel && graph_.at(id).results.size() > 1) {
      const std::vector<KernelId> items = graph_.Items(id);
      spread.insert(spread.end(), items.begin(), items.end());
    } else {
      spread.push_back(id);
    }
  }

  FusedGraph& graph_;
  std::vector<bool> waited_ = {};  ///< Per node: a kernel that a state waits for.
};

/// Who reads results of one kernel besides states.
class WaitExtender {
 public:
  WaitExtender(FusedGraph& graph, const PackedLists<KernelId>& users)
      : graph_(graph), users_(users) {}

  void Extend(KernelId id) {
    FindReaders(id);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i] == kNoKernel || !waits_[i] || Writes(id, i)) {
        continue;
      }
      const std::vector<std::size_t> instead = Instead(id, i);
      if (instead != std::vector<std::size_t>{i}) {
        Wait(id, items_[i], instead);
      }
    }
  }

 private:
  void FindReaders(KernelId id) {
    const std::size_t count = graph_.at(id).results.size();
    items_.assign(count, kNoKernel);
    waits_.assign(count, false);
    read_.assign(count, false);
    for (const KernelId user : users_[IndexOf(id)]) {
      const KernelNode& node = graph_.at(user);
      if (node.kind != KernelKind::kTupleGetItem) {
        continue;
      }
      const auto item = static_cast<std::size_t>(node.item);
      items_[item] = user;
      for (const KernelId reader : users_[IndexOf(user)]) {
        const bool state = graph_.at(reader).kind == KernelKind::kUpdateState;
        waits_[item] = waits_[item] || state;
        read_[item] = read_[item] || !state;
      }
    }
  }

  [[nodiscard]] bool Writes(KernelId id, std::size_t item) const {
    return graph_.at(id).results[item].shares >= 0;
  }

  /// Results that are made of result `item`: written ones, and those that others than states read.
  std::vector<std::size_t> Instead(KernelId id, std::size_t item) {
    const BasicProgram& program = *graph_.ProgramOf(id);
    std::vector<bool> made(program.ops.size(), false);
    const auto source = static_cast<std::size_t>(program.results[item].index);
    for (std::size_t n = source; n < program.ops.size(); ++n) {
      made[n] =
          n == source || std::ranges::any_of(program.ops[n].inputs, [&](const BasicValue& input) {
            return input.source == BasicValue::Source::kResult &&
                   made[static_cast<std::size_t>(input.index)];
          });
    }
    std::vector<std::size_t> instead;
    for (std::size_t i = 0; i < program.results.size(); ++i) {
      if (made[static_cast<std::size_t>(program.results[i].index)] && (Writes(id, i) || read_[i])) {
        instead.push_back(i);
      }
    }
    return instead;
  }

  void Wait(KernelId id, KernelId item, const std::vector<std::size_t>& instead) {
    std::vector<KernelId> items;
    for (const std::size_t i : instead) {
      if (items_[i] == kNoKernel) {
        items_[i] =
            graph_.AddVirtual(KernelKind::kTupleGetItem, {id}, static_cast<std::int32_t>(i));
      }
      items.push_back(items_[i]);
    }
    for (const KernelId reader : users_[IndexOf(item)]) {
      if (graph_.at(reader).kind != KernelKind::kUpdateState) {
        continue;
      }
      std::vector<KernelId>& inputs = graph_.at(reader).inputs;
      const auto place = std::ranges::find(inputs, item);
      if (place != inputs.end()) {
        inputs.insert(inputs.erase(place), items.begin(), items.end());
      }
    }
  }

  FusedGraph& graph_;
  const PackedLists<KernelId>& users_;
  std::vector<KernelId> items_ = {};  ///< Per result: the node that takes it out.
  std::vector<bool> waits_ = {};      ///< A state waits for it.
  std::vector<bool> read_ = {};       ///< Others read it.
};

}  // namespace

void SpreadWaits(FusedGraph& graph) {
  WaitSpreader(graph).Run();
}

void ExtendWaits(FusedGraph& graph) {
  WaitSpreader::JoinItems(graph);
  const std::vector<KernelId> order = graph.Order();
  const PackedLists<KernelId> users = graph.UsersIn(order);
  WaitExtender extender(graph, users);
  for (const KernelId id : order) {
    if (graph.ProgramOf(id) != nullptr && graph.at(id).results.size() > 1) {
      extender.Extend(id);
    }
  }
  graph.DropUnread();
}

void JoinWaits(FusedGraph& graph) {
  const std::size_t count = graph.size();
  for (std::size_t i = 0; i < count; ++i) {
    const KernelId id{static_cast<std::int32_t>(i)};
    if (graph.at(id).kind != KernelKind::kUpdateState || graph.at(id).inputs.size() < 3) {
      continue;
    }
    const std::vector<KernelId> inputs = graph.at(id).inputs;
    const KernelId all =
        graph.AddVirtual(KernelKind::kMakeTuple, {inputs.begin() + 1, inputs.end()});
    graph.at(id).inputs = {inputs.front(), all};
  }
}

}  // namespace drydock::strategies
