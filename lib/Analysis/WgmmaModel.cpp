// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WgmmaModel.h"

#include "TileCandidates.h"

#include "deplo/Analysis/FragmentLayouts.h"
#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/Occupancy.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace deplo {

static constexpr int64_t lanes = 32, warpsPerGroup = 4;
static constexpr int64_t instructionRows = 64, leastColumns = 16,
                         mostColumns = 256;
/// The longest swizzled row of an operand.
static constexpr int64_t rowBytes = 128;
/// Of shared memory, which a multiprocessor reads in a cycle.
static constexpr double lineBytes = 128;

/// Of a block's barriers.
static constexpr int64_t barrierBytes = 1024;

// Fitted to schedules of bf16 products of 1024 to 8192 rows, columns and sums,
// measured on an H200 (docs/rationale/contractions.md).

/// The part of the rate on the data sheet that the power of a device allows.
static constexpr double reachedRate = 0.81;
/// From a copy's start to its bytes.
static constexpr double copyNanoseconds = 650;
/// What doesn't limit a chunk, and what doesn't limit a wave, count so much.
static constexpr double shareOfChunk = 0.05, shareOfWave = 0.25;
/// A block's start, its first copies and its last stores. The first blocks wait
/// for a whole multiprocessor, so that they don't start beside other kernels.
static constexpr double firstBlockNanoseconds = 2000, blockNanoseconds = 600;
/// What L2 gives all multiprocessors together, in times the bandwidth of
/// memory.
static constexpr double fillBandwidth = 3.5;
/// The part of the bandwidth on the data sheet that streams reach, and what of
/// its share a multiprocessor can stream.
static constexpr double reachedBandwidth = 0.9, streamBurst = 1.5;
/// What is read again and again stays in L2 if it takes so much of it.
static constexpr double partOfL2 = 0.6;

/// Whether the instruction's M are columns of the result.
static bool isTransposed(const MmaChoice &choice) {
  return choice.blockRows / choice.warpRows % warpsPerGroup != 0;
}

static int64_t getCopiedBytes(const MmaChoice &choice,
                              const ContractionFacts &facts) {
  return facts.getCopiedBytes(choice.blockRows, choice.blockColumns) *
         choice.chunk;
}

static bool fits(MmaChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target) {
  int64_t threads = (choice.warps + warpsPerGroup) * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  choice.registersPerThread =
      facts.sums * choice.warpRows * choice.warpColumns / lanes +
      registersBesideSums;
  choice.sharedBytes =
      getCopiedBytes(choice, facts) * choice.stages + barrierBytes;
  choice.blocksPerMultiprocessor = countResidentRoles(
      target, choice.warps, choice.registersPerThread, choice.sharedBytes);
  return choice.sharedBytes <= target.sharedPerBlock &&
         choice.blocksPerMultiprocessor > 0;
}

/// What a multiprocessor takes for a chunk of each of its `busiest` blocks
/// while `blocks` run: the slowest of instructions, what these read of shared
/// memory, and copies; each ring is refilled once in a latency.
static double estimateChunk(const MmaChoice &choice,
                            const ContractionFacts &facts,
                            const TargetDescription &target, int64_t blocks,
                            int64_t busiest) {
  double multiplyAddsPerNanosecond = reachedRate * target.wgmmaFlopsPerSecond /
                                     2e9 / target.multiprocessors * 2 /
                                     facts.elementBytes;
  double cyclesPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors / lineBytes;
  double bandwidth = target.dramBytesPerSecond / 1e9;

  // Rows of the instruction are those that whole warpgroups share.
  double groups = double(choice.warps) / warpsPerGroup;
  double groupRows = choice.warpRows, groupColumns = choice.warpColumns;
  if (isTransposed(choice))
    std::swap(groupRows, groupColumns);
  groupRows *= warpsPerGroup;
  double arithmetic = double(facts.sums) * busiest * choice.blockRows *
                      choice.blockColumns * choice.chunk /
                      multiplyAddsPerNanosecond;
  double readBytes = double(facts.sums) * groups *
                     (groupRows + groupColumns * groupRows / instructionRows) *
                     choice.chunk * facts.elementBytes;
  double reads = busiest * readBytes / lineBytes / cyclesPerNanosecond;
  double copiedBytes = getCopiedBytes(choice, facts);
  double fill = std::max(busiest * copiedBytes * target.multiprocessors /
                             (bandwidthBurst * bandwidth),
                         blocks * copiedBytes / (fillBandwidth * bandwidth));
  double slowest = std::max({arithmetic, reads, fill});
  double work = slowest + (arithmetic + reads + fill - slowest) * shareOfChunk;
  double refill = copyNanoseconds / std::max<int64_t>(choice.stages - 1, 1);
  return std::max(work, refill);
}

