// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/MmaModel.h"

#include "TileCandidates.h"

#include "deplo/Analysis/FragmentLayouts.h"
#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/Occupancy.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace deplo {

static constexpr int64_t lanes = 32;
static constexpr int64_t mmaRows = 16, mmaColumns = 8;
/// Of shared memory, which a multiprocessor reads in a cycle.
static constexpr int64_t lineBytes = 128;

// Fitted to 110 schedules of 24 products, measured on an H200
// (docs/rationale/contractions.md, "What the model weighs").

/// The part of the rate of tensor cores that mma.sync reaches.
static constexpr double reachedRate = 0.6;
/// Each warp runs on one of the parts of a multiprocessor.
static constexpr double parts = schedulersPerMultiprocessor;
/// Between the last instruction of a chunk and the first of the next one: the
/// barrier and what it takes to start again.
static constexpr double chunkNanoseconds = 30;
/// What doesn't limit a chunk, and what doesn't limit a wave, count so much.
static constexpr double shareOfChunk = 0.1, shareOfWave = 0.25;
/// From the start of a block to its first chunk, and the stores of its result.
static constexpr double blockNanoseconds = 1100;
/// What L2 gives all multiprocessors together, in times the bandwidth of
/// memory.
static constexpr double fillBandwidth = 1.9;
/// The part of the bandwidth on the data sheet that streams reach, and what of
/// its share a multiprocessor can stream.
static constexpr double reachedBandwidth = 0.9, streamBurst = 1.5;
/// What is read again and again stays in L2 if it takes so much of it.
static constexpr double partOfL2 = 0.6;

/// What can't be copied asynchronously goes through registers between barriers:
/// what that takes for a chunk, and for each of a thread's elements. Fitted to
/// 5 products of bf16 in rows of odd lengths.
static constexpr double syncNanoseconds = 1300, syncElementNanoseconds = 58;

/// Of f32 in three pieces of bf16: instructions of tensor cores for one of f16,
/// the part of their rate that is reached, and what it takes a part of a
/// multiprocessor to make pieces of one element in each lane. Fitted to 24
/// schedules of squares, measured on an H200; both add up.
static constexpr double instructionsOfPieces = 6, reachedRateOfPieces = 0.8,
                        cyclesOfSplit = 8.5;

/// What one instruction sums over.
static int64_t getDepth(const ContractionFacts &facts) {
  return getMmaK(facts.inPieces ? 16 : 8 * facts.elementBytes);
}

/// Accumulators, fragments of two steps, and what addresses and loops take. Of
/// f32 in pieces, an instruction has the words of two fragments, pieces half as
/// many words as their numbers, and several sums from zero are on the way.
static int64_t getRegisters(const MmaChoice &choice,
                            const ContractionFacts &facts) {
  constexpr int64_t forAddresses = 44, words = 4;
  int64_t fragments = (choice.warpRows / mmaRows * words +
                       choice.warpColumns / mmaColumns * words / 2);
  constexpr int64_t sumsOnTheWay = 16;
  int64_t inUse = facts.inPieces ? 6 * fragments + sumsOnTheWay : 2 * fragments;
  return facts.sums * choice.warpRows * choice.warpColumns / lanes + inUse +
         forAddresses +
         facts.getGatheredRegisters(choice.blockRows, choice.blockColumns,
                                    choice.chunk, choice.warps * lanes);
}

/// What a block copies of all operands for a chunk.
static int64_t getCopiedBytes(const MmaChoice &choice,
                              const ContractionFacts &facts) {
  return facts.getCopiedBytes(choice.blockRows, choice.blockColumns) *
         choice.chunk;
}

