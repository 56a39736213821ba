#include "focus/infer/stop_strings.h"

#include <gtest/gtest.h>

namespace focus {
namespace {

TEST(StopStrings, CutsBeforeAStopStringSplitOverPieces) {
  StopStrings stops({"END", "<|"});
  EXPECT_EQ(stops.push("text E"), "text ");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("tomb E"), "ENtomb ");
  EXPECT_EQ(stops.push("ND more"), "");
  EXPECT_TRUE(stops.stopped());
  EXPECT_EQ(stops.push("never"), "");
}

TEST(StopStrings, TheEarliestWins) {
  StopStrings stops({"bb", "ab"});
  EXPECT_EQ(stops.push("xxabb"), "xx");
  EXPECT_TRUE(stops.stopped());
}

TEST(StopStrings, GivesBackWhatItHeldWhenTheTextEnds) {
  StopStrings stops({"stop", ""});
  EXPECT_EQ(stops.push("a sto"), "a ");
  EXPECT_EQ(stops.finish(), "sto");
  EXPECT_FALSE(stops.stopped());
}

}  // namespace
}  // namespace focus
