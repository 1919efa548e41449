#include "sim/cluster/id_index.h"

#include <bit>
#include <functional>
#include <utility>

namespace drydock::sim {

std::size_t NeighbourHash(std::string_view text) {
  constexpr std::size_t kMaxDigits = 9;  // more would not fit the number below
  std::size_t prefix = text.size();
  std::size_t number = 0;
  std::size_t unit = 1;
  while (prefix > 0 && text.size() - prefix < kMaxDigits && text[prefix - 1] >= '0' &&
         text[prefix - 1] <= '9') {
    number += unit * static_cast<std::size_t>(text[--prefix] - '0');
    unit *= 10;
  }
  return std::hash<std::string_view>{}(text.substr(0, prefix)) + number;
}

void IdIndex::Reserve(std::size_t texts) {
  const std::size_t cells = std::bit_ceil(texts + texts / 2 + 8);
  if (cells > cells_.size()) {
    Resize(cells);
  }
}

void IdIndex::Resize(std::size_t cells) {
  const std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells));
  for (const Cell& cell : old) {
    if (cell.position != kEmpty) {
      Place(cell);
    }
  }
}

void IdIndex::Place(Cell cell) {
  std::size_t i = cell.hash & mask();
  while (cells_[i].position != kEmpty) {
    i = (i + 1) & mask();
  }
  cells_[i] = cell;
}

void IdIndex::Insert(std::string_view text, std::uint32_t position) {
  Reserve(used_ + 1);
  Place({.hash = HashOf(text), .position = position});
  ++used_;
}

void IdIndex::Erase(std::string_view text, std::uint32_t position) {
  std::size_t hole = HashOf(text) & mask();
  while (cells_[hole].position != position) {
    hole = (hole + 1) & mask();
  }
  cells_[hole] = Cell{};
  --used_;
  // Later cells of the run move up, unless that would put them before their own place.
  for (std::size_t i = (hole + 1) & mask(); cells_[i].position != kEmpty; i = (i + 1) & mask()) {
    const std::size_t distance_from_home = (i - (cells_[i].hash & mask())) & mask();
    const std::size_t distance_from_hole = (i - hole) & mask();
    if (distance_from_home >= distance_from_hole) {
      cells_[hole] = std::exchange(cells_[i], Cell{});
      hole = i;
    }
  }
}

}  // namespace drydock::sim