/// What all blocks take, wave after wave: chunks, or the bytes of the operands
/// from memory.
static double estimate(MmaChoice &choice, const ContractionFacts &facts,
                       const TargetDescription &target) {
  choice.blocks = facts.batches *
                  int64_t(llvm::divideCeil(facts.rows, choice.blockRows)) *
                  int64_t(llvm::divideCeil(facts.columns, choice.blockColumns));
  double chunks = llvm::divideCeil(facts.depth, choice.chunk);
  double bytes = double(facts.batches) * facts.depth *
                 facts.getCopiedBytes(facts.rows, facts.columns);
  double bandwidth = target.dramBytesPerSecond / 1e9 *
                     (bytes < partOfL2 * target.l2Bytes ? l2Bandwidth : 1);
  int64_t perWave = choice.blocksPerMultiprocessor * target.multiprocessors;
  choice.waves = double(choice.blocks) / perWave;
  double nanoseconds = choice.blocksPerMultiprocessor == 1
                           ? firstBlockNanoseconds - blockNanoseconds
                           : 0;
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, perWave);
    int64_t waves = rest / wave;
    int64_t busiest = llvm::divideCeil(wave, target.multiprocessors);
    double active =
        double(std::min(wave, target.multiprocessors)) / target.multiprocessors;
    double computed =
        chunks * estimateChunk(choice, facts, target, wave, busiest);
    double streamed = bytes * wave / choice.blocks / bandwidth /
                      std::min(reachedBandwidth, streamBurst * active);
    nanoseconds +=
        waves * (std::max(computed, streamed) +
                 std::min(computed, streamed) * shareOfWave + blockNanoseconds);
    rest -= waves * wave;
  }
  return nanoseconds;
}

std::optional<MmaChoice> chooseWgmma(const ContractionFacts &facts,
                                     const TargetDescription &target,
                                     const MmaPins &pins, std::string &error) {
  int64_t depth = getMmaK(8 * facts.elementBytes);
  int64_t chunk =
      pins.chunk ? pins.chunk
                 : std::clamp<int64_t>(llvm::PowerOf2Ceil(facts.depth), depth,
                                       rowBytes / facts.elementBytes);
  int64_t widest = std::clamp<int64_t>(llvm::PowerOf2Ceil(facts.columns),
                                       leastColumns, mostColumns);
  int64_t chunks = std::max<int64_t>(llvm::divideCeil(facts.depth, chunk), 1);
  std::optional<MmaChoice> best;
  MmaChoice choice{};
  choice.chunk = chunk;
  auto consider = [&] {
    int64_t rowWarps = choice.blockRows / choice.warpRows;
    choice.warps = rowWarps * (choice.blockColumns / choice.warpColumns);
    // Warpgroups begin at whole swizzles of what lies along rows.
    int64_t ofGroup = isTransposed(choice) ? warpsPerGroup : 1;
    auto isAligned = [&](bool isAlongDepth, int64_t size, int64_t all) {
      return isAlongDepth || size == all ||
             size * facts.elementBytes % rowBytes == 0;
    };
    int64_t widest =
        isTransposed(choice) ? choice.warpRows : choice.warpColumns;
    bool isWhole =
        choice.warps > 0 &&
        isAligned(facts.isRhsAlongDepth, choice.warpColumns * ofGroup,
                  choice.blockColumns) &&
        isAligned(facts.isLhsAlongDepth,
                  choice.warpRows * warpsPerGroup / ofGroup,
                  choice.blockRows) &&
        choice.warps % warpsPerGroup == 0 && chunk % depth == 0 &&
        chunk * facts.elementBytes <= rowBytes &&
        (pins.warps == 0 || choice.warps == pins.warps) &&
        widest <= mostColumns;
    if (isTransposed(choice))
      isWhole &= choice.blockColumns / choice.warpColumns % warpsPerGroup == 0;
    if (!isWhole || !fits(choice, facts, target))
      return;
    choice.nanoseconds = estimate(choice, facts, target);
    if (!best || choice.nanoseconds < best->nanoseconds)
      best = choice;
  };
  auto considerTile = [&](int64_t blockRows, int64_t blockColumns,
                          int64_t warpRows, int64_t warpColumns) {
    choice.blockRows = blockRows;
    choice.blockColumns = blockColumns;
    choice.warpRows = warpRows;
    choice.warpColumns = warpColumns;
    for (int64_t stages : pins.stages
                              ? std::vector<int64_t>{pins.stages}
                              : std::vector<int64_t>{8, 7, 6, 5, 4, 3, 2}) {
      if (!pins.stages && stages > std::max<int64_t>(chunks, 2))
        continue;
      choice.stages = stages;
      consider();
    }
  };
  for (int64_t blockRows : getPowers(instructionRows, 256, pins.blockRows))
    for (int64_t blockColumns :
         getPowers(leastColumns, widest, pins.blockColumns))
      for (int64_t warpRows : getPowers(16, 32, pins.warpRows))
        for (int64_t warpColumns :
             getPowers(blockColumns / 2, blockColumns, pins.warpColumns))
          considerTile(blockRows, blockColumns, warpRows, warpColumns);
  // Few rows are the instruction's N, of which there may be few.
  int64_t fewRows =
      std::max<int64_t>(llvm::PowerOf2Ceil(facts.rows), leastColumns);
  if (fewRows < instructionRows)
    for (int64_t blockRows : getPowers(fewRows, fewRows, pins.blockRows))
      for (int64_t blockColumns :
           getPowers(instructionRows, 256, pins.blockColumns))
        for (int64_t warpRows : getPowers(blockRows, blockRows, pins.warpRows))
          for (int64_t warpColumns : getPowers(16, 32, pins.warpColumns))
            considerTile(blockRows, blockColumns, warpRows, warpColumns);
  if (!best) {
    error = "no tile of a contraction by wgmma that agrees with what is pinned "
            "fits " +
            target.chip + "; use smaller blocks or fewer stages";
    return std::nullopt;
  }
  best->reason =
      llvm::formatv(
          "blocks of {0}x{1} in chunks of {2}, {3} at once, {4}x{5} in each of "
          "{6} warps by wgmma: {7} blocks on {8} multiprocessors",
          best->blockRows, best->blockColumns, best->chunk, best->stages,
          best->warpRows, best->warpColumns, best->warps, best->blocks,
          target.multiprocessors)
          .str();
  return best;
}

} // namespace deplo
