// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drives the C test of the dialects' C interface.

#include "dialects_test.h"

#include "deplo-c/Dialects.h"

#include <gtest/gtest.h>

namespace {

class DialectsCApiTest : public ::testing::Test {
protected:
  // Once for the process, as deplo-c/Dialects.h asks for.
  static void SetUpTestSuite() { mlirRegisterDeploPasses(); }
};

TEST_F(DialectsCApiTest, DialectsLoad) {
  EXPECT_EQ(runDialectHandlesTest(), 0);
}
TEST_F(DialectsCApiTest, AttributesAreMade) {
  EXPECT_EQ(runAttributesTest(), 0);
}
TEST_F(DialectsCApiTest, PipelinesRun) { EXPECT_EQ(runPipelinesTest(), 0); }
TEST_F(DialectsCApiTest, TextualPipelinesRun) {
  EXPECT_EQ(runTextualPipelineTest(), 0);
}
TEST_F(DialectsCApiTest, ErrorsAreSaid) { EXPECT_EQ(runErrorsTest(), 0); }

} // namespace
