#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace drydock::sim {

/// Hash of a text that keeps neighbours together: texts that differ in the number at their end only
/// have hashes that differ by as much. Ids and rank keys of a job are of that kind, and come in
/// order.
[[nodiscard]] std::size_t NeighbourHash(std::string_view text);

/// Hash table from a text to the position of the record that holds the text.
///
/// Open addressing with linear probing: one memory access for the table and one for the record,
/// since every message of a million ranks looks its sender up. The texts stay with their owner:
/// `text_at(position)` gives the text of a position and must stay the same while the position is in
/// the table.
class IdIndex {
 public:
  /// Room for so many texts without rehashing.
  void Reserve(std::size_t texts);
  /// Number of texts.
  [[nodiscard]] std::size_t size() const { return used_; }

  /// Position of `text`, nothing if absent. @param text_at  callable: position -> text
  template <typename Texts>
  [[nodiscard]] std::optional<std::uint32_t> Find(std::string_view text,
                                                  const Texts& text_at) const {
    if (used_ == 0) {
      return std::nullopt;
    }
    const std::uint32_t hash = HashOf(text);
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      if (cells_[i].position == kEmpty) {
        return std::nullopt;
      }
      if (cells_[i].hash == hash && text_at(cells_[i].position) == text) {
        return cells_[i].position;
      }
    }
  }
  /// Adds a text that is not in the table.
  void Insert(std::string_view text, std::uint32_t position);
  /// Removes a text that is in the table at `position`.
  void Erase(std::string_view text, std::uint32_t position);

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t position = kEmpty;
  };

  [[nodiscard]] static std::uint32_t HashOf(std::string_view text) {
    return static_cast<std::uint32_t>(NeighbourHash(text));
  }
  [[nodiscard]] std::size_t mask() const { return cells_.size() - 1; }
  void Resize(std::size_t cells);
  void Place(Cell cell);

  std::vector<Cell> cells_;  // a power of two, at most two thirds full
  std::size_t used_ = 0;
};

}  // namespace drydock::sim
