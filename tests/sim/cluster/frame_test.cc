#include "sim/cluster/frame.h"

#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "sim/cluster/message_name.h"

namespace drydock::sim {
namespace {

std::string Frame(std::string_view name, std::string_view to, std::string_view from,
                  std::string_view body) {
  std::string bytes;
  AppendFrame({.name = name, .to = to, .from = from, .body = body}, bytes);
  return bytes;
}

std::string Header(std::uint32_t name, std::uint32_t to, std::uint32_t from, std::uint32_t body) {
  std::string bytes = "RPC0" + std::string(16, '\0');
  PatchBigEndian32(bytes, 4, name);
  PatchBigEndian32(bytes, 8, to);
  PatchBigEndian32(bytes, 12, from);
  PatchBigEndian32(bytes, 16, body);
  return bytes;
}

Status Judge(std::string_view bytes, const FrameLimits& limits = {}) {
  const auto parsed = ParseFrame(AsBytes(bytes), limits);
  return parsed ? Status{} : Status(tl::unexpected(parsed.error()));
}

TEST(Frame, ReadsTheHeaderMostSignificantByteFirst) {
  // 1 name byte, 3 to, 2 from, 0x0102 = 258 body bytes.
  const std::string bytes = Header(1, 3, 2, 258) + "2" + "@ab" + "@c" + std::string(258, 'x');
  const auto parsed = ParseFrame(AsBytes(bytes), {}).value();
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->bytes, 20U + 1 + 3 + 2 + 258);
  EXPECT_EQ(parsed->frame.to, "@ab");
  EXPECT_EQ(parsed->frame.body.size(), 258U);
  EXPECT_EQ(bytes, Frame("2", "@ab", "@c", std::string(258, 'x')));
}

TEST(Frame, LimitsAreInclusive) {
  EXPECT_TRUE(Judge(Header(1024, 1024, 1024, 2'147'479'552)).has_value());
  EXPECT_FALSE(Judge(Header(1025, 1, 1, 0)).has_value());
  EXPECT_FALSE(Judge(Header(1, 1025, 1, 0)).has_value());
  EXPECT_FALSE(Judge(Header(1, 1, 1025, 0)).has_value());
  EXPECT_FALSE(Judge(Header(1, 1, 1, 2'147'479'553)).has_value());
  EXPECT_FALSE(Judge(Header(1, 1, 1, 11), {.body_bytes = 10}).has_value());
}

TEST(Frame, StrangersAreRefusedFromTheFirstWrongByteOn) {
  EXPECT_TRUE(Judge("RPC").has_value());
  EXPECT_FALSE(Judge("GET / HTTP/1.1\r\n").has_value());
  EXPECT_FALSE(Judge("RPC1").has_value());
}

TEST(Frame, NeedsANameAndAnAtSignInOneAddress) {
  EXPECT_FALSE(Judge(Frame("", "@a", "@", "")).has_value());
  EXPECT_FALSE(Judge(Frame("2", "a", "b", "")).has_value());
  EXPECT_TRUE(Judge(Frame("2", "a", "@", "")).has_value());
  EXPECT_TRUE(Judge(Frame("2", "@", "", "")).has_value());
}

TEST(FrameDecoder, CutsFramesWhateverPiecesTheyComeIn) {
  const std::string stream = Frame("6", "@s", "@", "write") + Frame("7", "@s", "@", "") +
                             Frame("hello", "@s", "@", std::string(10000, 'b'));
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, stream.size()}) {
    FrameDecoder decoder;
    std::vector<std::string> names;
    std::size_t body_bytes = 0;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.Feed(AsBytes(std::string_view(stream).substr(at, piece)));
      for (auto next = decoder.Next(); next.value(); next = decoder.Next()) {
        names.emplace_back((*next)->name);
        body_bytes += (*next)->body.size();
      }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"6", "7", "hello"})) << "pieces of " << piece;
    EXPECT_EQ(body_bytes, 10005U);
    EXPECT_EQ(decoder.pending_bytes(), 0U);
  }
}

TEST(FrameDecoder, KeepsItsErrorAndForgetsItsBytes) {
  FrameDecoder decoder;
  decoder.Feed(AsBytes(Header(1, 1, 1, 0).substr(0, 10) + std::string(10, '\xff')));
  EXPECT_FALSE(decoder.Next().has_value());
  decoder.Feed(AsBytes(Frame("2", "@", "@", "")));
  EXPECT_FALSE(decoder.Next().has_value());
  EXPECT_EQ(decoder.pending_bytes(), 0U);
}

TEST(FrameDecoder, MemoryFollowsWhatArrivedNotWhatIsAnnounced) {
  FrameDecoder decoder;
  decoder.Feed(AsBytes(Header(1, 1, 1, 2'147'479'552) + "2@@abc"));
  EXPECT_EQ(decoder.Next().value(), std::nullopt);
  EXPECT_EQ(decoder.pending_bytes(), 26U);  // 20 header bytes and 6 more
}

TEST(MessageName, KnowsNumbersWithLeadingZerosAndNothingElse) {
  EXPECT_EQ(ParseMessageName("7"), MessageName::kReadMetadata);
  EXPECT_EQ(ParseMessageName("007"), MessageName::kReadMetadata);
  EXPECT_EQ(ParseMessageName("000"), MessageName::kRegistration);
  EXPECT_EQ(ParseMessageName("11"), MessageName::kInvalidMetadata);
  for (const char* const unknown : {"", "12", "42", "99999999999999999999", "-1", "7 ", "hello"}) {
    EXPECT_EQ(ParseMessageName(unknown), std::nullopt) << unknown;
  }
}

}  // namespace
}  // namespace drydock::sim
