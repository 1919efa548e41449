// What people type who come from another launcher, from a text processor or from another folder.
//
// A word that is refused is looked at once more: names of torchrun, mpirun, srun, accelerate and
// paddle.distributed.launch; dashes, digits and signs that a text processor or an input method made
// wide ("—sim_level＝1"); a script that differs in case or by a letter from one that is there. What
// is found is a hint, never done.

#include "launcher/typed_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"

namespace drydock::launcher {
namespace {

/// Names that other launchers give to a flag, or that people guess, and ours.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"nproc_per_node", "local_worker_num"},
    {"nproc", "local_worker_num"},
    {"npernode", "local_worker_num"},
    {"ntasks_per_node", "local_worker_num"},
    {"gpus_per_node", "local_worker_num"},
    {"N", "local_worker_num"},
    {"n", "worker_num"},
    {"np", "worker_num"},
    {"ntasks", "worker_num"},
    {"world_size", "worker_num"},
    {"rank_size", "worker_num"},
    {"group_size", "worker_num"},
    {"device_num", "worker_num"},
    {"device_count", "worker_num"},
    {"ranks", "worker_num"},
    {"size", "worker_num"},
    {"num_processes", "worker_num"},
    {"workers", "worker_num"},
    {"num_workers", "worker_num"},
    {"gpus", "worker_num"},
    {"npus", "worker_num"},
    {"num_gpus", "worker_num"},
    {"num_npus", "worker_num"},
    {"machine_rank", "node_rank"},
    {"rank", "node_rank"},
    {"rank_id", "sim_rank_id"},
    {"rdzv_endpoint", "master_addr"},
    {"main_process_ip", "master_addr"},
    {"master", "master_addr"},
    {"host", "master_addr"},
    {"hostfile", "master_addr"},
    {"main_process_port", "master_port"},
    {"port", "master_port"},
    {"bind_to", "bind_core"},
    {"map_by", "bind_core"},
    {"output", "log_dir"},
    {"output_dir", "log_dir"},
    {"out", "log_dir"},
    {"memory", "device_memory"},
    {"max_device_memory", "device_memory"},
    {"interpreter", "python"},
    {"dry_run", "sim_level"},
    {"dryrun", "sim_level"},
    {"simulate", "sim_level"},
    {"simulation", "sim_level"},
    {"simulation_level", "sim_level"},
    {"level", "sim_level"},
    {"v", "verbose"},
    {"q", "quiet"}};

/// Names that other launchers give to the numbers of the devices of a machine.
constexpr std::array<std::string_view, 9> kDeviceLists = {
    "devices",   "device_ids",     "devices_ids",     "gpu_ids",      "npu_ids",
    "device_id", "ascend_devices", "visible_devices", "selected_gpus"};

/// Verbs in front of a job, as other programs have them.
constexpr std::array<std::string_view, 9> kVerbs = {
    "run", "start", "launch", "train", "simulate", "sim", "dryrun", "dry-run", "dry_run"};

/// Dashes and quotes that text processors make of the signs of a keyboard, as UTF-8. A long dash
/// was typed as two.
constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
    {"\u2010", "-"},  {"\u2011", "-"},  {"\u2012", "-"}, {"\u2013", "-"}, {"\u2212", "-"},
    {"\u2014", "--"}, {"\u2015", "--"}, {"\u2018", "'"}, {"\u2019", "'"}, {"\u201c", "\""},
    {"\u201d", "\""}, {"\u3000", " "},  {"\u00a0", " "}};

/// A folder with more is a heap of data, of which no name is a guess worth its time.
constexpr int kMaxEntries = 10'000;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return lower;
}

/// The wide form at the beginning of `rest` (U+FF01 to U+FF5E: ASCII 0x21 to 0x7E), or 0.
char WideForm(std::string_view rest) {
  if (rest.size() < 3 || rest[0] != '\xef') {
    return 0;
  }
  const auto second = static_cast<std::uint8_t>(rest[1]);
  const auto third = static_cast<std::uint8_t>(rest[2]);
  const int point = 0xf000 + ((second & 0x3f) << 6) + (third & 0x3f);
  return point > 0xff00 && point < 0xff5f ? static_cast<char>(point - 0xff00 + 0x20) : '\0';
}

