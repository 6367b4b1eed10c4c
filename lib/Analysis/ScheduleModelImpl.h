// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model behind chooseSchedule, which its parts share: what accesses touch
// (ScheduleAccesses.cpp), what fits on a multiprocessor (ScheduleLimits.cpp),
// how long a candidate takes (ScheduleEstimate.cpp), and the search over
// candidates (ScheduleModel.cpp).

#ifndef DEPLO_LIB_ANALYSIS_SCHEDULEMODELIMPL_H
#define DEPLO_LIB_ANALYSIS_SCHEDULEMODELIMPL_H

#include "deplo/Analysis/ScheduleModel.h"

#include <algorithm>

namespace deplo {

constexpr int64_t maxAccessBytes = 16;
constexpr int64_t sectorBytes = 32;
constexpr int64_t lineBytes = 128;
constexpr int64_t lanes = 32;
/// Loads that a thread has in flight in a loop over chunks, and in one over
/// rows that are far apart.
constexpr int64_t loadsAhead = 4;
constexpr int64_t mostLoadsAhead = 8;

class ScheduleModel {
public:
  /// `shift`: the elements of one access, if rows are to be shifted to aligned
  /// addresses (align_rows); else 0.
  ScheduleModel(const ScheduleFacts &facts, const TargetDescription &target,
                const SchedulePins &pins, int64_t shift)
      : facts(facts), target(target), pins(pins), shift(shift),
        numAxes(facts.axes.size()) {
    for (int64_t extent : facts.axes)
      extents.push_back(std::max<int64_t>(extent, 1));
    for (const ScheduleInnerDim &dim : facts.inner)
      extents.push_back(std::max<int64_t>(dim.extent, 1));
    contiguous = findContiguousDim();
    vector = pins.vector ? *pins.vector : shift ? shift : chooseVector();
  }

  /// The best choice with one block for a row, or as many as are pinned.
  std::optional<ScheduleChoice> choose(std::string &error);
  /// `best`, or one in which the blocks of a cluster share rows, if that is
  /// quicker by far.
  std::optional<ScheduleChoice> share(std::optional<ScheduleChoice> best);
  std::string explain(const ScheduleChoice &choice) const;

  /// Whether neighbours in memory belong to different rows.
  bool isAcrossRows() const {
    return contiguous < numAxes && facts.dependentReductions != 0;
  }
  int64_t getExchangedValues(const ScheduleChoice &candidate) const;
  /// Whether all that the kernel moves may be in L2 already.
  bool isInL2() const;

private:
  /// Accesses of single elements, and masks of shifted ones, need many
  /// registers.
  bool mayShareRows() const {
    return facts.mayShareRows && vector > 1 && shift == 0;
  }
  std::optional<ScheduleChoice> chooseShared(int64_t cluster,
                                             std::string &error);
  void considerChunk(int64_t chunk, int64_t cluster, bool isSmallest,
                     std::optional<ScheduleChoice> &best,
                     std::string &error) const;
  size_t findContiguousDim() const;
  int64_t chooseVector() const;
  int64_t getBytes(const ScheduleAccess &access) const;
  int64_t getPaddedRow() const;
  std::vector<int64_t> shapeBlock(int64_t elements, int64_t runBytes,
                                  int64_t width) const;
  bool isTransposed(const ScheduleAccess &access, size_t axis) const;
  bool hasTransposed() const;
  bool canShift(const ScheduleChoice &candidate) const;
  void consider(ScheduleChoice candidate, std::optional<ScheduleChoice> &best,
                std::string &error) const;
  bool fits(ScheduleChoice &candidate, std::string &error) const;
  /// Elements of a row that a block has.
  int64_t getSlice(const ScheduleChoice &candidate) const {
    return candidate.cluster == 1
               ? getPaddedRow()
               : getClusterSlice(extents.back(), candidate.cluster,
                                 candidate.chunk);
  }
  /// Elements of a row that are on chip at once.
  int64_t getRow(const ScheduleChoice &candidate) const {
    return candidate.chunk ? candidate.chunk : getSlice(candidate);
  }
  /// Sweeps over a row, each of which loads it.
  int64_t getPasses(const ScheduleChoice &candidate) const {
    return candidate.chunk && candidate.cluster == 1
               ? facts.passes - facts.joinedPasses
               : facts.passes;
  }
  static int64_t getRows(const ScheduleChoice &candidate) {
    int64_t rows = 1;
    for (int64_t size : candidate.block)
      rows *= size;
    return rows;
  }
  /// Whether the access has a row of its own for each iteration of the axes:
  /// others are shared by all blocks and stay in L2.
  bool isKept(const ScheduleAccess &access) const {
    auto varies = [](int64_t stride) { return stride != 0; };
    return !access.isStore &&
           std::any_of(access.strides.begin(), access.strides.begin() + numAxes,
                       varies);
  }
  /// Whether there is a row that all iterations of the axes share.
  bool hasSharedRow() const {
    return std::any_of(facts.accesses.begin(), facts.accesses.end(),
                       [&](const ScheduleAccess &access) {
                         return !access.isStore && !isKept(access) &&
                                access.strides.back() != 0;
                       });
  }
  bool isStaged(const ScheduleChoice &candidate) const;
  bool keepsPart(const ScheduleChoice &candidate) const;
  double getRowBytes(const ScheduleChoice &candidate) const;
  double getLoadBytes(const ScheduleChoice &candidate) const;
  int64_t getResidentBlocks(const ScheduleChoice &candidate) const;
  double getUsableMultiprocessors(const ScheduleChoice &candidate) const;
  double getTraffic(const ScheduleChoice &candidate, double resident) const;
  double estimateDispatch(const ScheduleChoice &candidate, bool isInL2) const;
  bool isScattered(const ScheduleChoice &candidate) const;
  double getSpread(const ScheduleChoice &candidate, bool isInL2,
                   bool hasWaves) const;
  double getScatterCost(const ScheduleChoice &candidate) const;
  void estimate(ScheduleChoice &candidate) const;
  struct Sharing {
    /// Lanes and warps that hold parts of one row.
    int64_t rowLanes, rowWarps;
    int64_t rowsPerThread;
  };
  Sharing getSharing(const ScheduleChoice &candidate) const;
  double getExchangeInstructions(const ScheduleChoice &candidate,
                                 double chunks) const;
  double estimateReduction(const ScheduleChoice &candidate) const;
  double estimateExchange(const ScheduleChoice &candidate) const;

  const ScheduleFacts &facts;
  const TargetDescription &target;
  const SchedulePins &pins;
  int64_t shift;
  size_t numAxes;
  /// Of the axes, then of the inner dimensions; at least 1.
  std::vector<int64_t> extents;
  /// The dimension along which most bytes are contiguous in memory.
  size_t contiguous;
  int64_t vector;
};

} // namespace deplo

#endif // DEPLO_LIB_ANALYSIS_SCHEDULEMODELIMPL_H
