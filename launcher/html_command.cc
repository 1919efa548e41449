#include <memory>

#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/page_files.h"

namespace drydock::launcher {
namespace {

/// `drydock html`: the page of a run that is there, or of two runs side by side.
class HtmlCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "html"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "make report.html from the reports in a folder, or compare two folders";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] folder [other_folder]"; }
  void AddFlags(FlagSet& flags) override {
    flags.AddText({"output", "FILE", "where the page goes (report.html in the last folder)"},
                  &output_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    const std::vector<std::string>& folders = flags.rest();
    if (folders.empty() || folders.size() > 2) {
      return FailCommand(FailureCode::kUsage, "one or two folders of reports are required",
                         "drydock html out, or drydock html before after");
    }
    std::vector<reports::PageRun> runs;
    for (const std::string& folder : folders) {
      DRYDOCK_TRY(reports::PageRun run, ReadRun(folder));
      runs.push_back(std::move(run));
    }
    const Result<std::string> page = reports::PageHtml(runs);
    if (!page) {
      return FailCommand(FailureCode::kNoReports, page.error().message, "run the dry run again");
    }
    const std::string path = output_.empty() ? PathIn(folders.back(), reports::kPageFile) : output_;
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
    DRYDOCK_RETURN_IF_ERROR(PrepareFolder(folder));
    DRYDOCK_RETURN_IF_ERROR(WriteFiles(
        folder,
        {{.path = slash == std::string::npos ? path : path.substr(slash + 1), .text = *page}}));
    context.out << path << "\n";
    return ExitCode::kOk;
  }

 private:
  std::string output_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeHtmlCommand() {
  return std::make_unique<HtmlCommand>();
}

}  // namespace drydock::launcher
