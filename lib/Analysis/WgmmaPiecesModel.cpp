// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/WgmmaPiecesModel.h"

#include "TileCandidates.h"

#include "deplo/Analysis/CopyModel.h"
#include "deplo/Analysis/MemoryFacts.h"
#include "deplo/Analysis/Occupancy.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace deplo {

static constexpr int64_t lanes = 32, warpsPerGroup = 4;
static constexpr int64_t instructionRows = 64, warpRows = 16, leastColumns = 32,
                         mostColumns = 128;
/// Of summed elements, after which sums go to accumulators in f32.
static constexpr int64_t chunkDepth = 32;
static constexpr int64_t pieceBytes = 2;
/// How often a chunk's sums are read in registers while no instruction
/// computes: those of high pieces are meanwhile.
static constexpr int64_t passes = 1;
/// Of shared memory, which a multiprocessor reads in a cycle.
static constexpr double lineBytes = 128;
/// Of a block's barriers.
static constexpr int64_t barrierBytes = 1024;
/// Registers of a thread beside accumulators.
static constexpr int64_t forAddresses = 40;

// Fitted to schedules of squares of 1024 to 8192, measured on an H200.

/// The part of the rate on the data sheet that the power of a device allows.
static constexpr double reachedRate = 0.67;
/// What copies to shared memory take of its time, in times that of reading as
/// many bytes.
static constexpr double costOfCopies = 1.75;
/// From a copy's start to its bytes.
static constexpr double copyNanoseconds = 650;
/// From the last instruction of a scale to its sums, which another warpgroup's
/// instructions hide.
static constexpr double passNanoseconds = 60;
/// A block's start, its first copies and its last stores.
static constexpr double firstBlockNanoseconds = 2000, blockNanoseconds = 600;
/// What a chunk takes longer in rings of three, five or six slots, of three
/// pieces: 512x2048x2048 by 64x128, pieces in memory, takes 57 us with four
/// slots, 61 with five or six.
static constexpr double oddRingNanoseconds = 45;
/// What L2 gives all multiprocessors together, in times the bandwidth of
/// memory.
static constexpr double fillBandwidth = 3.5;
/// What counts of the shorter of computing and reading.
static constexpr double shareOfStream = 0.25;

namespace {

/// The pieces of a number of f32, and products of pieces for one of f32.
struct Form {
  int64_t pieces, products;

  explicit Form(const ContractionFacts &facts)
      : pieces(facts.ofScaledRows ? 2 : 3),
        products(facts.ofScaledRows ? productsOfScaledPieces
                                    : productsOfPieces) {}
  int64_t getBytes() const { return pieces * pieceBytes; }
};

} // namespace

/// What adding a chunk's sums takes that instructions don't hide, where they
/// are as few as those of two pieces.
static constexpr double sumsNanoseconds = 170;

// Fitted to 208 schedules of products of 32 and 128 rows whose weights' pieces
// are made in registers (H200).

/// Cycles of a warp for a number whose pieces it makes in registers, which
/// other warpgroups' instructions don't hide, and of one that lies along the
/// sum in memory.
static constexpr double cyclesOfSplit = 8, cyclesOfSplitAlong = 11;
/// What each further block of a multiprocessor takes besides its chunks.
static constexpr double blockOfSplitNanoseconds = 2300;
/// What a thread holds of a chunk of the operand whose pieces it makes.
static constexpr int64_t registersOfSplit = 40;

/// Bytes of an element of an operand in memory and in shared memory.
static int64_t getBytes(const MmaChoice &choice, const ContractionFacts &facts,
                        WholeOperand operand) {
  constexpr int64_t wholeBytes = 4;
  return choice.whole == operand ? wholeBytes : Form(facts).getBytes();
}

/// Whether the instruction's rows are columns of the result.
static bool isTransposed(const MmaChoice &choice) {
  return choice.whole == WholeOperand::Rhs;
}

/// Of a warpgroup: columns of its instructions.
static int64_t getColumns(const MmaChoice &choice) {
  return isTransposed(choice) ? choice.warpRows : choice.warpColumns;
}

