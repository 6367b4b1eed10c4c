// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/ContractionModel.h"

#include "deplo/Analysis/MemoryFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

namespace deplo {

static constexpr int64_t lanes = 32;
static constexpr int64_t vectorBytes = 16;

/// Multiply-adds that don't wait for one another, of all threads of a lane's
/// number on a multiprocessor, which keep its pipes busy while registers are
/// loaded: four warps of 8x8.
static constexpr double independentSums = 256;
/// Between the last multiply-add of a chunk and the first of the next one.
static constexpr double chunkNanoseconds = 30;

/// The powers of two from `least` to `most`, or `pin` alone.
static std::vector<int64_t> getPowers(int64_t least, int64_t most,
                                      int64_t pin) {
  std::vector<int64_t> powers;
  for (int64_t power = least; power <= most; power *= 2)
    powers.push_back(power);
  return pin ? std::vector<int64_t>{pin} : powers;
}

/// Accumulators, one step of both operands, and what addresses and loops take.
static int64_t getRegisters(const ContractionChoice &choice,
                            const ContractionFacts &facts) {
  constexpr int64_t forAddresses = 40;
  return choice.threadRows * choice.threadColumns * facts.sums +
         (choice.threadRows + choice.threadColumns) * choice.vector +
         forAddresses;
}

/// Of a chunk, or in a block or thread: what all operands have.
static int64_t getLines(const ContractionFacts &facts, int64_t rows,
                        int64_t columns) {
  return rows * facts.rowOperands + columns * facts.columnOperands;
}

/// Whether a multiprocessor can run `choice`; if so, fills in how many blocks
/// of it.
static bool fits(ContractionChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target) {
  int64_t threads = choice.warps * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  choice.registersPerThread = getRegisters(choice, facts);
  // Rows of a chunk, padded by a vector.
  choice.sharedBytes = getLines(facts, choice.blockRows, choice.blockColumns) *
                       (choice.chunk * facts.elementBytes + vectorBytes) *
                       choice.stages;
  if (choice.registersPerThread > target.registersPerThread ||
      choice.sharedBytes > target.sharedPerBlock)
    return false;
  choice.blocksPerMultiprocessor =
      std::min({target.blocksPerMultiprocessor,
                target.warpsPerMultiprocessor / choice.warps,
                target.registersPerMultiprocessor /
                    (choice.registersPerThread * threads),
                target.sharedPerMultiprocessor /
                    std::max<int64_t>(choice.sharedBytes, 1)});
  return choice.blocksPerMultiprocessor > 0;
}

/// What all blocks take, one wave after the other. A chunk waits for memory
/// unless other blocks, or chunks that are there already, have work.
static double estimate(ContractionChoice &choice, const ContractionFacts &facts,
                       const TargetDescription &target) {
  choice.blocks = facts.batches *
                  int64_t(llvm::divideCeil(facts.rows, choice.blockRows)) *
                  int64_t(llvm::divideCeil(facts.columns, choice.blockColumns));
  double multiplyAddsPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors;
  double depth = llvm::alignTo(facts.depth, choice.chunk);
  double chunks = depth / choice.chunk;
  double arithmetic = double(choice.blockRows) * choice.blockColumns *
                      facts.sums * depth / multiplyAddsPerNanosecond;
  // A thread reads rows + columns words for rows * columns multiply-adds, and
  // shared memory serves a quarter as many words as the pipes multiply.
  double sums = choice.threadRows * choice.threadColumns * facts.sums;
  double reads =
      4.0 * getLines(facts, choice.threadRows, choice.threadColumns) / sums;
  double fill =
      double(getLines(facts, choice.blockRows, choice.blockColumns)) * depth *
      facts.elementBytes /
      (l2Bandwidth * target.dramBytesPerSecond / 1e9 / target.multiprocessors);
  double work = arithmetic * std::max(1.0, reads);
  // What doesn't limit still costs something.
  double perBlock = choice.stages > 1
                        ? std::max(work, fill) + std::min(work, fill) / 8
                        : work + fill;

  int64_t perWave = choice.blocksPerMultiprocessor * target.multiprocessors;
  choice.waves = double(choice.blocks) / perWave;
  double nanoseconds = 0;
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, perWave);
    int64_t busiest = llvm::divideCeil(wave, target.multiprocessors);
    double occupancy =
        std::min(1.0, busiest * choice.warps * sums / independentSums);
    double covered = (choice.stages * busiest - 1) * perBlock / chunks;
    double stall = std::max(0.0, memoryLatencyNanoseconds - covered) +
                   chunkNanoseconds / busiest;
    int64_t waves = std::max<int64_t>(rest / perWave, 1);
    nanoseconds += waves * (busiest * perBlock / occupancy +
                            memoryLatencyNanoseconds + chunks * stall);
    rest -= waves * wave;
  }
  double bytes = double(facts.batches) * depth * facts.elementBytes *
                 getLines(facts, facts.rows, facts.columns);
  return std::max(nanoseconds, bytes / target.dramBytesPerSecond * 1e9);
}

