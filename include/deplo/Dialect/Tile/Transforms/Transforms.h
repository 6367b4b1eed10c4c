// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rewrites behind the tile passes, as free functions for passes, transform
// operations and other compilers.

#ifndef DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
#define DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/Bounds.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace deplo {
struct ContractionFacts;
struct MmaChoice;
struct MmaPins;
enum class WholeOperand;
struct ScheduleFacts;
struct TargetDescription;
namespace loop {
struct Contraction;
} // namespace loop
} // namespace deplo

namespace deplo::tile {

/// The loops that become the axes of a kernel, outermost first: those that hold
/// nothing but one another and the values that the innermost ones use.
llvm::SmallVector<loop::ForOp> getAxisLoops(loop::KernelOp kernel);

/// Replaces a loop nest by its tile program (001). Fails with an error.
mlir::FailureOr<KernelOp> tileify(loop::KernelOp kernel);

/// Makes each reduction loop a dimension of tiles and a tile.reduce (004).
/// Returns how many there were.
unsigned reduceCooperatively(KernelOp kernel);

struct ChunkedContractions {
  unsigned count = 0;
  /// Those whose chunks are summed from zero and then added to the total.
  unsigned inTwoLevels = 0;
};

/// Makes each reduction that adds products of two loads a loop over chunks of
/// `size` elements with a tile.dot (002). Chunks are no longer than it takes to
/// hold all of a sum, but `least` elements.
ChunkedContractions chunkContractions(KernelOp kernel, int64_t size,
                                      int64_t least, Precision precision);

/// Makes one loop over chunks of those that load the same operand. Returns how
/// many loops went into others.
unsigned fuseChunks(KernelOp kernel);

/// Divides the axes among blocks (005): `block` elements of each axis in a
/// block of `warps` warps. Fails with an error.
mlir::LogicalResult blockifyLaunch(KernelOp kernel,
                                   llvm::ArrayRef<int64_t> block, int64_t warps,
                                   TargetAttr target);

/// How the blocks of a cluster share a row.
struct ClusterSlices {
  int64_t extent;
  int64_t slice;
  int64_t blocks;
  /// Exchanges between the blocks.
  int64_t exchanges;
};

/// Shares each row among up to `blocks` blocks of a cluster, which have whole
/// chunks of it. Leaves the kernel as it is and gives the reason if it can't.
std::optional<ClusterSlices> clusterReduce(KernelOp kernel, int64_t blocks,
                                           int64_t chunk, std::string &reason);

struct ChunkedDim {
  int64_t extent;
  int64_t chunk;
  int64_t chunks;
  /// How often each element is read from memory.
  int64_t reads;
};

/// Puts inner dimensions that are longer than `chunk` elements into loops over
/// chunks of them (006). Returns what was divided.
llvm::SmallVector<ChunkedDim> chunkReduce(KernelOp kernel, int64_t chunk);

/// Drops masks that mask nothing.
void simplifyMasks(KernelOp kernel);

/// A target as an attribute, and back as the models take it.
TargetAttr getTargetAttr(mlir::MLIRContext *context,
                         const TargetDescription &target);
TargetDescription describe(TargetAttr target);

/// What the schedule model asks of a kernel whose arguments are aligned to
/// `alignment` bytes, in a program of these sizes.
ScheduleFacts getScheduleFacts(loop::KernelOp kernel, int64_t alignment,
                               const SymbolicSizes &sizes);
/// What the models of contractions ask.
ContractionFacts getContractionFacts(loop::Contraction &contraction,
                                     Precision precision);

/// The precision that `text` names, or an error of `module` that says what is
/// expected.
mlir::FailureOr<Precision> parsePrecision(llvm::StringRef text,
                                          mlir::ModuleOp module);

/// Whether the tensor cores of `target` multiply the elements of `contraction`
/// as exactly as `precision` asks.
bool suitsMma(loop::Contraction &contraction, Precision precision,
              const TargetDescription &target);

/// The attribute of a reduction that says what it computes a part of.
inline constexpr llvm::StringLiteral partOfAttrName = "tile.part_of";

/// Whether sums of f32 by wgmma of pieces have no larger errors than those of a
/// library of kernels in f32: docs/rationale/precision-modes.md, "Errors".
bool areExactInPieces(loop::Contraction &contraction);

/// Whether they do, and are to be chosen over multiply-adds where no atom is
/// pinned: sums of pieces by mma.sync may have larger errors.
bool prefersMma(loop::Contraction &contraction, Precision precision,
                const TargetDescription &target);

/// What `precision` comes to where multiply-adds take the place of tensor
/// cores.
inline Precision getPrecisionOfFMA(Precision precision) {
  return isOfPieces(precision) ? Precision::IEEE : precision;
}

/// Whether wgmma of `target` does; it reads operands from shared memory, where
/// their rows are summed over or are rows or columns of the result.
bool suitsWgmma(loop::Contraction &contraction,
                const TargetDescription &target);

/// Whether a tensor map can copy boxes of what `load` reads from a memref of
/// `type`.
bool suitsTensorMap(loop::LoadOp load, mlir::MemRefType type,
                    const SymbolicSizes &sizes, int64_t alignment);

/// The schedule of a contraction that tensor cores suit which takes the least
/// time, and its instruction, which `atom` may pin. wgmma is only chosen where
/// tensor maps can copy its operands. Nothing, and the sentence that says why
/// in `error`, if none agrees with the pins.
std::optional<std::pair<AtomKind, MmaChoice>>
chooseTensorCores(loop::Contraction &contraction, Precision precision,
                  const TargetDescription &target, int64_t alignment,
                  const SymbolicSizes &sizes, const MmaPins &pins,
                  std::optional<AtomKind> atom, std::string &error);

/// Whether wgmma can multiply the pieces of the operands of `contraction`,
/// which are of f32 as they are in memory.
bool suitsPieces(loop::Contraction &contraction, Precision precision,
                 const TargetDescription &target, const SymbolicSizes &sizes);

/// A dimension of each argument of a kernel that a contraction loads factors
/// from.
using DimOfArgument = llvm::MapVector<unsigned, unsigned>;

/// The dimension along which rows of factors are summed; nothing, and why in
/// `reason`, if an argument has none that all products sum along.
std::optional<DimOfArgument> findSummedDims(loop::Contraction &contraction,
                                            std::string &reason);

/// The schedule of a contraction by wgmma of pieces, if it is one that `atom`
/// pins, or is as exact as `precision` says and takes less time than all
/// others; and `precision`, or a more exact one that it has.
std::optional<std::pair<Precision, MmaChoice>>
choosePieces(loop::Contraction &contraction, Precision precision,
             const TargetDescription &target, int64_t alignment,
             const SymbolicSizes &sizes, const MmaPins &pins,
             std::optional<AtomKind> atom);

/// Of a contraction whose kernel has pieces, the operand that has none; nothing
/// of others.
std::optional<WholeOperand> getWholeOperand(loop::Contraction &contraction);

/// Arguments of a kernel that are copied to longer rows, for wgmma.
struct Packing {
  llvm::SetVector<unsigned> arguments;
  /// With what the copies take.
  double nanoseconds = 0;
  std::string reason;
};

/// A memref of the same sizes in rows that a tensor map can copy.
mlir::MemRefType getPackedType(mlir::MemRefType type);

/// What to copy of a contraction whose operands no tensor map can copy as they
/// are, if `atom` pins wgmma or it takes less time than mma.sync with the
/// copies.
std::optional<Packing>
choosePacking(loop::Contraction &contraction, Precision precision,
              const TargetDescription &target, int64_t alignment,
              const SymbolicSizes &sizes, const MmaPins &pins,
              std::optional<AtomKind> atom);

/// The attribute of a kernel that says of which arguments the last ones hold
/// the pieces.
inline constexpr llvm::StringLiteral piecesAttrName = "tile.pieces";

/// The argument of `kernel` that holds the pieces of `memref`, and that of the
/// scales of its rows; null if none does.
mlir::Value getPieces(KernelOp kernel, mlir::Value memref);
mlir::Value getScales(KernelOp kernel, mlir::Value memref);

/// The parts of a sum that a schedule pins with `split_k`; 0 if it doesn't.
/// Fails with an error at `module`.
mlir::FailureOr<int64_t> parsePinnedParts(llvm::StringRef schedule,
                                          mlir::ModuleOp module);

//===----------------------------------------------------------------------===//
// split_reduce, split_matmul_k
//===----------------------------------------------------------------------===//

/// What a kernel is launched with: a buffer, or a view of it.
struct SplitOperand {
  /// An operand of the launch that is replaced, or behind them a temporary.
  unsigned buffer;
  /// Null for the buffer as it is.
  mlir::MemRefType view;
};

/// One of the kernels that take the place of one, in no module yet.
struct SplitKernel {
  mlir::OwningOpRef<loop::KernelOp> kernel;
  llvm::SmallVector<SplitOperand> operands;
  /// What its name has after that of the kernel it comes from.
  std::string suffix;
};

struct Split {
  /// In the order of their launches; the last has the kernel's results.
  std::vector<SplitKernel> kernels;
  llvm::SmallVector<mlir::MemRefType> temporaries;
  /// Of the first reduction that was divided.
  int64_t extent = 0, parts = 0;
  /// Those of the module that the kernels are for.
  SymbolicSizes sizes;
};

/// Divides the reductions of `kernel` over at least `parts * leastPart`
/// elements into about `parts` parts. Leaves the kernel as it is. Fails if
/// there is none, or no view divides what it loads.
mlir::FailureOr<Split> splitReductions(loop::KernelOp kernel, int64_t parts,
                                       int64_t leastPart);

/// Nanoseconds that the models estimate of a kernel, contraction or not, and of
/// all that take the place of one; nothing without a schedule.
std::optional<double> estimateKernel(loop::KernelOp kernel,
                                     const TargetDescription &target,
                                     int64_t alignment,
                                     const SymbolicSizes &sizes,
                                     Precision precision = Precision::IEEE);
std::optional<double> estimateSplit(const Split &split,
                                    const TargetDescription &target,
                                    int64_t alignment,
                                    Precision precision = Precision::IEEE);

/// Puts the kernels of `split` in place of `kernel`, and its launches.
void replaceKernel(loop::KernelOp kernel, Split &split,
                   mlir::SymbolTable &symbols);

//===----------------------------------------------------------------------===//
// concat_grids
//===----------------------------------------------------------------------===//

/// Launches the parts of `concat` one after the other, and erases it.
void separateParts(ConcatOp concat);

//===----------------------------------------------------------------------===//
// stage_inputs
//===----------------------------------------------------------------------===//

/// The part of a memref that loads of one block sweep, from a fixed corner.
struct StagedRow {
  struct Read {
    LoadOp load;
    /// For each tile dimension: the induction variable that moves the load
    /// along it, if there is one, and by how many elements of the tile.
    llvm::SmallVector<mlir::Value> sweeps;
    llvm::SmallVector<int64_t> factors;
  };

