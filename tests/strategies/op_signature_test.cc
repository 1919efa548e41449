#include "strategies/operators/op_signature.h"

#include <gtest/gtest.h>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {
namespace {

TEST(ParseSignature, SeparatesConstructorAndCall) {
  const OpSignature signature = ParseSignature("MatMul(transpose_a=False, transpose_b=True)(x, y)");
  ASSERT_EQ(signature.constructor.size(), 2U);
  EXPECT_EQ(signature.constructor[1].name, "transpose_b");
  EXPECT_EQ(signature.constructor[1].kind, ArgumentKind::kAttribute);
  EXPECT_EQ(signature.constructor[1].default_value, Attr(true));
  ASSERT_EQ(signature.call.size(), 2U);
  EXPECT_EQ(signature.call[0].name, "x");
  EXPECT_EQ(signature.call[0].kind, ArgumentKind::kTensor);
}

TEST(ParseSignature, KnowsAllKindsOfArguments) {
  const OpSignature signature = ParseSignature("F()(*tensors, ?bias, #axis=(), #shape)");
  ASSERT_EQ(signature.call.size(), 4U);
  EXPECT_EQ(signature.call[0].kind, ArgumentKind::kTensorList);
  EXPECT_EQ(signature.call[0].name, "tensors");
  EXPECT_EQ(signature.call[1].kind, ArgumentKind::kOptionalTensor);
  EXPECT_EQ(signature.call[2].kind, ArgumentKind::kAttribute);
  EXPECT_EQ(signature.call[2].default_value, Attr(Attr::List{}));
  EXPECT_FALSE(signature.call[3].default_value);
}

TEST(ParseSignature, ReadsDefaultsOfEveryType) {
  const OpSignature signature =
      ParseSignature("F(a=None, b=-3, c=1e-5, d='no, comma', e=(1, (2, 3)), f=np.float)()");
  ASSERT_EQ(signature.constructor.size(), 6U);
  EXPECT_EQ(signature.constructor[0].default_value, Attr());
  EXPECT_EQ(signature.constructor[1].default_value, Attr(-3));
  EXPECT_EQ(signature.constructor[2].default_value, Attr(1e-5));
  EXPECT_EQ(signature.constructor[3].default_value, Attr("no, comma"));
  EXPECT_EQ(signature.constructor[4].default_value,
            Attr(Attr::List{Attr(1), Attr(Attr::List{Attr(2), Attr(3)})}));
  EXPECT_FALSE(signature.constructor[5].default_value);
}

TEST(ParseSignature, KnowsResultsThatAreATuple) {
  EXPECT_TRUE(ParseSignature("F(n=1)(x) -> *y").tuple_result);
  EXPECT_FALSE(ParseSignature("F(n=1)(x)").tuple_result);
}

TEST(ParseSignature, BrokenTextsGiveWhatThereIs) {
  EXPECT_TRUE(ParseSignature("").call.empty());
  EXPECT_TRUE(ParseSignature("F").constructor.empty());
  EXPECT_TRUE(ParseSignature("F(a, b").constructor.empty());
}

// Every signature of the table names its operator and parses: no default is lost.
TEST(ParseSignature, UnderstandsTheWholeTable) {
  for (const OpEntry* entry : AllOps()) {
    const OpSignature signature = ParseSignature(entry->signature);
    for (const SignatureArgument& argument : signature.constructor) {
      const bool written =
          entry->signature.find(" " + argument.name + "=") != std::string_view::npos ||
          entry->signature.find("(" + argument.name + "=") != std::string_view::npos;
      EXPECT_TRUE(argument.default_value || !written) << entry->name << ": " << argument.name;
    }
  }
}

}  // namespace
}  // namespace drydock::strategies