/// Whether a multiprocessor can run `choice`; if so, fills in how many blocks
/// of it.
static bool fits(MmaChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target, const MmaPins &pins) {
  int64_t threads = choice.warps * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  choice.registersPerThread = getRegisters(choice, facts);
  choice.sharedBytes =
      getCopiedBytes(choice, facts) * choice.stages +
      facts.getComputedBytes(choice.blockRows, choice.blockColumns) *
          choice.chunk +
      facts.getTotalBytes(choice.blockRows, choice.blockColumns);
  // What is pinned may take fewer; else the assembler tells of spills.
  if (pins.warpRows && pins.warpColumns)
    choice.registersPerThread =
        std::min(choice.registersPerThread, target.registersPerThread);
  if (choice.registersPerThread > target.registersPerThread ||
      choice.sharedBytes > target.sharedPerBlock)
    return false;
  choice.blocksPerMultiprocessor = countResidentBlocks(
      target, choice.warps, choice.registersPerThread, choice.sharedBytes);
  return choice.blocksPerMultiprocessor > 0;
}

/// What a multiprocessor takes for a chunk of each of its `busiest` blocks,
/// where `blocks` run at once, and what of that takes longest: the slowest of
/// instructions, reads of fragments and copies, and a part of the others.
/// Copies run ahead, but a ring is refilled once in a latency.
static std::pair<double, const char *>
estimateChunk(const MmaChoice &choice, const ContractionFacts &facts,
              const TargetDescription &target, int64_t blocks,
              int64_t busiest) {
  // Rates of one multiprocessor; tf32 has half the rate of f16.
  double ofHalves = target.mmaFlopsPerSecond / 2e9 / target.multiprocessors;
  double multiplyAddsPerNanosecond =
      facts.inPieces ? ofHalves * reachedRateOfPieces / instructionsOfPieces
                     : ofHalves * reachedRate * 2 / facts.elementBytes;
  double cyclesPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors / lineBytes;
  double bandwidth = target.dramBytesPerSecond / 1e9;

  double occupancy = std::min(1.0, busiest * choice.warps / parts);
  double arithmetic = double(facts.sums) * busiest * choice.blockRows *
                      choice.blockColumns * choice.chunk /
                      multiplyAddsPerNanosecond / occupancy;
  if (facts.inPieces)
    arithmetic += double(facts.sums) * busiest * choice.warps *
                  (choice.warpRows + choice.warpColumns) * choice.chunk /
                  lanes * cyclesOfSplit / parts / cyclesPerNanosecond /
                  occupancy;
  double fragmentBytes = double(facts.sums) * choice.warps *
                         (choice.warpRows + choice.warpColumns) * choice.chunk *
                         facts.elementBytes;
  double copiedBytes = getCopiedBytes(choice, facts);
  double reads =
      busiest * (fragmentBytes + copiedBytes) / lineBytes / cyclesPerNanosecond;
  double fill = std::max(busiest * copiedBytes * target.multiprocessors /
                             (bandwidthBurst * bandwidth),
                         blocks * copiedBytes / (fillBandwidth * bandwidth));
  double slowest = std::max({arithmetic, reads, fill});
  // Operands are computed between barriers.
  double computed = busiest * choice.chunk *
                    facts.getComputeNanoseconds(target, choice.blockRows,
                                                choice.blockColumns);
  double work =
      slowest + (arithmetic + reads + fill - slowest) * shareOfChunk + computed;
  double refill = choice.stages > 1
                      ? memoryLatencyNanoseconds / (choice.stages - 1)
                      : memoryLatencyNanoseconds + work;
  int64_t unaligned =
      choice.chunk * (choice.blockRows * facts.ofRows.unaligned +
                      choice.blockColumns * facts.ofColumns.unaligned);
  if (unaligned > 0)
    work += syncNanoseconds +
            unaligned * syncElementNanoseconds / (choice.warps * lanes);
  const char *limit = refill > work           ? "latency of copies"
                      : slowest == arithmetic ? "instructions"
                      : slowest == reads      ? "shared memory"
                                              : "L2";
  return {std::max(work, refill) + chunkNanoseconds / busiest, limit};
}

