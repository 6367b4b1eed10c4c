// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/AxisClasses.h"

#include "gtest/gtest.h"

using namespace deplo;
using Axis = AxisClasses::Axis;

namespace {

llvm::SmallVector<int64_t> getExtents(const AxisClasses &classes,
                                      llvm::ArrayRef<Axis> axes) {
  llvm::SmallVector<int64_t> extents;
  for (Axis leaf : classes.getLeaves(axes))
    extents.push_back(classes.getExtent(leaf));
  return extents;
}

TEST(AxisClasses, EqualAxesBecomeOneLoop) {
  AxisClasses classes;
  Axis a = classes.add(8, 0), b = classes.add(8, 1);
  EXPECT_NE(classes.getLeaves(a), classes.getLeaves(b));
  EXPECT_TRUE(classes.unify(a, b));
  EXPECT_EQ(classes.getLeaves(a), classes.getLeaves(b));
}

TEST(AxisClasses, UnitAxesHaveNoLoop) {
  AxisClasses classes;
  Axis a = classes.add(1, 0), b = classes.add(8, 0), c = classes.add(8, 1);
  EXPECT_TRUE(classes.getLeaves(a).empty());
  EXPECT_TRUE(classes.unify({a, b}, c));
}

TEST(AxisClasses, ReshapeSplits) {
  AxisClasses classes;
  Axis whole = classes.add(24, 0);
  Axis outer = classes.add(4, 1), inner = classes.add(6, 1);
  EXPECT_TRUE(classes.unify(whole, {outer, inner}));
  EXPECT_EQ(getExtents(classes, whole), (llvm::SmallVector<int64_t>{4, 6}));
  // A third shape of the same elements splits further: 2, (2, 3), 2.
  Axis left = classes.add(2, 2), middle = classes.add(6, 2),
       right = classes.add(2, 2);
  EXPECT_TRUE(classes.unify({left, middle, right}, whole));
  EXPECT_EQ(getExtents(classes, whole),
            (llvm::SmallVector<int64_t>{2, 2, 3, 2}));
  EXPECT_EQ(getExtents(classes, middle), (llvm::SmallVector<int64_t>{2, 3}));
}

TEST(AxisClasses, SizesThatDoNotNestFail) {
  AxisClasses classes;
  Axis a = classes.add(4, 0), b = classes.add(6, 0);
  Axis c = classes.add(6, 1), d = classes.add(4, 1);
  EXPECT_FALSE(classes.unify({a, b}, {c, d}));
}

TEST(AxisClasses, DifferentSizesFail) {
  AxisClasses classes;
  Axis a = classes.add(4, 0), b = classes.add(8, 1), zero = classes.add(0, 2);
  EXPECT_FALSE(classes.unify(a, b));
  EXPECT_FALSE(classes.unify(a, zero));
}

TEST(AxisClasses, Digits) {
  AxisClasses classes;
  Axis axis = classes.add(24, 0);
  auto middle = classes.getDigit(axis, /*stride=*/4, /*extent=*/3);
  ASSERT_TRUE(middle);
  EXPECT_EQ(getExtents(classes, *middle), (llvm::SmallVector<int64_t>{3}));
  EXPECT_EQ(getExtents(classes, axis), (llvm::SmallVector<int64_t>{2, 3, 4}));
  // Now 6 does not fit between the parts 3 and 4.
  EXPECT_FALSE(classes.getDigit(axis, 1, 6));
  // The whole axis is a digit, too.
  EXPECT_EQ(classes.getDigit(axis, 1, 24)->size(), 3u);
}

TEST(AxisClasses, RollBackRestoresEverything) {
  AxisClasses classes;
  Axis a = classes.add(24, 0), b = classes.add(24, 1);
  size_t checkpoint = classes.getCheckpoint();
  EXPECT_TRUE(classes.unify(a, b));
  EXPECT_TRUE(classes.getDigit(a, 1, 6));
  Axis c = classes.add(4, 2);
  EXPECT_FALSE(classes.unify(c, a));
  EXPECT_TRUE(classes.hasSplitSince(checkpoint));
  classes.rollBack(checkpoint);
  EXPECT_FALSE(classes.hasSplitSince(checkpoint));
  EXPECT_NE(classes.getLeaves(a), classes.getLeaves(b));
  EXPECT_EQ(getExtents(classes, a), (llvm::SmallVector<int64_t>{24}));
  // And again, as if nothing had been.
  EXPECT_TRUE(classes.unify(a, b));
  EXPECT_EQ(classes.getLeaves(a), classes.getLeaves(b));
}

TEST(AxisClasses, JoiningTwoLoopsOfOneOwnerIsNoticed) {
  AxisClasses classes;
  Axis row = classes.add(8, 0), column = classes.add(8, 0);
  Axis other = classes.add(8, 1);
  size_t checkpoint = classes.getCheckpoint();
  EXPECT_TRUE(classes.unify(row, other));
  EXPECT_FALSE(classes.hasJoinedLoopsSince(checkpoint));
  EXPECT_TRUE(classes.unify(column, other));
  EXPECT_TRUE(classes.hasJoinedLoopsSince(checkpoint));
}

TEST(AxisClasses, MergedOwnersAreOne) {
  AxisClasses classes;
  Axis a = classes.add(8, 0), b = classes.add(8, 1), c = classes.add(8, 2);
  size_t checkpoint = classes.getCheckpoint();
  EXPECT_TRUE(classes.unify(a, b));
  classes.commit(checkpoint, 1);
  classes.mergeOwners(0, 1);
  Axis d = classes.add(8, 0);
  checkpoint = classes.getCheckpoint();
  EXPECT_TRUE(classes.unify(c, b));
  EXPECT_FALSE(classes.hasJoinedLoopsSince(checkpoint));
  classes.commit(checkpoint, 1);
  checkpoint = classes.getCheckpoint();
  EXPECT_TRUE(classes.unify(d, a));
  EXPECT_TRUE(classes.hasJoinedLoopsSince(checkpoint));
}

} // namespace
