// `drydock explain CODE`: the page of an error code, as docs/errors.md has it.
//
// The pages are installed as they stand in the tree (share/drydock/errors.md, and errors.zh.md in
// Chinese), so what a user reads at the terminal, what stands in the documentation and what the
// tests run is one text. A page begins at "## CODE".

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/install_paths.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxPageBytes = 1 << 20;

struct Page {
  std::string_view code = {};
  std::string_view text = {};  ///< From its heading to the next one.
};

std::vector<Page> PagesOf(std::string_view document) {
  constexpr std::string_view kHeading = "\n## ";
  std::vector<Page> pages;
  std::size_t begin = document.find(kHeading);
  while (begin != std::string_view::npos) {
    ++begin;
    const std::size_t end = document.find(kHeading, begin);
    const std::string_view text =
        document.substr(begin, end == std::string_view::npos ? end : end - begin);
    pages.push_back({text.substr(3, text.find('\n') - 3), text});
    begin = end;
  }
  return pages;
}

/// What the page says first behind its status: "A port is not from 1024 to 65535."
std::string Gist(const Page& page) {
  std::string text(page.text.substr(std::min(page.text.size(), page.text.find("\n\n") + 2)));
  text.resize(std::min(text.size(), text.find("\n\n")));
  std::ranges::replace(text, '\n', ' ');
  for (const std::string_view stop : {". ", "。"}) {
    const std::size_t status = text.find(stop);
    if (status == std::string::npos) {
      continue;
    }
    text.erase(0, status + stop.size());
    text.resize(std::min(text.size(), text.find(stop) + (stop.size() == 2 ? 1 : stop.size())));
    break;
  }
  return text;
}

/// "zh" if the environment asks for Chinese messages. Source: POSIX, order of LC_ALL, LC_MESSAGES,
/// LANG.
std::string_view LanguageOf(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const auto value = environment.find(name);
    if (value != environment.end() && !value->second.empty()) {
      return value->second.starts_with("zh") ? "zh" : "en";
    }
  }
  return "en";
}

class ExplainCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "explain"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "print what an error code means, with an example and its mend";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] [CODE]"; }
  void AddFlags(FlagSet& flags) override {
    flags.AddText({"language", "en|zh", "language of the page (by LC_ALL, LC_MESSAGES, LANG)"},
                  &language_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() > 1) {
      return FailCommand(FailureCode::kUsage, "one code is expected",
                         "'drydock explain' lists the codes");
    }
    DRYDOCK_TRY(const std::string document, Document(context.environment));
    const std::vector<Page> pages = PagesOf(document);
    if (flags.rest().empty()) {
      for (const Page& page : pages) {
        std::string code(page.code);
        code.resize(std::max<std::size_t>(code.size() + 1, 20), ' ');
        context.out << code << Gist(page) << "\n";
      }
      return ExitCode::kOk;
    }
    return Print(pages, flags.rest().front(), context);
  }

 private:
  [[nodiscard]] Result<std::string> Document(const Environment& environment) const {
    const std::string_view language = language_.empty() ? LanguageOf(environment) : language_;
    if (language != "en" && language != "zh") {
      return FailCommand(FailureCode::kUsage,
                         "no pages in the language '" + std::string(language) + "'",
                         "--language=en or --language=zh");
    }
    DRYDOCK_TRY(const std::string program, ProgramPath());
    const std::string path =
        PathIn(PathsFor(program).pages_folder, language == "zh" ? "errors.zh.md" : "errors.md");
    auto text = ReadFile(path, kMaxPageBytes);
    if (!text) {
      return FailCommand(FailureCode::kNoTracer, text.error().message, "install drydock again");
    }
    return "\n" + *std::move(text);
  }

  [[nodiscard]] static Result<ExitCode> Print(const std::vector<Page>& pages, std::string code,
                                              const Context& context) {
    std::ranges::transform(code, code.begin(), [](char letter) {
      return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    });
    const auto found = std::ranges::find(pages, std::string_view(code), &Page::code);
    if (found != pages.end()) {
      context.out << found->text;
      return ExitCode::kOk;
    }
    std::vector<std::string_view> codes;
    codes.reserve(pages.size());
    for (const Page& page : pages) {
      codes.push_back(page.code);
    }
    const std::string nearest = NearestWord(code, codes);
    return FailCommand(
        FailureCode::kUsage, "'" + code + "' is not an error code",
        nearest.empty() ? "'drydock explain' lists the codes" : "did you mean '" + nearest + "'?");
  }

  std::string language_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace drydock::launcher