static std::string getReason(const ContractionChoice &choice,
                             const TargetDescription &target) {
  return llvm::formatv(
             "blocks of {0}x{1} in chunks of {2}, {3} at once, {4}x{5} in each "
             "of {6} threads: {7} blocks, {8} on each of {9} multiprocessors "
             "at once",
             choice.blockRows, choice.blockColumns, choice.chunk, choice.stages,
             choice.threadRows, choice.threadColumns, choice.warps * lanes,
             choice.blocks, choice.blocksPerMultiprocessor,
             target.multiprocessors)
      .str();
}

std::optional<ContractionChoice>
chooseContraction(const ContractionFacts &facts,
                  const TargetDescription &target, const ContractionPins &pins,
                  std::string &error) {
  std::optional<ContractionChoice> best;
  auto most = [](int64_t extent) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(extent), 16, 128);
  };
  // A row of a chunk is a line of memory.
  constexpr int64_t chunkBytes = 128;
  ContractionChoice choice{};
  choice.chunk = pins.chunk
                     ? pins.chunk
                     : std::min<int64_t>(llvm::PowerOf2Ceil(facts.depth),
                                         chunkBytes / facts.elementBytes);
  choice.vector = pins.vector
                      ? pins.vector
                      : std::min<int64_t>(vectorBytes / 4, choice.chunk);
  choice.unroll = pins.unroll ? pins.unroll : 4;
  // Two chunks are copied while one is added, if there are as many.
  int64_t chunks = llvm::divideCeil(facts.depth, choice.chunk);
  int64_t stages = std::clamp<int64_t>(chunks, 1, 3);
  std::vector<int64_t> depths = {stages};
  if (pins.stages)
    depths = {pins.stages};
  else if (stages > 1)
    depths.push_back(1); // where shared memory is short
  for (int64_t blockRows : getPowers(16, most(facts.rows), pins.blockRows))
    for (int64_t blockColumns :
         getPowers(16, most(facts.columns), pins.blockColumns))
      for (int64_t threadRows : getPowers(2, 8, pins.threadRows))
        for (int64_t threadColumns : getPowers(2, 8, pins.threadColumns))
          for (int64_t depth : depths) {
            choice.blockRows = blockRows;
            choice.blockColumns = blockColumns;
            choice.threadRows = threadRows;
            choice.threadColumns = threadColumns;
            choice.stages = depth;
            int64_t threads =
                blockRows * blockColumns / (threadRows * threadColumns);
            choice.warps =
                pins.warps ? pins.warps : std::max<int64_t>(threads / lanes, 1);
            bool isWhole = threads >= lanes || pins.warps || pins.blockRows;
            if (!isWhole || !fits(choice, facts, target))
              continue;
            choice.nanoseconds = estimate(choice, facts, target);
            if (!best || choice.nanoseconds < best->nanoseconds)
              best = choice;
          }
  if (!best) {
    error = "no tile of a contraction that agrees with what is pinned fits " +
            target.chip + "; use smaller blocks, or larger ones of a thread";
    return std::nullopt;
  }
  best->reason = getReason(*best, target);
  return best;
}

} // namespace deplo
