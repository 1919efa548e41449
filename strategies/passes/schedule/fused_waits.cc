#include "strategies/passes/schedule/fused_waits.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
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
    const std::size_t count = graph.size();
    std::vector<std::uint32_t> room(count, 0);  // Per node: largest number of a result taken out.
    const auto each_item = [&](const auto& visit) {
      for (std::size_t i = 0; i < count; ++i) {
        const KernelNode& node = graph.at(KernelId{static_cast<std::int32_t>(i)});
        if (node.kind == KernelKind::kTupleGetItem) {
          visit(KernelId{static_cast<std::int32_t>(i)}, IndexOf(node.inputs.front()),
                static_cast<std::uint32_t>(node.item));
        }
      }
    };
    each_item([&room](KernelId, std::size_t from, std::uint32_t item) {
      room[from] = std::max(room[from], item + 1);
    });
    std::vector<std::size_t> begin(count, 0);
    std::size_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
      begin[i] = end;
      end += room[i];
    }
    std::vector<KernelId> known(end, kNoKernel);
    each_item([&](KernelId id, std::size_t from, std::uint32_t item) {
      KernelId& first = known[begin[from] + item];
      if (first == kNoKernel) {
        first = id;
      } else {
        graph.Replace(id, first);
      }
    });
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

/// Lets states wait for other results of kernels than those that are read only for this, and leaves
/// out what nobody reads then.
class WaitExtender {
 public:
  WaitExtender(FusedGraph& graph, const PackedLists<KernelId>& users)
      : graph_(graph), users_(users), readers_(graph.size()) {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      readers_[i] = users[i].size();
    }
    ++readers_[IndexOf(graph.graph().result)];  // Who wants the step.
    for (const KernelId id : graph.graph().after_step) {
      ++readers_[IndexOf(id)];
    }
  }

  void Run(const std::vector<KernelId>& order) {
    std::vector<KernelId> several;  // Fused kernels with several results.
    std::ranges::copy_if(order, std::back_inserter(several), [this](KernelId id) {
      return graph_.ProgramOf(id) != nullptr && graph_.at(id).results.size() > 1;
    });
    for (const KernelId id : several) {
      Extend(id);
    }
    for (const KernelId id : several) {
      DropUnread(id);
    }
    graph_.Resolve();
  }

 private:
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
        added_.push_back(items_[i]);
        readers_.push_back(0);
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
        if (readers_[IndexOf(reader)] > 0) {
          std::ranges::for_each(items, [this](KernelId now) { AddReader(now); });
          RemoveReader(item);
        }
      }
    }
  }

  /// What nobody read before reads something from now on.
  void AddReader(KernelId read) {
    open_.assign(1, read);
    while (!open_.empty()) {
      const KernelId id = open_.back();
      open_.pop_back();
      if (readers_[IndexOf(id)]++ == 0) {
        OpenInputs(id);
      }
    }
  }

  /// What nobody reads any more reads nothing itself.
  void RemoveReader(KernelId read) {
    open_.assign(1, read);
    while (!open_.empty()) {
      const KernelId id = open_.back();
      open_.pop_back();
      if (--readers_[IndexOf(id)] == 0) {
        OpenInputs(id);
      }
    }
  }

  void OpenInputs(KernelId id) {
    const std::vector<KernelId>& inputs = graph_.at(id).inputs;
    open_.insert(open_.end(), inputs.begin(), inputs.end());
  }

  void DropUnread(KernelId id) {
    std::vector<KernelId> items;
    for (; next_added_ < added_.size() && graph_.at(added_[next_added_]).inputs.front() == id;
         ++next_added_) {
      items.push_back(added_[next_added_]);
    }
    for (const KernelId user : users_[IndexOf(id)]) {
      if (readers_[IndexOf(user)] == 0) {
        continue;
      }
      if (graph_.at(user).kind != KernelKind::kTupleGetItem) {
        return;
      }
      items.push_back(user);
    }
    if (!items.empty()) {
      graph_.DropUnread(id, items);
    }
  }

  FusedGraph& graph_;
  const PackedLists<KernelId>& users_;
  std::vector<std::size_t> readers_;  ///< Per node: how many read it that the step needs.
  std::vector<KernelId> open_ = {};
  std::vector<KernelId> added_ = {};  ///< Nodes that take results out, as kernels come.
  std::size_t next_added_ = 0;        ///< The first of those of kernels to come.
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
  WaitExtender(graph, users).Run(order);
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