/// Names of the files in the folder of `path` that end as it does.
std::vector<std::string> NamesBeside(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code failure;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::filesystem::directory_iterator entries(folder, failure);
  for (int i = 0; !failure && i < kMaxEntries && entries != std::filesystem::directory_iterator();
       ++i) {
    if (Lower(entries->path().extension().string()) == Lower(path.extension().string()) &&
        !entries->is_directory(failure)) {
      names.push_back(entries->path().filename().string());
    }
    entries.increment(failure);
  }
  std::ranges::sort(names);  // a folder has no order
  return names;
}

/// A file beside `word` whose name is nearly the same; empty if there is none.
std::string FileMeant(const std::string& word) {
  const std::filesystem::path path(word);
  const std::vector<std::string> names = NamesBeside(path);
  const std::string name = path.filename().string();
  const auto same = std::ranges::find_if(
      names, [&name](const std::string& other) { return Lower(other) == Lower(name); });
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string nearest = same != names.end() ? *same : NearestWord(name, candidates);
  return nearest.empty() ? "" : (path.parent_path() / nearest).string();
}

std::string Squeezed(std::string_view name) {
  std::string text = Lower(name);
  std::erase(text, '_');
  return text;
}

}  // namespace

std::string NameHere(std::string_view name, std::span<const std::string_view> ours) {
  for (const auto& [theirs, here] : kElsewhere) {
    if (theirs == name && std::ranges::find(ours, here) != ours.end()) {
      return std::string(here);
    }
  }
  return {};
}

std::string HintForDeviceList(std::string_view name) {
  return std::ranges::find(kDeviceLists, name) != kDeviceLists.end()
             ? "devices are chosen by ASCEND_RT_VISIBLE_DEVICES=0,1 (or CUDA_VISIBLE_DEVICES) in "
               "front of msrun, and counted by --worker_num and --local_worker_num"
             : "";
}

std::string AsciiForm(std::string_view word) {
  std::string ascii;
  while (!word.empty()) {
    const auto sign = std::ranges::find_if(
        kSigns, [word](const auto& one) { return word.starts_with(one.first); });
    if (sign != std::end(kSigns)) {
      ascii += sign->second;
      word.remove_prefix(sign->first.size());
    } else if (const char narrow = WideForm(word); narrow != 0) {
      ascii += narrow;
      word.remove_prefix(3);
    } else {
      ascii += word.front();
      word.remove_prefix(1);
    }
  }
  return ascii;
}

std::string HintForScript(const std::string& word) {
  std::string ascii = AsciiForm(word);
  if (ascii != word && ascii.starts_with('-')) {
    // "–-sim_level": the first of two dashes became a long one.
    ascii.erase(0, ascii.find_first_not_of('-'));
    return "write the signs of a keyboard: --" + ascii;
  }
  if (word == "-") {
    return "a script may be read more than once: save it to a file";
  }
  if (word.find("://") != std::string::npos) {
    return "download the script and give the path of the file";
  }
  std::error_code failure;
  if (std::filesystem::is_symlink(word, failure)) {
    const std::string target = std::filesystem::read_symlink(word, failure).string();
    return "it is a link to '" + target + "'; give the path of the script itself";
  }
  if (const std::size_t blank = word.find(' ');
      blank != std::string::npos &&
      std::filesystem::is_regular_file(word.substr(0, blank), failure)) {
    return "leave out the quotation marks: " + word;
  }
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos && equals > 0 && word.find('/') == std::string::npos) {
    return "flags begin with '--': --" + word;
  }
  const std::string file = FileMeant(ascii);
  return file.empty() ? "" : "did you mean '" + file + "'?";
}

std::string HintForCommand(const std::string& word) {
  if (word.starts_with("--") || word.ends_with(".py") || word.ends_with(".json")) {
    return "did you mean 'drydock msrun " + word + "'?";
  }
  return std::ranges::find(kVerbs, word) != kVerbs.end()
             ? "did you mean 'msrun'? It dry-runs with --sim_level=1, and starts without it"
             : "";
}

std::string FlagMeant(std::string_view variable, std::span<const std::string_view> ours) {
  const auto same = std::ranges::find_if(
      ours, [variable](std::string_view flag) { return Squeezed(flag) == Squeezed(variable); });
  return same != ours.end() ? std::string(*same) : NameHere(Lower(variable), ours);
}

}  // namespace drydock::launcher
