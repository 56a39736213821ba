#include "focus/base/memory.h"

#include <gtest/gtest.h>

#include "focus/base/error.h"

namespace focus {
namespace {

TEST(Memory, KnowsWhatIsAvailable) {
  EXPECT_GT(available_memory(), int64_t{1} << 20);
  EXPECT_LT(available_memory(), int64_t{1} << 60) << "read from the system, not the fallback";
}

TEST(Memory, RefusesWithBothSizes) {
  check_fits("m", 100, 100);
  try {
    check_fits("model.gguf", (int64_t{300} << 20) + 1, int64_t{200} << 20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(std::string(error.what()).find("expected 301 MiB of free memory"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("found 200 MiB"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace focus