/// Of a multiprocessor's copies for a chunk.
static int64_t getCopiedBytes(const MmaChoice &choice,
                              const ContractionFacts &facts) {
  return (choice.blockRows * facts.ofRows.count *
              getBytes(choice, facts, WholeOperand::Lhs) +
          choice.blockColumns * facts.ofColumns.count *
              getBytes(choice, facts, WholeOperand::Rhs)) *
         choice.chunk;
}

static bool fits(MmaChoice &choice, const ContractionFacts &facts,
                 const TargetDescription &target) {
  int64_t threads = (choice.warps + warpsPerGroup) * lanes;
  if (threads > target.threadsPerBlock)
    return false;
  // Accumulators, their rests, and what instructions of one of them add up.
  choice.registersPerThread =
      (2 * facts.sums + 1) * choice.warpRows * choice.warpColumns / lanes +
      forAddresses +
      (choice.whole == WholeOperand::None ? 0 : registersOfSplit);
  choice.sharedBytes =
      getCopiedBytes(choice, facts) * choice.stages + barrierBytes;
  choice.blocksPerMultiprocessor = countResidentRoles(
      target, choice.warps, choice.registersPerThread, choice.sharedBytes);
  return choice.blocksPerMultiprocessor > 0 &&
         choice.sharedBytes <= target.sharedPerBlock;
}

/// What a multiprocessor takes for a chunk of each of its `busiest` blocks
/// while `blocks` run: instructions, what these read of shared memory, what one
/// warpgroup does between them, or copies.
static double estimateChunk(const MmaChoice &choice,
                            const ContractionFacts &facts,
                            const TargetDescription &target, int64_t blocks,
                            int64_t busiest) {
  double multiplyAddsPerNanosecond = reachedRate * target.wgmmaFlopsPerSecond /
                                     2e9 / target.multiprocessors /
                                     Form(facts).products;
  double cyclesPerNanosecond =
      target.f32FlopsPerSecond / 2e9 / target.multiprocessors / lineBytes;
  double arithmetic = double(facts.sums) * choice.blockRows *
                      choice.blockColumns * choice.chunk /
                      multiplyAddsPerNanosecond;
  double groups = double(choice.warps) / warpsPerGroup;
  double ofGroup = arithmetic / groups +
                   double(facts.sums) * passes *
                       (passNanoseconds + choice.warpRows * choice.warpColumns /
                                              lanes / cyclesPerNanosecond);
  double copiedBytes = getCopiedBytes(choice, facts);
  double readOfPieces = double(Form(facts).products) * pieceBytes;
  double readOfRows = readOfPieces * instructionRows;
  double split = 0;
  if (choice.whole != WholeOperand::None) {
    // The four warps of a group issue side by side.
    double numbers = double(facts.sums) * warpRows * choice.chunk / lanes;
    bool isAlong = choice.whole == WholeOperand::Lhs ? facts.isLhsAlongDepth
                                                     : facts.isRhsAlongDepth;
    split = groups * numbers * (isAlong ? cyclesOfSplitAlong : cyclesOfSplit) /
            cyclesPerNanosecond;
    readOfRows =
        double(getBytes(choice, facts, choice.whole)) * instructionRows;
  }
  double readBytes = double(facts.sums) * groups * choice.chunk *
                     (readOfRows + readOfPieces * getColumns(choice));
  double shared = (readBytes + costOfCopies * copiedBytes) / lineBytes /
                  cyclesPerNanosecond;
  double bandwidth = target.dramBytesPerSecond / 1e9;
  double fill = std::max(busiest * copiedBytes * target.multiprocessors /
                             (bandwidthBurst * bandwidth),
                         blocks * copiedBytes / (fillBandwidth * bandwidth));
  double refill = copyNanoseconds / std::max<int64_t>(choice.stages - 1, 1);
  bool isEven = facts.ofScaledRows || llvm::isPowerOf2_64(choice.stages);
  double ring = isEven ? 0 : oddRingNanoseconds;
  return std::max(
             {busiest * arithmetic, busiest * shared, ofGroup, fill, refill}) +
         busiest * split + (facts.ofScaledRows ? sumsNanoseconds : 0) + ring;
}

