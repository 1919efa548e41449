#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/mpirun_hosts.h"
#include "launcher/mpirun_words.h"

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MpirunHosts, NumbersOfAListAddUp) {
  EXPECT_THAT(ParseHostList("a:8,b:2,a").value(),
              ElementsAre(HostSlots{"a", 9}, HostSlots{"b", 2}));
  EXPECT_THAT(ParseHostList("[fd00::1]:4").value(), ElementsAre(HostSlots{"[fd00::1]", 4}));
}

TEST(MpirunHosts, BadListsAreRefused) {
  for (const char* text : {"", "a,,b", ":4", "a:", "a:0", "a:x", "a:99999999999999999999"}) {
    EXPECT_FALSE(ParseHostList(text).has_value()) << text;
  }
}

TEST(MpirunHosts, HostfileOfTheManual) {
  EXPECT_THAT(
      ParseHostfile("DEVICE1 slots=8\n# a comment\n192.0.2.1 slots=8 max-slots=16 # too\n", "hosts")
          .value(),
      ElementsAre(HostSlots{"DEVICE1", 8}, HostSlots{"192.0.2.1", 8, 16}));
}

TEST(MpirunHosts, LinesWithoutSlotsAreOneEach) {
  EXPECT_THAT(ParseHostfile("a\nb\r\na\n", "hosts").value(),
              ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 1}));
}

TEST(MpirunHosts, SlotsGivenTwiceNameBothLines) {
  const auto hosts = ParseHostfile("a slots=4\nb\na slots=2\n", "hosts");
  ASSERT_FALSE(hosts.has_value());
  EXPECT_THAT(hosts.error().message, ::testing::AllOf(HasSubstr("hosts:3"), HasSubstr("line 1")));
}

TEST(MpirunHosts, BadLinesAreNamed) {
  const std::string long_name(256, 'a');  // a name has at most 255 characters
  for (const std::string& text :
       {std::string("a slots=x"), std::string("a slots=0"), std::string("a cores=4"), std::string(),
        std::string("# nothing"), std::string("a slots=2 slots=3"),
        std::string("a slots=4 max_slots=2"), std::string("a max_slots=1 max-slots=2"),
        std::string("a slots=2\nA slots=2"), long_name}) {
    EXPECT_FALSE(ParseHostfile(text, "hosts").has_value()) << text;
  }
}

TEST(MpirunWords, SpellingsOfTheManual) {
  FlagSet flags;
  std::int64_t ranks = 0;
  std::string text;
  flags.AddInt({"np", "N", ""}, &ranks);
  for (const char* name : {"host", "bind_to", "x", "output_filename"}) {
    flags.AddText({name, "V", ""}, &text);
  }
  const std::vector<std::string> words = {"-n",     "8",
                                          "-H",     "a:4,b:4",
                                          "-mca",   "orte_abort_on_non_zero_status",
                                          "0",      "-bind-to",
                                          "none",   "-x",
                                          "A=b=c",  "--output-filename",
                                          "log",    "--merge-stderr-to-stdout",
                                          "python", "-n",
                                          "net.py"};
  EXPECT_THAT(TranslateMpirunWords(words, flags).value(),
              ElementsAre("--np=8", "--host=a:4,b:4", "--mca=orte_abort_on_non_zero_status=0",
                          "--bind-to=none", "--x=A=b=c", "--output-filename=log",
                          "--merge-stderr-to-stdout", "python", "-n", "net.py"));
}

TEST(MpirunWords, MissingValueIsNamed) {
  FlagSet flags;
  const auto words = TranslateMpirunWords(std::vector<std::string>{"-mca", "a"}, flags);
  ASSERT_FALSE(words.has_value());
  EXPECT_THAT(words.error().message, HasSubstr("value is missing"));
}

}  // namespace
}  // namespace drydock::launcher
