# Writes the bytes of INPUT into OUTPUT as a C++ array of characters.
file(READ "${INPUT}" bytes HEX)
# Byte by byte: compilers need not take a literal of more than 65,536 characters.
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
string(REGEX REPLACE "(('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',))" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"reports/page.h\"

namespace drydock::reports {

std::string_view PageTemplate() {
  static constexpr char kText[] = {
    ${bytes}};
  return {kText, sizeof kText};
}

}  // namespace drydock::reports
")
