// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the hardware can run a candidate: how its threads share rows, their
// registers, shared memory, and the blocks that are resident at a time.

#include "ScheduleModelImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using llvm::divideCeil;

namespace deplo {

/// A size that a launch gives has 64 bits.
constexpr int64_t registersPerSize = 2;
static constexpr int64_t registerBytes = 4;
/// Of a scan, for each run of neighbours in a thread.
static constexpr int64_t registersPerRun = 4;
/// Addresses, loop counters and temporaries of one thread.
static constexpr int64_t baseRegisters = 18;
/// The same for exchanges between blocks.
static constexpr int64_t clusterRegisters = 8;
/// Addresses and temporaries of an exchange that elements don't outlive.
static constexpr int64_t exchangeRegisters = 8;

bool ScheduleModel::fits(ScheduleChoice &candidate, std::string &error) const {
  int64_t threads = candidate.warps * lanes;
  int64_t tile = getRow(candidate);
  for (int64_t size : candidate.block)
    tile *= size;
  candidate.elementsPerThread =
      std::max<int64_t>(divideCeil(tile, threads), std::min(tile, vector));
  int64_t elementRegisters = 1;
  for (const ScheduleAccess &access : facts.accesses)
    elementRegisters = std::max(elementRegisters, access.elementBytes / 4);
  int64_t most = std::min(target.registersPerThread,
                          target.registersPerMultiprocessor / threads);
  // Loops over chunks carry a running tile for each value and load ahead;
  // accesses of single elements, and those of shifted rows, have addresses and
  // masks for each.
  int64_t tiles = facts.liveTiles;
  int64_t running = std::max(1 + facts.joinedPasses, facts.reducedValues);
  // So do scans, and the next chunk while this one is scanned.
  tiles += facts.scans;
  // All elements of a row of any length have masks of their own.
  if (!candidate.chunk && vector == 1 && facts.hasSymbolicRows)
    ++tiles;
  if (candidate.chunk)
    tiles += running + (getPasses(candidate) > 2 ? 1 : 0) +
             (vector == 1 || shift != 0 ? 1 : 0);
  candidate.registersPerThread =
      baseRegisters + 2 * int64_t(facts.accesses.size()) +
      tiles * candidate.elementsPerThread * elementRegisters +
      (candidate.cluster > 1 ? clusterRegisters : 0) +
      registersPerSize * facts.symbolicSizes;
  // Without loops in the way, what all rows share is loaded ahead of the
  // reductions too.
  if (!candidate.chunk && candidate.cluster == 1 &&
      facts.dependentReductions > 1)
    for (const ScheduleAccess &access : facts.accesses)
      if (!access.isStore && !isKept(access) && access.strides.back() != 0)
        candidate.registersPerThread +=
            divideCeil(candidate.elementsPerThread * access.elementBytes, 4);
  // Values of several rows from all warps that share them arrive together, next
  // to the elements if those are needed again.
  Sharing sharing = getSharing(candidate);
  int64_t exchanged = getExchangedValues(candidate);
  bool outlives = facts.passes > 1 || facts.scans != 0;
  if (outlives)
    candidate.registersPerThread += exchanged;
  // So do several values of one row.
  if (facts.reducedValues > 1 && sharing.rowWarps > 1)
    candidate.registersPerThread = std::max(
        candidate.registersPerThread,
        baseRegisters + 2 * int64_t(facts.accesses.size()) +
            tiles * candidate.elementsPerThread * elementRegisters +
            facts.reducedValues * sharing.rowsPerThread * sharing.rowWarps);
  int64_t accesses = std::max<int64_t>(candidate.elementsPerThread / vector, 1);
  // What each run of a scan folds to, and what is before it, as it is found.
  candidate.registersPerThread += facts.scans * registersPerRun * accesses;
  // Loops whose end only the program that runs knows are not laid out.
  candidate.unroll = pins.unroll ? *pins.unroll
                     : candidate.chunk && !facts.scans && !facts.hasSymbolicRows
                         ? std::max(candidate.loadsAhead / accesses, int64_t(1))
                         : 1;
  // Loads in flight besides the running tile, where rows come from memory.
  if (candidate.chunk && !facts.scans && !isStaged(candidate))
    candidate.registersPerThread =
        std::max(candidate.registersPerThread,
                 baseRegisters + 2 * int64_t(facts.accesses.size()) +
                     running * candidate.elementsPerThread * elementRegisters +
                     int64_t(candidate.unroll * getLoadBytes(candidate) /
                             (threads * registerBytes)));

  if (!outlives && exchanged != 0)
    candidate.registersPerThread =
        std::max(candidate.registersPerThread,
                 exchangeRegisters + exchanged + sharing.rowsPerThread);

  candidate.blocks = candidate.cluster > 1
                         ? divideCeil(extents.back(), getSlice(candidate))
                         : 1;
  for (auto [extent, size] : llvm::zip(extents, candidate.block)) {
    int64_t along = divideCeil(extent, size);
    if (along > maxBlocksPerLaunch / candidate.blocks) {
      error = llvm::formatv("blocks of {0} elements are more than the {1} of a "
                            "launch; use a larger block",
                            tile, maxBlocksPerLaunch);
      return false;
    }
    candidate.blocks *= std::max<int64_t>(along, 1);
  }
  if (threads > target.threadsPerBlock) {
    error = llvm::formatv("{0} warps are {1} threads, and {2} runs at most {3} "
                          "in a block; use fewer warps",
                          candidate.warps, threads, target.chip,
                          target.threadsPerBlock);
    return false;
  }
  int64_t peakRegisters = std::max(
      candidate.registersPerThread,
      baseRegisters + 2 * int64_t(facts.accesses.size()) +
          facts.peakTiles * candidate.elementsPerThread * elementRegisters);
  bool isOne = candidate.elementsPerThread == 1;
  if (candidate.registersPerThread > most || (peakRegisters > most && !isOne)) {
    error = llvm::formatv(
        "a thread would hold {0} elements in about {1} registers; use more "
        "warps, a smaller block or a smaller chunk",
        candidate.elementsPerThread, peakRegisters);
    return false;
  }
  return true;
}

/// Values of other warps, or blocks of a cluster, that a thread has at once in
/// an exchange. A single row is folded as its values come, unless it is
/// scanned.
int64_t
ScheduleModel::getExchangedValues(const ScheduleChoice &candidate) const {
  Sharing sharing = getSharing(candidate);
  if (sharing.rowsPerThread == 1)
    return sharing.rowWarps > 1 ? facts.scans * sharing.rowWarps : 0;
  if (facts.dependentReductions + facts.scans == 0)
    return 0;
  int64_t holders = std::max(sharing.rowWarps, candidate.cluster);
  return holders > 1 ? sharing.rowsPerThread * holders : 0;
}

/// How a block's threads are laid out over rows and along them: neighbours in
/// memory go to a thread and then to lanes, warps to different rows first.
ScheduleModel::Sharing
ScheduleModel::getSharing(const ScheduleChoice &candidate) const {
  int64_t row = getRow(candidate);
  int64_t rows = getRows(candidate);
  Sharing sharing;
  int64_t across = 1;
  if (contiguous < numAxes) {
    across = std::min(candidate.block[contiguous], vector);
    sharing.rowLanes =
        lanes / std::min(lanes, candidate.block[contiguous] / across);
    rows /= across;
  } else {
    sharing.rowLanes = std::min(lanes, std::max<int64_t>(row / vector, 1));
  }
  int64_t lanesOnRows = lanes / sharing.rowLanes;
  rows = std::max<int64_t>(rows / lanesOnRows, 1);
  int64_t warpsOnRows = std::min(candidate.warps, rows);
  sharing.rowWarps = candidate.warps / warpsOnRows;
  sharing.rowsPerThread = rows / warpsOnRows * across;
  return sharing;
}

int64_t
ScheduleModel::getResidentBlocks(const ScheduleChoice &candidate) const {
  // Registers are handed out to a warp in units of 256.
  int64_t registers =
      llvm::alignTo(candidate.registersPerThread, 8) * candidate.warps * lanes;
  int64_t resident = std::min({target.blocksPerMultiprocessor,
                               target.warpsPerMultiprocessor / candidate.warps,
                               target.registersPerMultiprocessor / registers});
  if (isStaged(candidate))
    resident = std::min<int64_t>(resident, target.sharedPerMultiprocessor /
                                               getRowBytes(candidate));
  else if (keepsPart(candidate))
    resident = 1;
  return std::max<int64_t>(resident, 1);
}

/// Whether rows in chunks are kept in shared memory for later passes over them,
/// as stage_inputs does where they fit.
bool ScheduleModel::isStaged(const ScheduleChoice &candidate) const {
  return pins.stages.value_or(true) && candidate.chunk &&
         getPasses(candidate) > 1 &&
         getRowBytes(candidate) <= target.sharedPerBlock;
}

/// Whether a part of rows in chunks is kept in shared memory, all of it, as
/// split_sweeps does where they don't fit.
bool ScheduleModel::keepsPart(const ScheduleChoice &candidate) const {
  return pins.stages.value_or(true) && candidate.chunk &&
         getPasses(candidate) > 1 &&
         getRowBytes(candidate) > target.sharedPerBlock;
}

/// The multiprocessors that can be busy: those of a group which are too few for
/// one more cluster stay idle.
double
ScheduleModel::getUsableMultiprocessors(const ScheduleChoice &candidate) const {
  if (candidate.cluster == 1)
    return target.multiprocessors;
  int64_t places =
      target.multiprocessorsPerGroup * getResidentBlocks(candidate);
  int64_t blocks = divideCeil(extents.back(), getSlice(candidate));
  return double(places / blocks * blocks) / places * target.multiprocessors;
}

/// Whether align_rows can shift the rows: a block has one, and its tiles go
/// past the end.
bool ScheduleModel::canShift(const ScheduleChoice &candidate) const {
  int64_t row = candidate.chunk ? candidate.chunk : getSlice(candidate);
  int64_t extent = extents.back();
  return shift == 0 ||
         (getRows(candidate) == 1 &&
          int64_t(llvm::alignTo(extent, row)) >= extent + shift - 1);
}
} // namespace deplo
