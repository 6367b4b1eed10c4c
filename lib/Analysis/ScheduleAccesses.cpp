// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the accesses of a kernel touch, and the shape of blocks that suits them.

#include "ScheduleModelImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using llvm::PowerOf2Ceil;

namespace deplo {

/// Bytes that the access touches, each element once.
int64_t ScheduleModel::getBytes(const ScheduleAccess &access) const {
  int64_t elements = 1;
  for (auto [stride, extent] : llvm::zip(access.strides, extents))
    if (stride != 0)
      elements *= extent;
  return std::min(elements, access.elements) * access.elementBytes;
}

size_t ScheduleModel::findContiguousDim() const {
  size_t best = extents.size() - 1;
  int64_t bestBytes = 0;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    int64_t bytes = 0;
    for (const ScheduleAccess &access : facts.accesses)
      if (access.strides[dim] == 1)
        bytes += getBytes(access);
    if (bytes > 0 && bytes >= bestBytes) {
      best = dim;
      bestBytes = bytes;
    }
  }
  return best;
}

/// The elements that each thread should hold side by side: as wide as the
/// accesses go, unless odd strides force narrower accesses, which coalesce only
/// if threads hold as few elements side by side as one access moves.
int64_t ScheduleModel::chooseVector() const {
  int64_t best = 1;
  double bestCost = 0;
  for (int64_t width = 1; width <= maxAccessBytes; width *= 2) {
    double cost = 0;
    for (const ScheduleAccess &access : facts.accesses) {
      if (access.strides[contiguous] != 1)
        continue;
      int64_t reached = std::min({width, maxAccessBytes / access.elementBytes,
                                  access.alignment, extents[contiguous]});
      reached = int64_t(llvm::bit_floor(uint64_t(reached)));
      reached = std::max<int64_t>(reached, 1);
      // Narrow accesses cost instructions, gaps between them sectors.
      double instructions =
          std::log2(double(maxAccessBytes) / (reached * access.elementBytes));
      double gaps = std::log2(double(width) / reached);
      cost += getBytes(access) * (1 + 0.1 * instructions + 0.3 * gaps);
    }
    if (width == 1 || cost < bestCost) {
      best = width;
      bestCost = cost;
    }
  }
  return best;
}

/// Elements of a row in registers, each inner dimension padded.
int64_t ScheduleModel::getPaddedRow() const {
  int64_t row = 1;
  for (size_t dim = numAxes; dim < extents.size(); ++dim)
    row *= PowerOf2Ceil(extents[dim]);
  return row;
}

/// Whether the access is contiguous along `axis`, another one than most are,
/// and crosses those. What is the same along the contiguous dimension, as the
/// row numbers of a gather, a block reads once.
bool ScheduleModel::isTransposed(const ScheduleAccess &access,
                                 size_t axis) const {
  return axis != contiguous && access.strides[axis] == 1 &&
         access.strides[contiguous] != 0;
}

bool ScheduleModel::hasTransposed() const {
  for (const ScheduleAccess &access : facts.accesses)
    for (size_t axis = 0; axis < numAxes; ++axis)
      if (isTransposed(access, axis))
        return true;
  return false;
}

/// Shapes a block of `elements` iterations of the axes: first `runBytes` of
/// every axis along which some access is contiguous, then up to `width` along
/// the contiguous axis, and the rest from the innermost axis outwards.
std::vector<int64_t> ScheduleModel::shapeBlock(int64_t elements,
                                               int64_t runBytes,
                                               int64_t width) const {
  std::vector<int64_t> block(numAxes, 1);
  auto grow = [&](size_t axis, int64_t limit) {
    if (axis == facts.partAxis)
      return;
    limit = std::min<int64_t>(limit, PowerOf2Ceil(extents[axis]));
    while (elements > 1 && block[axis] < limit) {
      block[axis] *= 2;
      elements /= 2;
    }
  };
  for (size_t axis = numAxes; axis-- > 0;) {
    int64_t widest = 0;
    for (const ScheduleAccess &access : facts.accesses)
      if (isTransposed(access, axis))
        widest = std::max(widest, runBytes / access.elementBytes);
    if (widest)
      grow(axis, widest);
  }
  if (contiguous < numAxes)
    grow(contiguous, width);
  for (size_t axis = numAxes; axis-- > 0;)
    grow(axis, elements);
  return block;
}

/// Bytes of a block's rows that later passes read again.
double ScheduleModel::getRowBytes(const ScheduleChoice &candidate) const {
  double bytes = 0;
  for (const ScheduleAccess &access : facts.accesses) {
    if (access.isStore || !isKept(access))
      continue;
    double row = access.elementBytes;
    for (size_t dim = numAxes; dim < extents.size(); ++dim)
      if (access.strides[dim] != 0)
        row *= extents[dim];
    bytes += row;
  }
  if (candidate.cluster > 1)
    bytes *= double(getSlice(candidate)) / extents.back();
  return bytes * getRows(candidate);
}

/// Bytes that a block has in flight when it loads a tile.
double ScheduleModel::getLoadBytes(const ScheduleChoice &candidate) const {
  double bytes = 0;
  for (const ScheduleAccess &access : facts.accesses)
    if (!access.isStore && access.strides[contiguous] != 0)
      bytes += access.elementBytes;
  return bytes * candidate.elementsPerThread * candidate.warps * lanes;
}

static constexpr double farApartBytes = 1 << 16;

/// Whether blocks stream through long rows that are read once: all go through
/// theirs in step, far from one another, and meet in the same pages of memory.
/// Chunks of parts are neighbours.
bool ScheduleModel::isScattered(const ScheduleChoice &candidate) const {
  return candidate.chunk && facts.passes == 1 && facts.scans == 0 &&
         !facts.partAxis && contiguous >= numAxes &&
         getRowBytes(candidate) / getRows(candidate) >= farApartBytes;
}
} // namespace deplo