  mlir::Value memref;
  /// For each memref dimension.
  llvm::SmallVector<AffineIndex> corner;
  /// As in BoxAccess.
  llvm::SmallVector<int64_t> shape, dims, steps, bounds;
  /// Whether a dimension is not an axis of the kernel.
  bool hasInnerDim = false;
  llvm::SmallVector<Read> reads;

  BufferType getBufferType() const;
  bool isSameRow(const StagedRow &other) const;
};

/// The rows that can be staged, in the order of their first loads.
std::vector<StagedRow> findRows(KernelOp kernel);

/// Copies `rows` to shared memory before their first reader and makes their
/// loads read from there.
void stageRows(llvm::ArrayRef<StagedRow> rows);

/// The operands of a contraction that a loop over chunks loads.
struct StagedOperands {
  /// The body of the loop over chunks, or of the kernel if there is one chunk.
  mlir::Block *block;
  llvm::SmallVector<LoadOp> loads;
  /// Operands that are computed of loads, and the operations that do.
  llvm::SmallVector<mlir::Value> computed;
  llvm::SmallVector<mlir::Operation *> map;

  int64_t getBytes() const;
};

/// The operands of tile.dots that are loads beside them, or computed of that.
llvm::SmallVector<StagedOperands> findOperands(KernelOp kernel);

/// Copies each chunk of the operands to shared memory and reads it there; what
/// is computed is written there once.
void stageOperands(const StagedOperands &operands);

//===----------------------------------------------------------------------===//
// double_buffer, pipeline_k_outer
//===----------------------------------------------------------------------===//

/// The buffers that each iteration of `loop` fills before a barrier and reads
/// after it, and that nothing else uses.
llvm::SmallVector<AllocOp> findStagedBuffers(mlir::scf::ForOp loop);

/// Makes these buffers rings of `slots` slots (010).
void doubleBuffer(mlir::scf::ForOp loop, int64_t slots);

/// Starts the asynchronous copies of a loop over the slots of rings as many
/// iterations earlier as there are slots, less one (015). Returns whether it is
/// such a loop.
bool pipelineLoop(mlir::scf::ForOp loop);

//===----------------------------------------------------------------------===//
// tma_copy, split_inner_for_swizzle, tma_store, warp_specialize,
// persist_blocks, overlap_dots
//===----------------------------------------------------------------------===//

/// The copies to shared memory of one iteration of a loop that a barrier
/// follows.
struct FilledIteration {
  mlir::scf::ForOp loop;
  llvm::SmallVector<CopyOp> copies;
  BarrierOp barrier;
  /// The slots of their rings, and which one an iteration fills; one and null
  /// for buffers.
  int64_t slots = 1;
  mlir::Value slot;
};

/// Those of loops that run once in a kernel.
llvm::SmallVector<FilledIteration> findFilledIterations(KernelOp kernel);

/// Why `copy` can't be made by a tensor map of pointers that are aligned to
/// `alignment` bytes; empty if it can.
std::string findTmaProblem(CopyOp copy, int64_t alignment);

/// Makes `copies` of an iteration copies by tensor maps, and waits for them
/// before the barrier (011).
void copyByTma(const FilledIteration &iteration, llvm::ArrayRef<CopyOp> copies);

/// Gives the buffer the swizzle with which wgmma reads its rows (012). Returns
/// it; 0 if nothing that wgmma reads is there.
int64_t swizzleForWgmma(AllocOp alloc);

/// Stores by a tensor map of pointers that are aligned to `alignment` bytes,
/// through a buffer of at most `mostBytes`. Leaves `store` as it is and gives
/// the reason if it can't.
mlir::FailureOr<TmaStoreOp> storeByTma(StoreOp store, int64_t alignment,
                                       int64_t mostBytes, std::string &reason);

/// Makes copies by tensor maps of `loop` the work of a producer with
/// `registers`. Leaves it as it is and gives the reason if it can't.
mlir::FailureOr<ProducerOp> warpSpecialize(mlir::scf::ForOp loop,
                                           llvm::ArrayRef<int64_t> registers,
                                           std::string &reason);

/// Has `blocks` blocks run the tiles of a kernel with a producer in turn.
/// Leaves it as it is and gives the reason if it can't.
mlir::LogicalResult persistBlocks(KernelOp kernel, int64_t blocks,
                                  std::string &reason);

/// Awaits the contraction of each iteration in the next one. Leaves it as it is
/// and gives the reason if it can't.
mlir::LogicalResult overlapDots(mlir::scf::ForOp loop, std::string &reason);

//===----------------------------------------------------------------------===//
// stage_totals
//===----------------------------------------------------------------------===//

/// A loop that sums each chunk of contractions from zero and adds what it comes
/// to to totals.
struct TwoLevelSums {
  struct Sum {
    mlir::BlockArgument total;
    mlir::arith::AddFOp add;
    /// What is added, and what that starts with.
    mlir::Value part;
    mlir::OpOperand *start;
  };