static double getElements(const ContractionFacts &facts, bool ofRows) {
  return double(facts.batches) * facts.depth *
         (ofRows ? facts.rows * facts.ofRows.count
                 : facts.columns * facts.ofColumns.count);
}

/// What it takes to read both operands.
static double estimateStream(const MmaChoice &choice,
                             const ContractionFacts &facts,
                             const TargetDescription &target) {
  return estimateTransfer(getElements(facts, true) *
                                  getBytes(choice, facts, WholeOperand::Lhs) +
                              getElements(facts, false) *
                                  getBytes(choice, facts, WholeOperand::Rhs),
                          target);
}

/// What kernels take that write the pieces of operands to memory in each call.
static double estimateSplit(const MmaChoice &choice, ContractionFacts facts,
                            const TargetDescription &target) {
  constexpr int64_t wholeBytes = 4;
  facts.ofRows.count -= facts.ofRows.prepared;
  facts.ofColumns.count -= facts.ofColumns.prepared;
  double elements = 0;
  int64_t kernels = 0;
  for (bool ofRows : {true, false})
    if (choice.whole != (ofRows ? WholeOperand::Lhs : WholeOperand::Rhs)) {
      elements += getElements(facts, ofRows);
      kernels += ofRows ? facts.ofRows.count : facts.ofColumns.count;
    }
  return estimateCopies(elements * (wholeBytes + Form(facts).getBytes()),
                        kernels, target);
}

/// What all blocks take, wave after wave.
static double estimate(MmaChoice &choice, const ContractionFacts &facts,
                       const TargetDescription &target) {
  choice.blocks = facts.batches *
                  int64_t(llvm::divideCeil(facts.rows, choice.blockRows)) *
                  int64_t(llvm::divideCeil(facts.columns, choice.blockColumns));
  double chunks = llvm::divideCeil(facts.depth, choice.chunk);
  int64_t perWave = choice.blocksPerMultiprocessor * target.multiprocessors;
  choice.waves = double(choice.blocks) / perWave;
  double ofBlock = choice.whole == WholeOperand::None ? blockNanoseconds
                                                      : blockOfSplitNanoseconds;
  double nanoseconds = firstBlockNanoseconds - ofBlock;
  for (int64_t rest = choice.blocks; rest > 0;) {
    int64_t wave = std::min(rest, perWave);
    int64_t waves = rest / wave;
    int64_t busiest = llvm::divideCeil(wave, target.multiprocessors);
    nanoseconds +=
        waves * (chunks * estimateChunk(choice, facts, target, wave, busiest) +
                 ofBlock);
    rest -= waves * wave;
  }
  double streamed = estimateStream(choice, facts, target);
  return std::max(nanoseconds, streamed) +
         std::min(nanoseconds, streamed) * shareOfStream +
         estimateSplit(choice, facts, target);
}

