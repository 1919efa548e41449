# Writes the text of INPUT into OUTPUT as a C++ raw string.
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"reports/page.h\"

namespace drydock::reports {

std::string_view PageTemplate() {
  static constexpr std::string_view kText = R\"drydockpage(${text})drydockpage\";
  return kText;
}

}  // namespace drydock::reports
")
