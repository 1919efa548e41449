#include "sim/cluster/metadata_store.h"

#include <utility>

#include "sim/cluster/messages/metadata.h"

namespace drydock::sim {

bool MetadataStore::Write(std::string_view name, std::string_view value) {
  if (name.empty() || name.size() > kMaxMetadataNameBytes) {
    return false;
  }
  const auto found = entries_.find(name);
  const bool replaces = found != entries_.end() && found->second.counted;
  const std::size_t freed_bytes = replaces ? name.size() + found->second.bytes.size() : 0;
  const std::size_t bytes = counted_bytes_ - freed_bytes + name.size() + value.size();
  const std::size_t entries = counted_entries_ + (replaces ? 0 : 1);
  if (bytes > limits_.metadata_bytes || entries > limits_.metadata_entries) {
    return false;
  }
  counted_bytes_ = bytes;
  counted_entries_ = entries;
  Value& slot = found != entries_.end() ? found->second : entries_[std::string(name)];
  slot.bytes = value;
  slot.counted = true;
  return true;
}

void MetadataStore::InsertIfAbsent(std::string name, std::string value) {
  entries_.try_emplace(std::move(name), Value{.bytes = std::move(value)});
}

std::optional<std::string_view> MetadataStore::Read(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return std::nullopt;
  }
  return found->second.bytes;
}

bool MetadataStore::Erase(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return false;
  }
  if (found->second.counted) {
    --counted_entries_;
    counted_bytes_ -= name.size() + found->second.bytes.size();
  }
  entries_.erase(found);
  return true;
}

}  // namespace drydock::sim
