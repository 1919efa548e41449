#include "sim/cluster/metadata_store.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "base/checked.h"
#include "sim/cluster/messages/metadata.h"

namespace drydock::sim {
namespace {

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && !text.empty() ? std::optional(number)
                                                              : std::nullopt;
}

}  // namespace

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

std::optional<std::string> MetadataStore::Add(std::string_view name, std::string_view change) {
  const auto stored = Number(Read(name).value_or("0"));
  const auto difference = Number(change);
  const auto sum =
      stored && difference ? AddChecked(*stored, *difference) : Result<std::int64_t>(0);
  if (!stored || !difference || !sum) {
    return std::nullopt;
  }
  std::string text = std::to_string(*sum);
  return Write(name, text) ? std::optional(std::move(text)) : std::nullopt;
}

bool MetadataStore::IsOwn(std::string_view name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && !found->second.counted;
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
