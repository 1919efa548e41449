#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/json_writer.h"

/// One table of fields per report struct, from which JSON, JSON Schema and the field lists of
/// docs/reports.md are written. A struct takes part by having
///
///     static constexpr std::string_view kTypeName = "RankClass";       // $defs name in the schema
///     static constexpr std::string_view kMeaning = "Ranks that ...";   // one sentence
///     template <typename Visitor>
///     static void Fields(Visitor& field) {
///       field("ranks", &RankClass::ranks, "Ranks in range notation: 0-3,8.");
///     }
///
/// The texts in `Fields` are the members' documentation. Fields of type std::optional are left out
/// of the JSON when empty; all others are always there. A fourth argument lists the only texts a
/// field may hold.
namespace drydock::reports {

template <typename T>
concept Described = requires {
  { T::kTypeName } -> std::convertible_to<std::string_view>;
  { T::kMeaning } -> std::convertible_to<std::string_view>;
};

/// Texts a field may hold; empty = any.
using AllowedTexts = std::initializer_list<std::string_view>;

template <typename T>
struct FieldType {
  using Item = T;
  static constexpr bool kOptional = false;
  static constexpr bool kList = false;
};
template <typename T>
struct FieldType<std::optional<T>> : FieldType<T> {
  static constexpr bool kOptional = true;
};
template <typename T>
struct FieldType<std::vector<T>> {
  using Item = T;
  static constexpr bool kOptional = false;
  static constexpr bool kList = true;
};

/// Writes any field value; structs by their table. Lists of plain values stand on one line.
template <typename T>
void WriteValue(JsonWriter& writer, const T& value) {
  if constexpr (Described<T>) {
    writer.BeginObject();
    auto write_field = [&](std::string_view name, auto member, std::string_view /*doc*/,
                           AllowedTexts /*allowed*/ = {}) {
      const auto& field = value.*member;
      if constexpr (requires { field.has_value(); }) {
        if (field) {
          writer.Key(name);
          WriteValue(writer, *field);
        }
      } else {
        writer.Key(name);
        WriteValue(writer, field);
      }
    };
    T::Fields(write_field);
    writer.EndObject();
  } else if constexpr (FieldType<T>::kList) {
    writer.BeginArray(!Described<typename FieldType<T>::Item>);
    for (const auto& item : value) {
      WriteValue(writer, static_cast<const typename FieldType<T>::Item&>(item));
    }
    writer.EndArray();
  } else if constexpr (std::same_as<T, bool>) {
    writer.Boolean(value);
  } else if constexpr (std::same_as<T, double>) {
    writer.Number(value);
  } else if constexpr (std::integral<T>) {
    writer.Integer(static_cast<std::int64_t>(value));
  } else {
    writer.Text(value);
  }
}

/// JSON text of a report.
template <Described T>
[[nodiscard]] std::string JsonText(const T& report) {
  JsonWriter writer;
  WriteValue(writer, report);
  return std::move(writer).Take();
}

/// What a table says about one field, with the type erased.
struct FieldFacts {
  std::string name = {};
  std::string json_type = {};    ///< "integer", "string", "boolean", "number" or "object".
  std::string object_name = {};  ///< kTypeName of the struct for "object".
  bool list = false;
  bool optional = false;
  std::string doc = {};
  std::vector<std::string> allowed = {};
};

/// What a table says about one struct.
struct TypeFacts {
  std::string name = {};
  std::string meaning = {};
  std::vector<FieldFacts> fields = {};
};

template <typename T>
[[nodiscard]] std::string_view JsonTypeOf() {
  if constexpr (Described<T>) {
    return "object";
  } else if constexpr (std::same_as<T, bool>) {
    return "boolean";
  } else if constexpr (std::same_as<T, double>) {
    return "number";
  } else if constexpr (std::integral<T>) {
    return "integer";
  } else {
    return "string";
  }
}

/// Facts of `T` and of every struct inside it, each once, outermost first.
template <Described T>
void CollectTypes(std::vector<TypeFacts>& types) {
  for (const TypeFacts& known : types) {
    if (known.name == T::kTypeName) {
      return;
    }
  }
  const std::size_t index = types.size();
  types.push_back({.name = std::string(T::kTypeName), .meaning = std::string(T::kMeaning)});
  auto collect_field = [&]<typename Member>(std::string_view name, Member T::*,
                                            std::string_view doc, AllowedTexts allowed = {}) {
    using Field = FieldType<Member>;
    FieldFacts facts = {.name = std::string(name),
                        .json_type = std::string(JsonTypeOf<typename Field::Item>()),
                        .list = Field::kList,
                        .optional = Field::kOptional,
                        .doc = std::string(doc),
                        .allowed = {allowed.begin(), allowed.end()}};
    if constexpr (Described<typename Field::Item>) {
      facts.object_name = std::string(Field::Item::kTypeName);
      CollectTypes<typename Field::Item>(types);
    }
    types[index].fields.push_back(std::move(facts));
  };
  T::Fields(collect_field);
}

}  // namespace drydock::reports