  mlir::scf::ForOp loop;
  llvm::SmallVector<Sum> sums;

  static TwoLevelSums get(mlir::scf::ForOp loop);
  int64_t getBytes() const;
};

/// Keeps the totals in shared memory and adds to them what `chunks` chunks come
/// to.
void stageTotals(TwoLevelSums &sums, int64_t chunks);

//===----------------------------------------------------------------------===//
// split_sweeps
//===----------------------------------------------------------------------===//

/// Attribute of an scf.for whose iterations run from the last to the first.
constexpr llvm::StringLiteral descendingName = "tile.descending";

/// A row that several loops sweep and that is too long to be staged.
struct LongRow {
  llvm::SetVector<mlir::scf::ForOp> sweeps;
  /// All sweeps go from 0 to `end` in steps of `step`.
  int64_t end = 0, step = 0;
  /// As many elements as fit.
  int64_t kept = 0;
};

/// The row of `kernel`, or the rows of several operands swept alike, of which
/// `budget` bytes can be staged; nothing if all fit or none can be.
std::optional<LongRow> findLongRow(KernelOp kernel, int64_t budget);

/// Divides each sweep into one over what can be staged and one over the rest.
void splitSweeps(const LongRow &row);

//===----------------------------------------------------------------------===//
// align_rows
//===----------------------------------------------------------------------===//

/// Rows of a memref that are accessed `modulo` elements at a time.
struct AlignedRow {
  mlir::Value memref;
  int64_t modulo;
};

/// Shifts the tiles along inner dimensions so that rows which start at any
/// address can be accessed up to `vector` elements at a time. Memrefs start at
/// multiples of `alignment` bytes.
llvm::SmallVector<AlignedRow> alignRows(KernelOp kernel, int64_t vector,
                                        int64_t alignment);

//===----------------------------------------------------------------------===//
// register_tile
//===----------------------------------------------------------------------===//

/// What assignLayouts did.
struct LayoutSummary {
  /// Layouts chosen from memory accesses; all others are slices of them.
  llvm::SmallVector<LayoutAttr> anchors;
  /// tile.convert_layout operations inserted.
  int64_t conversions = 0;
  /// 32-bit registers of a thread that tiles occupy where most are alive at a
  /// point at which threads wait for each other.
  int64_t registers = 0;
};

/// Gives each tile of `kernel` a layout in which threads hold up to `vector`
/// neighbours in memory, if one access can move them (see getAccessWidth), and
/// `thread` rows and columns of a contraction's result. Emits an error and
/// fails if a tile can't have one.
mlir::FailureOr<LayoutSummary> assignLayouts(KernelOp kernel, int64_t vector,
                                             int64_t alignment,
                                             llvm::ArrayRef<int64_t> thread);

/// Makes a tile.dot of two reads of shared memory a loop over `step` of the
/// summed elements. Returns whether it did.
bool splitDot(DotOp dot, int64_t step);

//===----------------------------------------------------------------------===//
// tensorize, prefetch_fragments
//===----------------------------------------------------------------------===//

/// Gives `dot` an atom by which each of `warps` warps computes `warpTile` rows
/// and columns. Leaves it as it is and gives the reason if that can't be.
mlir::LogicalResult tensorizeDot(DotOp dot, AtomKind kind,
                                 llvm::ArrayRef<int64_t> warpTile,
                                 int64_t warps, std::string &reason);

/// Makes `dot` one of the buffers that its operands are read from, and awaits
/// it. Leaves it as it is and gives the reason if that can't be.
mlir::FailureOr<AsyncDotOp> tensorizeAsync(DotOp dot,
                                           llvm::ArrayRef<int64_t> warpTile,
                                           int64_t warps, std::string &reason);

/// Buffers of f32, and those of their pieces that took their place.
using BuffersOfPieces = llvm::SmallDenseMap<mlir::Value, mlir::Value>;

/// The same of a dot of f32, whose kernel has the pieces of its operands:
/// copies these. `buffers` are those that other dots made.
mlir::FailureOr<AsyncDotOp>
tensorizePieces(DotOp dot, llvm::ArrayRef<int64_t> warpTile, int64_t warps,
                BuffersOfPieces &buffers, std::string &reason);

/// Makes a pipelined loop compute operands of the next chunk while it
/// multiplies those of this one. Returns whether it computes any.
bool computeAhead(mlir::scf::ForOp loop);

/// Makes a pipelined loop read the fragments of tensor cores a step ahead.
/// Returns whether it is such a loop.
bool prefetchFragments(mlir::scf::ForOp loop);

//===----------------------------------------------------------------------===//
// permute_register_tile
//===----------------------------------------------------------------------===//

/// What strips do to the reads of shared memory.
struct StripEffect {
  /// Neighbours of a thread; 0 if nothing was done.
  int64_t strip = 0;
  int64_t degreeBefore = 1, degreeAfter = 1;
};

/// Gives threads the elements of the accumulator of `dot` along `dim` in the
/// strips that cost the fewest wavefronts (009); nothing if reads can't be
/// modelled.
std::optional<StripEffect> permuteStrips(DotOp dot, unsigned dim,
                                         int64_t alignment);

//===----------------------------------------------------------------------===//
// async_copy, swizzle_smem, pad_smem, mark_unroll
//===----------------------------------------------------------------------===//

/// Makes `copy` asynchronous, in accesses of 4, 8 or 16 bytes, and awaits it
/// before the barrier that follows. Returns null, and leaves it, if no such
/// access is possible or no barrier follows in its block.
AsyncCopyOp makeAsync(CopyOp copy, int64_t alignment);

/// A chunk of an operand in shared memory, with rows along what is summed over.
struct StagedChunk {
  AllocOp alloc;
  CopyOp copy;
  ReadOp read;
  /// For each of its elements.
  int64_t multiplyAdds = 0;
};

/// Nothing, if `alloc` is no such chunk, or a dot that reads it is of tensor
/// cores.
std::optional<StagedChunk> getChunkAlongDepth(AllocOp alloc);

/// Gives the chunk a row for each summed element.
void transposeChunk(const StagedChunk &chunk);

/// What swizzling a buffer does to its accesses.
struct SwizzleEffect {
  int64_t swizzle = 0;
  int64_t degreeBefore = 1, degreeAfter = 1;
  /// Whether ldmatrix does all reads.
  bool isOfMatrices = false;
};

/// The smallest swizzle of a buffer that costs its accesses the fewest
/// wavefronts; nothing if accesses can't be modelled.
std::optional<SwizzleEffect> chooseSwizzle(AllocOp alloc, int64_t alignment);

/// What padding a buffer does to the wavefronts of its accesses.
struct PaddingEffect {
  int64_t pad = 0;
  int64_t degreeBefore = 1, degreeAfter = 1;
  /// With that pad.
  int64_t wavefronts = 0;
};

/// The smallest pad of a buffer that costs its accesses the fewest wavefronts
/// and adds at most `budget` bytes; nothing if accesses can't be modelled.
std::optional<PaddingEffect> choosePadding(AllocOp alloc, int64_t alignment,
                                           int64_t budget);

/// The number of copies of the body: the largest divisor of the trip count up
/// to `most` that keeps the unrolled body within the instruction cache, or,
/// rather than half of that or less, what fits; 1 if bounds are not constant.
int64_t chooseUnroll(mlir::scf::ForOp loop, int64_t most);

//===----------------------------------------------------------------------===//
// hoist_loads
//===----------------------------------------------------------------------===//

/// Moves the loads of `kernel` that follow a reduction before the first one
/// where their coordinates are known there. Returns how many it moved.
int64_t hoistLoads(KernelOp kernel);

//===----------------------------------------------------------------------===//
// prefetch_chunks
//===----------------------------------------------------------------------===//

/// Makes `loop` carry the tiles that it loads from global memory along its
/// variable. Returns how many there are; none where that is not legal.
int64_t prefetchChunks(mlir::scf::ForOp loop);

//===----------------------------------------------------------------------===//
// batch_loads
//===----------------------------------------------------------------------===//

/// How many iterations of `loop`, a divisor of its `tile.unroll`, may load
/// before they store: their tiles take `registers` of a thread at most. 1 where
/// that is not legal or there is nothing to gain.
int64_t getBatch(mlir::scf::ForOp loop, int64_t registers);

/// Makes one iteration of `batch` iterations of `loop` (see getBatch), all of
/// whose loads come before their stores. What is left over is a loop behind it.
void batchLoads(mlir::scf::ForOp loop, int64_t batch);

//===----------------------------------------------------------------------===//
// vectorize_access
//===----------------------------------------------------------------------===//

/// Sets `vector` of an access (see getAccessWidth) unless it is set or 1, and
/// returns whether it did.
bool vectorizeAccess(mlir::Operation *access, int64_t alignment);

//===----------------------------------------------------------------------===//
// eliminate_barriers
//===----------------------------------------------------------------------===//

/// Erases barriers that order no accesses of different threads. Returns how
/// many there were.
unsigned eliminateBarriers(KernelOp kernel);

//===----------------------------------------------------------------------===//
// programmatic_launch
//===----------------------------------------------------------------------===//

/// Lets grids that depend on `kernel` start before it is complete, and makes it
/// wait for those that it depends on before its first access to global memory.
/// Returns the wait, or null if it accesses none or waits already.
WaitDependenciesOp launchProgrammatically(KernelOp kernel);

//===----------------------------------------------------------------------===//
// widen_stores
//===----------------------------------------------------------------------===//

/// Exchanges elements between lanes so that each access of `store` is wider.
/// Returns the elements of an access then; 0 if nothing was done.
int64_t widenStore(StoreOp store, int64_t alignment);

//===----------------------------------------------------------------------===//
// rasterize_grid
//===----------------------------------------------------------------------===//

/// Attribute of a kernel: the blocks along the last axis but one that are
/// numbered before those of the next place on the last.
constexpr llvm::StringLiteral rasterName = "tile.raster";

/// Whether the last two axes are of the grid, with several blocks along each,
/// as far as a launch gives extents that make them.
bool hasPlaneOfBlocks(KernelOp kernel);

/// The rows of blocks that `blocksAtOnce` blocks are numbered down so that they
/// read the fewest rows and columns of elements.
int64_t chooseRaster(KernelOp kernel, int64_t blocksAtOnce);

//===----------------------------------------------------------------------===//
// Before the lowering
//===----------------------------------------------------------------------===//

/// Checks that the scheduling passes have done what the lowering relies on:
/// warps are chosen and tiles have layouts. Errors name the value and the pass
/// that should have run.
mlir::LogicalResult verifyScheduled(KernelOp kernel);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