std::optional<MmaChoice> chooseWgmmaOfPieces(const ContractionFacts &facts,
                                             const TargetDescription &target,
                                             const MmaPins &pins,
                                             std::string &error) {
  // Twice as deep where less is copied for as many products.
  llvm::SmallVector<int64_t, 2> chunksOfForm = {chunkDepth};
  if (facts.ofScaledRows)
    chunksOfForm.push_back(2 * chunkDepth);
  std::optional<MmaChoice> best;
  MmaChoice choice{};
  auto consider = [&] {
    int64_t alongRows = choice.blockRows / choice.warpRows,
            alongColumns = choice.blockColumns / choice.warpColumns;
    choice.warps = alongRows * alongColumns;
    // Warpgroups begin at whole swizzles of what lies along rows.
    constexpr int64_t swizzleElements = 64;
    auto isAligned = [&](bool isAlongDepth, int64_t ofGroup, int64_t ofBlock) {
      return isAlongDepth || ofGroup == ofBlock ||
             ofGroup % swizzleElements == 0;
    };
    bool isWhole =
        choice.warps > 0 &&
        (isTransposed(choice)
             ? alongRows == 1 && alongColumns % warpsPerGroup == 0
             : alongRows % warpsPerGroup == 0 &&
                   isAligned(facts.isRhsAlongDepth, choice.warpColumns,
                             choice.blockColumns)) &&
        getColumns(choice) <= mostColumns &&
        (pins.chunk == 0 || pins.chunk == choice.chunk) &&
        (pins.warpRows == 0 || pins.warpRows == choice.warpRows) &&
        (pins.warpColumns == 0 || pins.warpColumns == choice.warpColumns) &&
        (pins.warps == 0 || choice.warps == pins.warps);
    if (!isWhole || !fits(choice, facts, target))
      return;
    choice.nanoseconds = estimate(choice, facts, target);
    if (!best || choice.nanoseconds < best->nanoseconds)
      best = choice;
  };
  auto considerTile = [&](int64_t blockRows, int64_t blockColumns,
                          int64_t rowsOfWarp, int64_t columnsOfWarp) {
    choice.blockRows = blockRows;
    choice.blockColumns = blockColumns;
    choice.warpRows = rowsOfWarp;
    choice.warpColumns = columnsOfWarp;
    for (int64_t chunk : chunksOfForm) {
      int64_t chunks = llvm::divideCeil(facts.depth, chunk);
      for (int64_t stages : getNumbers({4, 8, 6, 5, 3, 2}, pins.stages)) {
        choice.chunk = chunk;
        choice.stages = stages;
        if (pins.stages || stages <= std::max<int64_t>(chunks, 2))
          consider();
      }
    }
  };
  auto getWidest = [](int64_t size) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(size), leastColumns,
                               mostColumns);
  };
  for (WholeOperand whole :
       {WholeOperand::None, WholeOperand::Lhs, WholeOperand::Rhs}) {
    bool canBe =
        whole == WholeOperand::None ||
        (whole == WholeOperand::Lhs ? facts.canMapLhs : facts.canMapRhs);
    if (pins.whole
            ? *pins.whole != whole
            : !canBe || (pins.inRegisters &&
                         *pins.inRegisters != (whole != WholeOperand::None)))
      continue;
    choice.whole = whole;
    if (isTransposed(choice)) {
      for (int64_t blockColumns :
           getPowers(instructionRows, 256, pins.blockColumns))
        for (int64_t blockRows :
             getPowers(leastColumns, getWidest(facts.rows), pins.blockRows))
          considerTile(blockRows, blockColumns, blockRows, warpRows);
      continue;
    }
    for (int64_t blockRows : getPowers(instructionRows, 256, pins.blockRows))
      for (int64_t blockColumns :
           getPowers(leastColumns, getWidest(facts.columns), pins.blockColumns))
        for (int64_t warpColumns :
             getPowers(blockColumns / 2, blockColumns, pins.warpColumns))
          considerTile(blockRows, blockColumns, warpRows, warpColumns);
  }
  if (!best) {
    error = sayNoTileFits("contraction by wgmma of pieces", target,
                          "smaller blocks, warp_tile=16x128 or fewer stages");
    return std::nullopt;
  }
  best->reason =
      llvm::formatv(
          "blocks of {0}x{1} in chunks of {2}, {3} at once, {4}x{5} in each of "
          "{6} warps by wgmma of {9}{10}: {7} blocks on {8} multiprocessors",
          best->blockRows, best->blockColumns, best->chunk, best->stages,
          best->warpRows, best->warpColumns, best->warps, best->blocks,
          target.multiprocessors,
          facts.ofScaledRows ? "two pieces of f16" : "three pieces of bf16",
          best->whole == WholeOperand::None ? ""
          : best->whole == WholeOperand::Lhs
              ? ", those of the left operand made in registers"
              : ", those of the right operand made in registers")
          .str();
  return best;
}

} // namespace deplo
