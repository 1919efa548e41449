// Stand-ins for the vendor's libraries that MindSpore's Ascend plug-in is linked with.
//
// A dry run at level 1 asks these libraries for next to nothing, but the plug-in does not load
// without them. Every symbol that it needs and that has no body here becomes an assembly stub
// (../stand_ins.py) that calls StandIn below. Compiled for the old string ABI, as the wheel is.
//
// The shape of the classes follows from how the wheel's own inlined code uses them: an Operator is
// a virtual table and a shared pointer.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace {

/// Value of an environment variable, or what stands in for it.
const char* Setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

/// What aclsysGetCANNVersion fills.
struct CannVersion {
  char version[128];
  char parts[4][64];  // Major, minor, release, patch.
  char reserved[128];
};

}  // namespace

extern "C" {

/// Called by every stub: the caller's first argument and the name of the symbol. Methods of an
/// operator return the operator, everything else returns 0 (success, no pointer).
std::intptr_t StandIn(void* first, const char* name) {
  static const bool traced = std::getenv("DRYDOCK_STAND_IN_TRACE") != nullptr;
  if (traced) {
    std::fprintf(stderr, "stand-in: %s\n", name);
  }
  const bool chains =
      std::strncmp(name, "_ZN2ge8Operator", 15) == 0 && std::strstr(name, "Register") == nullptr;
  return chains ? reinterpret_cast<std::intptr_t>(first) : 0;
}

/// The chip decides which kernels jit_level O1 makes.
const char* aclrtGetSocName() {
  return Setting("DRYDOCK_STAND_IN_CHIP", "Ascend910B2");
}

/// O1 asks for the version and does not go on without.
int aclsysGetCANNVersion(int /*package*/, CannVersion* out) {
  *out = {};
  std::snprintf(out->version, sizeof out->version, "%s",
                Setting("DRYDOCK_STAND_IN_RELEASE", "8.5.0"));
  return std::sscanf(out->version, "%63[^.].%63[^.].%63[^.]", out->parts[0], out->parts[1],
                     out->parts[2]) == 3
             ? 0
             : 1;
}

/// Looked up by name when a data-parallel job sets its fusion by index or by size.
int HcomSetGradFusionByIndex(const char* /*group*/, unsigned /*count*/,
                             const unsigned* /*indices*/) {
  return 0;
}
int HcomSetGradFusionBySize(const char* /*group*/, unsigned /*count*/, const float* /*sizes*/) {
  return 0;
}

}  // extern "C"

namespace ge {

enum DataType : int {};

class StatusFactory {
 public:
  static StatusFactory* Instance();

 private:
  std::map<std::uint32_t, std::string> texts_;
};

StatusFactory* StatusFactory::Instance() {
  static StatusFactory only;
  return &only;
}

/// Attributes of one operator, by type and name.
template <typename T>
using Named = std::map<std::string, T>;

struct OperatorImpl {
  Named<std::string> texts;
  Named<long> longs;
  Named<int> ints;
  Named<float> floats;
  Named<bool> bools;
  Named<DataType> types;
  Named<std::vector<long>> long_lists;
  Named<std::vector<int>> int_lists;
  Named<std::vector<float>> float_lists;
  Named<std::vector<bool>> bool_lists;
  Named<std::vector<std::string>> text_lists;
  Named<std::vector<std::vector<long>>> long_tables;
  Named<std::vector<DataType>> type_lists;
};

template <typename T>
using OutOf = std::remove_const_t<std::remove_reference_t<T>>;

// X(type as it is passed in, field): attributes that are kept.
#define DRYDOCK_KEPT_ATTRIBUTES(X)                      \
  X(const std::string&, texts)                          \
  X(long, longs)                                        \
  X(int, ints)                                          \
  X(float, floats)                                      \
  X(bool, bools)                                        \
  X(const DataType&, types)                             \
  X(const std::vector<long>&, long_lists)               \
  X(const std::vector<int>&, int_lists)                 \
  X(const std::vector<float>&, float_lists)             \
  X(const std::vector<bool>&, bool_lists)               \
  X(const std::vector<std::string>&, text_lists)        \
  X(const std::vector<std::vector<long>>&, long_tables) \
  X(const std::vector<DataType>&, type_lists)

class Operator {
 public:
  virtual ~Operator() = default;
#define DRYDOCK_DECLARE(Type, field)                                 \
  Operator& SetAttr(const char* name, Type value);                   \
  Operator& SetAttr(const std::string& name, Type value);            \
  std::uint32_t GetAttr(const char* name, OutOf<Type>& value) const; \
  std::uint32_t GetAttr(const std::string& name, OutOf<Type>& value) const;
  DRYDOCK_KEPT_ATTRIBUTES(DRYDOCK_DECLARE)
#undef DRYDOCK_DECLARE
  std::string GetName() const;
  std::string GetOpType() const;

 private:
  std::shared_ptr<OperatorImpl> impl_ = std::make_shared<OperatorImpl>();
};

#define DRYDOCK_DEFINE(Type, field)                                                    \
  Operator& Operator::SetAttr(const std::string& name, Type value) {                   \
    if (impl_) {                                                                       \
      impl_->field[name] = value;                                                      \
    }                                                                                  \
    return *this;                                                                      \
  }                                                                                    \
  Operator& Operator::SetAttr(const char* name, Type value) {                          \
    return SetAttr(std::string(name), value);                                          \
  }                                                                                    \
  std::uint32_t Operator::GetAttr(const std::string& name, OutOf<Type>& value) const { \
    if (!impl_ || impl_->field.count(name) == 0) {                                     \
      return 1;                                                                        \
    }                                                                                  \
    value = impl_->field.at(name);                                                     \
    return 0;                                                                          \
  }                                                                                    \
  std::uint32_t Operator::GetAttr(const char* name, OutOf<Type>& value) const {        \
    return GetAttr(std::string(name), value);                                          \
  }
DRYDOCK_KEPT_ATTRIBUTES(DRYDOCK_DEFINE)
#undef DRYDOCK_DEFINE

std::string Operator::GetName() const {
  return {};
}
std::string Operator::GetOpType() const {
  return {};
}

class OperatorFactory {
 public:
  static Operator CreateOperator(const char* name, const char* type);
  static Operator CreateOperator(const std::string& name, const std::string& type);
  static bool IsExistOp(const char* type);
  static bool IsExistOp(const std::string& type);
};

Operator OperatorFactory::CreateOperator(const char* /*name*/, const char* /*type*/) {
  return {};
}
Operator OperatorFactory::CreateOperator(const std::string& /*name*/, const std::string& /*type*/) {
  return {};
}
bool OperatorFactory::IsExistOp(const char* /*type*/) {
  return true;
}
bool OperatorFactory::IsExistOp(const std::string& /*type*/) {
  return true;
}

}  // namespace ge
