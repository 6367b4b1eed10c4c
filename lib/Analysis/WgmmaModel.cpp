// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WgmmaModel.h"

#include "TileCandidates.h"

#include "deplo/Analysis/FragmentLayouts.h"
#include "deplo/Analysis/MemoryFacts.h"

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
/// Registers of a thread beside accumulators.
static constexpr int64_t forAddresses = 56;

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
      facts.sums * choice.warpRows * choice.warpColumns / lanes + forAddresses;
  choice.sharedBytes =
      getCopiedBytes(choice, facts) * choice.stages + barrierBytes;
  choice.blocksPerMultiprocessor = 1;
  // The warpgroup that copies gives most of its registers to the others.
  int64_t most = std::min(target.registersPerThread,
                          target.registersPerMultiprocessor /
                              (choice.warps * lanes + warpsPerGroup * 8));
  return choice.registersPerThread <= most &&
         choice.sharedBytes <= target.sharedPerBlock;
}

/// What a block takes for a chunk while `blocks` run: the slowest of
/// instructions, what these read of shared memory, and copies; a ring is
/// refilled once in a latency.
static double estimateChunk(const MmaChoice &choice,
                            const ContractionFacts &facts,
                            const TargetDescription &target, int64_t blocks) {
  double multiplyAddsPerNanosecond = reachedRate * target.wgmmaFlopsPerSecond /
                                     2e9 / target.multiprocessors * 2 /
                                     facts.elementBytes;
  double cyclesPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors / lineBytes;
  double bandwidth = target.dramBytesPerSecond / 1e9;

  double groups = double(choice.warps) / warpsPerGroup;
  double groupRows = choice.warpRows * warpsPerGroup;
  double arithmetic = double(facts.sums) * choice.blockRows *
                      choice.blockColumns * choice.chunk /
                      multiplyAddsPerNanosecond;
  double readBytes =
      double(facts.sums) * groups *
      (groupRows + choice.warpColumns * groupRows / instructionRows) *
      choice.chunk * facts.elementBytes;
  double reads = readBytes / lineBytes / cyclesPerNanosecond;
  double copiedBytes = getCopiedBytes(choice, facts);
  double fill = std::max(copiedBytes * target.multiprocessors /
                             (bandwidthBurst * bandwidth),
                         blocks * copiedBytes / (fillBandwidth * bandwidth));
  double slowest = std::max({arithmetic, reads, fill});
  double work = slowest + (arithmetic + reads + fill - slowest) * shareOfChunk;
  double refill = copyNanoseconds / std::max<int64_t>(choice.stages - 1, 1);
  return std::max(work, refill);
}

/// What all blocks take, one on each multiprocessor, wave after wave: chunks,
/// or the bytes of the operands from memory.
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
  choice.waves = double(choice.blocks) / target.multiprocessors;
  double nanoseconds = firstBlockNanoseconds - blockNanoseconds;
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, target.multiprocessors);
    int64_t waves = rest / wave;
    double computed = chunks * estimateChunk(choice, facts, target, wave);
    double streamed = bytes * wave / choice.blocks / bandwidth /
                      std::min(reachedBandwidth, streamBurst * double(wave) /
                                                     target.multiprocessors);
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
  if (auto reason = facts.checkColumns()) {
    error = *reason;
    return std::nullopt;
  }
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
    // Warpgroups begin at whole swizzles of columns that lie along rows.
    bool isAligned = facts.isRhsAlongDepth ||
                     choice.warpColumns == choice.blockColumns ||
                     choice.warpColumns * facts.elementBytes % rowBytes == 0;
    bool isWhole = choice.warps > 0 && isAligned &&
                   rowWarps % warpsPerGroup == 0 && chunk % depth == 0 &&
                   chunk * facts.elementBytes <= rowBytes &&
                   (pins.warps == 0 || choice.warps == pins.warps) &&
                   choice.warpColumns <= mostColumns;
    if (!isWhole || !fits(choice, facts, target))
      return;
    choice.nanoseconds = estimate(choice, facts, target);
    if (!best || choice.nanoseconds < best->nanoseconds)
      best = choice;
  };
  for (int64_t blockRows : getPowers(instructionRows, 256, pins.blockRows))
    for (int64_t blockColumns :
         getPowers(leastColumns, widest,
                   facts.getPinnedColumns(pins.blockColumns)))
      for (int64_t warpRows : getPowers(16, 32, pins.warpRows))
        for (int64_t warpColumns :
             getPowers(blockColumns / 2, blockColumns, pins.warpColumns))
          for (int64_t stages :
               pins.stages ? std::vector<int64_t>{pins.stages}
                           : std::vector<int64_t>{8, 7, 6, 5, 4, 3, 2}) {
            if (!pins.stages && stages > std::max<int64_t>(chunks, 2))
              continue;
            choice.blockRows = blockRows;
            choice.blockColumns = blockColumns;
            choice.warpRows = warpRows;
            choice.warpColumns = warpColumns;
            choice.stages = stages;
            consider();
          }
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