/// What all blocks take, one wave after the other: chunks, or the bytes of the
/// operands from memory.
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
  double nanoseconds = 0;
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, perWave);
    int64_t busiest = llvm::divideCeil(wave, target.multiprocessors);
    int64_t waves = std::max<int64_t>(rest / perWave, 1);
    auto [ofChunk, limit] = estimateChunk(choice, facts, target, wave, busiest);
    double computed = chunks * ofChunk;
    double active =
        double(std::min(wave, target.multiprocessors)) / target.multiprocessors;
    double streamed = bytes * wave / choice.blocks / bandwidth /
                      std::min(reachedBandwidth, streamBurst * active);
    nanoseconds +=
        waves * (std::max(computed, streamed) +
                 std::min(computed, streamed) * shareOfWave + blockNanoseconds);
    if (rest == choice.blocks)
      choice.limit = streamed > computed ? "memory" : limit;
    rest -= waves * wave;
  }
  return nanoseconds;
}

static std::string getReason(const MmaChoice &choice,
                             const TargetDescription &target) {
  return llvm::formatv(
             "blocks of {0}x{1} in chunks of {2}, {3} at once, {4}x{5} in each "
             "of {6} warps by mma.sync: {7} blocks, {8} on each of {9} "
             "multiprocessors at once, limited by {10}",
             choice.blockRows, choice.blockColumns, choice.chunk, choice.stages,
             choice.warpRows, choice.warpColumns, choice.warps, choice.blocks,
             choice.blocksPerMultiprocessor, target.multiprocessors,
             choice.limit)
      .str();
}

std::optional<MmaChoice> chooseMma(const ContractionFacts &facts,
                                   const TargetDescription &target,
                                   const MmaPins &pins, std::string &error) {
  if (auto reason = facts.checkColumns()) {
    error = *reason;
    return std::nullopt;
  }
  int64_t depth = getDepth(facts);
  auto most = [](int64_t extent) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(extent), mmaRows,
                               longestTile);
  };
  int64_t mostChunk = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(facts.depth), depth, lineBytes / facts.elementBytes);
  std::optional<MmaChoice> best;
  MmaChoice choice{};
  auto consider = [&] {
    choice.warps = choice.blockRows / choice.warpRows *
                   (choice.blockColumns / choice.warpColumns);
    bool isWhole = choice.warps > 0 && choice.chunk % depth == 0 &&
                   (pins.warps == 0 || choice.warps == pins.warps) &&
                   choice.blockRows % choice.warpRows == 0 &&
                   choice.blockColumns % choice.warpColumns == 0;
    if (!isWhole || !fits(choice, facts, target, pins))
      return;
    choice.nanoseconds =
        estimateRange(facts, [&](const ContractionFacts &ofCall) {
          return estimate(choice, ofCall, target);
        });
    if (!best || choice.nanoseconds < best->nanoseconds)
      best = choice;
  };
  for (int64_t blockRows :
       getPowers(mmaRows, most(facts.mostRows ? facts.mostRows : facts.rows),
                 pins.blockRows))
    for (int64_t blockColumns :
         getPowers(mmaRows, most(facts.columns),
                   facts.getPinnedColumns(pins.blockColumns)))
      for (int64_t warpRows : getPowers(mmaRows, 64, pins.warpRows))
        for (int64_t warpColumns : getPowers(mmaRows, 64, pins.warpColumns))
          for (int64_t chunk :
               getPowers(std::max(mostChunk / 2, depth), mostChunk, pins.chunk))
            // A ring of all chunks would leave no loop. Of those that take as
            // long, one of four stages bears delays and leaves room to others.
            for (int64_t stages : getNumbers({4, 3, 6, 8, 2, 1}, pins.stages)) {
              int64_t chunks = llvm::divideCeil(facts.depth, chunk);
              if (!pins.stages && stages > std::max<int64_t>(chunks - 1, 1))
                continue;
              choice.blockRows = blockRows;
              choice.blockColumns = blockColumns;
              choice.warpRows = warpRows;
              choice.warpColumns = warpColumns;
              choice.chunk = chunk;
              choice.stages = stages;
              consider();
            }
  if (!best) {
    error = sayNoTileFits("contraction by mma.sync", target,
                          "smaller blocks or fewer stages");
    return std::nullopt;
  }
  best->reason = getReason(*best, target);
  return best;
}

} // namespace deplo
