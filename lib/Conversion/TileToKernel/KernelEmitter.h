// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the program of one thread for a scheduled tile.kernel.
//
// A tile becomes the vector of the elements that a thread holds, in register
// order of its layout. Everything that depends on the thread is computed from
// its lane and warp by the bases of the layout.

#ifndef DEPLO_LIB_CONVERSION_TILETOKERNEL_KERNELEMITTER_H
#define DEPLO_LIB_CONVERSION_TILETOKERNEL_KERNELEMITTER_H

#include "CopyGroups.h"

#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/TileCluster.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace deplo {

struct MatrixAccess;

namespace loop {
class ReduceOp;
class SizeOp;
} // namespace loop

/// Folds `values` as a balanced tree: rounding errors grow with the logarithm
/// of their number, and the tree's depth is the latency.
mlir::Value foldTree(mlir::ImplicitLocOpBuilder &builder, Monoid kind,
                     llvm::SmallVector<mlir::Value> values);

/// What reads of a memref may be told that its pointer is aligned to, at most
/// `alignment` bytes: what divides the bytes of its buffer, too. LLVM makes
/// three loads of four bytes, the first of which is aligned to 16, one of 16
/// bytes; that must not end behind the buffer.
int64_t getReadAlignment(mlir::MemRefType type, const SymbolicSizes &sizes,
                         int64_t alignment);

/// The tensor maps of the kernel's copies, each once.
llvm::SmallVector<tile::TensorMapAttr> collectTensorMaps(tile::KernelOp kernel);

/// That of one of them.
template <typename OpT>
tile::TensorMapAttr getTensorMap(tile::KernelOp kernel, OpT copy) {
  std::string reason;
  int64_t argument = llvm::find(kernel.getMemrefs(), copy.getMemref()) -
                     kernel.getMemrefs().begin();
  return tile::getTensorMap(copy, argument, reason);
}

/// Of an element in memory.
inline int64_t getBytes(mlir::Type elementType) {
  return elementType.getIntOrFloatBitWidth() / 8;
}

/// The bits of coordinate `dim` that a set of moves can set.
int64_t getReach(const LinearLayout &layout, InputDim input, unsigned dim);

class KernelEmitter {
public:
  /// Emits the body of `kernel` into the empty `function`, whose arguments are
  /// the pointers of the kernel's memrefs and the module's symbolic sizes.
  /// Index arithmetic is in `indexType`. Pointers are aligned to `alignment`
  /// bytes. `sharedMemory` is the symbol of the
  /// dynamic shared memory. A part of a larger grid has the number of its block
  /// as one more argument.
  KernelEmitter(tile::KernelOp kernel, mlir::LLVM::LLVMFuncOp function,
                mlir::FlatSymbolRefAttr sharedMemory,
                mlir::IntegerType indexType, int64_t alignment,
                llvm::ArrayRef<tile::TensorMapAttr> maps = {},
                bool isPart = false);

  mlir::LogicalResult run();

  /// Bytes of dynamic shared memory that the emitted code uses.
  int64_t getSharedBytes() const { return sharedBytes; }
  /// What its start must be a multiple of.
  int64_t getSharedAlignment() const { return sharedAlignment; }

private:
  // Structure (KernelEmitter.cpp).
  mlir::Value getBlockNumber();
  mlir::Value getBlocksAlong(unsigned axis);
  void emitAxes(mlir::Value block, mlir::ValueRange axisValues);
  void emitPlane(mlir::Value &block, mlir::ValueRange axisValues,
                 int64_t raster);
  mlir::LogicalResult emitEachTile(tile::EachTileOp op);
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitConstant(mlir::Operation *op);
  void emitSize(loop::SizeOp op);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  mlir::LogicalResult emitLoop(mlir::scf::ForOp op);
  mlir::LogicalResult emitSerialReduce(loop::ReduceOp op);
  void emitSplat(tile::SplatOp op);
  void emitBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult emitConvertLayout(tile::ConvertLayoutOp op);
  /// Returns whether the conversion is one by butterfly shuffles.
  bool emitBitSwaps(tile::ConvertLayoutOp op);
  mlir::LogicalResult emitReduce(tile::ReduceOp op);
  /// The value of the lane whose number differs by `mask`.
  mlir::Value shuffle(mlir::Value value, int64_t mask);
  /// Which of the warps that exchange by `warpMasks` this one is.
  mlir::Value getMember(llvm::ArrayRef<int32_t> warpMasks);

  // Scans (EmitScan.cpp).
  mlir::LogicalResult emitScan(tile::ScanOp op);
  struct Run;
  void scanLanes(Run &run, Monoid kind, llvm::ArrayRef<int32_t> laneMasks);
  void scanWarps(tile::ScanOp op, llvm::MutableArrayRef<Run> runs,
                 llvm::ArrayRef<int32_t> warpMasks, int64_t runsPerRow);
  mlir::Value getIdentityOf(Monoid kind, mlir::Type type);
  /// The register of `layout` that holds the element at each coordinate.
  static std::map<std::vector<int32_t>, int32_t>
  getRegisters(const LinearLayout &layout);

  void emitSlot(tile::SlotOp op);
  mlir::LogicalResult renameTokens(mlir::scf::ForOp op, mlir::ValueRange from,
                                   mlir::ValueRange to);

  // Contractions (EmitDot.cpp, EmitMma.cpp).
  void emitDot(tile::DotOp op);
  void emitMma(tile::DotOp op);
  void emitMmaOfPieces(tile::DotOp op);
  /// Two numbers' pieces, as a 32-bit register takes them, by their scales.
  struct Pieces {
    std::array<mlir::Value, 3> ofScale;
  };
  Pieces splitIntoPieces(mlir::Value first, mlir::Value second, float scale);
  mlir::Value takePieces(mlir::Value &first, mlir::Value &second);
  void emitMatrixRead(tile::ReadOp op, const MatrixAccess &access);
  void
  emitMatrixWrite(const MatrixAccess &access,
                  llvm::ArrayRef<mlir::Value> elements,
                  llvm::function_ref<mlir::Value(mlir::ValueRange)> getPointer);
  mlir::Value getWord(mlir::Value tile, int64_t first);
  mlir::Value withWord(mlir::Value tile, int64_t first, mlir::Value word);
  mlir::Value getMmaOperandWord(mlir::Value word);

  // What is computed again (EmitRecompute.cpp).
  void emitRecompute(tile::RecomputeOp op);
  void recomputeElements(tile::RecomputeOp op, int32_t firstRegister,
                         llvm::ArrayRef<mlir::Value> areFinite,
                         llvm::MutableArrayRef<mlir::Value> elements);
  mlir::Value loadFactor(mlir::Value memref, mlir::ValueRange indices,
                         mlir::AffineMap map, mlir::ValueRange coordinates);

  // What units beside the threads do (EmitAsync.cpp, EmitTmaStore.cpp,
  // EmitWgmma.cpp).
  void emitMBarriers(tile::MBarriersOp op);
  void emitMBarrierWait(tile::MBarrierWaitOp op);
  void emitMBarrierArrive(tile::MBarrierArriveOp op);
  void emitTmaCopy(tile::TmaCopyOp op);
  void emitTmaStore(tile::TmaStoreOp op);
  mlir::Value getMap(tile::TensorMapAttr map);
  /// The coordinates of a box as its tensor map takes them.
  llvm::SmallVector<mlir::Value> getMapCorner(mlir::ValueRange indices,
                                              llvm::ArrayRef<int64_t> dims);
  mlir::LogicalResult emitProducer(tile::ProducerOp op);
  void emitAsyncDot(tile::AsyncDotOp op);
  void emitAsyncDotOfPieces(tile::AsyncDotOp op);
  mlir::Value getMBarrier(mlir::Value barriers, mlir::Value index);
  struct WgmmaOperand;
  struct WgmmaTile;
  /// Where a matrix starts; what else is in the lower half, and the upper one.
  struct MatrixDescriptor {
    mlir::Value lower;
    uint32_t leading, upper;
  };
  MatrixDescriptor getMatrixDescriptor(const WgmmaOperand &operand);
  mlir::Value packDescriptor(const MatrixDescriptor &descriptor, int64_t units);
  WgmmaTile getWgmmaTile(tile::AsyncDotOp op);
  mlir::Value createWgmma(const WgmmaTile &tile, mlir::Value sums,
                          int64_t ofRows, int64_t ofColumns, bool fromZero);
  mlir::Value createWgmma(const WgmmaTile &tile, mlir::Value sums,
                          llvm::ArrayRef<mlir::Value> fragment,
                          int64_t ofColumns, bool fromZero);
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
  readFragments(const WgmmaTile &tile, int64_t depth);
  void tieSums(llvm::StringRef instruction,
               llvm::MutableArrayRef<mlir::Value> sums);

  // Clusters (EmitClusterReduce.cpp).
  void emitClusterBarriers();
  void emitClusterReduce(tile::ClusterReduceOp op);
  void emitClusterReduceScatter(tile::ClusterReduceScatterOp op);
  void beginExchange(mlir::Operation *exchange);
  void awaitExchange(mlir::Operation *exchange);

  // Approximations (EmitMath.cpp).
  /// Emits `op` as the approximation that its flags allow; fails, without a
  /// diagnostic, if they allow none.
  mlir::LogicalResult emitApproximation(mlir::Operation *op);
  mlir::Value callIntrinsic(llvm::StringRef name, mlir::ValueRange operands);

  // Memory (EmitMemory.cpp).
  void emitLoad(tile::LoadOp op);
  void emitGather(tile::GatherOp op);
  void emitStore(tile::StoreOp op);
  void emitAlloc(tile::AllocOp op);
  void emitRings(llvm::MutableArrayRef<tile::AllocOp> rings);
  void emitRead(tile::ReadOp op);
  void emitWrite(tile::WriteOp op);
  void emitCopy(tile::CopyOp op);
  void emitAsyncCopy(tile::AsyncCopyOp op);
  void emitAwait(tile::AwaitOp op);
  /// Groups of `tokens`, which follow one another.
  unsigned countGroups(llvm::ArrayRef<mlir::Value> tokens) const;
  void emitIota(tile::IotaOp op);
  void emitInBounds(tile::InBoundsOp op);
  void emitMisalignment(tile::MisalignmentOp op);
  void emitBarrier();
  template <typename OpT>
  void emitCopyVectors(
      OpT op, llvm::function_ref<void(mlir::Value global, mlir::Value shared,
                                      mlir::Value inBounds)>
                  move);
  /// Which elements of an access are in bounds. Null stands for true.
  struct Extent {
    /// Whether all are.
    mlir::Value whole;
    /// Whether some are and some not; null if that can't be.
    mlir::Value partial;
    /// For each element of a partial access; empty if there is none.
    llvm::SmallVector<mlir::Value> elements;
  };
  Extent getExtent(mlir::Operation *op, mlir::ValueRange corner,
                   mlir::ValueRange coordinates);
  /// Where a box access lies: one corner coordinate for each tile dimension.
  struct Box {
    llvm::SmallVector<int64_t> dims, steps;
    llvm::SmallVector<mlir::Value> indices, corner;
  };
  Box getBox(mlir::Operation *op, llvm::SmallVector<mlir::Value> indices,
             int64_t rank);
  mlir::Value hideOrigin(mlir::Value pointer);
  mlir::Value loadElements(mlir::VectorType type, mlir::Value pointer,
                           llvm::ArrayRef<mlir::Value> inBounds,
                           mlir::Value base);

  // Coordinates.
  /// From here on, until the insertion point is set anew, code is the first
  /// thread's alone.
  void enterFirstThread();
  /// The coordinates of the element that this thread holds in register `reg`.
  llvm::SmallVector<mlir::Value> getCoordinates(tile::LayoutAttr layout,
                                                int32_t reg);
  /// The part of coordinate `dim` that depends on the thread.
  mlir::Value getThreadCoordinate(tile::LayoutAttr layout, unsigned dim);
  /// True in the one thread among replicas that acts; null if there are none.
  mlir::Value getIsLeader(const LinearLayout &layout);
  /// The same for warps alone.
  mlir::Value getIsLeaderWarp(const LinearLayout &layout);
  /// The same for the blocks of a cluster, to which the same coordinates mean
  /// the same element; null if `indices` are each block's own.
  mlir::Value getIsLeaderBlock(mlir::ValueRange indices);
  /// True if `index` has none of the bits of `mask`; null if that's always so.
  mlir::Value getIsZero(mlir::Value index, int64_t mask);
  /// 0 <= corner + coordinate < bound for every dimension; null without bounds.
  mlir::Value getInBounds(mlir::ValueRange corner, mlir::ValueRange coordinates,
                          llvm::ArrayRef<int64_t> steps,
                          std::optional<llvm::ArrayRef<int64_t>> bounds);
  /// `value` as a sum of something (null for 0) and a constant.
  static std::pair<mlir::Value, int64_t> splitConstant(mlir::Value value);
  /// An element of global memory, `variable + constant` elements from where the
  /// memref's buffer starts. Accesses that differ in the constant share the
  /// rest, so that LLVM sees how far apart they are.
  struct Address {
    mlir::Value memref, variable;
    int64_t constant = 0;
  };
  /// The element of a box of global memory at `coordinates`.
  Address getAddress(mlir::Value memref, mlir::ValueRange indices,
                     llvm::ArrayRef<int64_t> spannedDims,
                     llvm::ArrayRef<int64_t> steps,
                     mlir::ValueRange coordinates);
  mlir::Value getPointer(const Address &address);
  /// What masked reads of `width` elements read instead: the memref's
  /// beginning, or zeros where it may have fewer.
  mlir::Value getMaskedPlace(mlir::Value memref, int64_t width);
  /// The variable part for masked accesses.
  static int64_t getFirst(const Address &address);
  int64_t getVariableDivisor(tile::LoadOp op);
  /// The pointer where `inBounds` (null for always), else one to `width`
  /// elements of the memref.
  mlir::Value getPointer(const Address &address, mlir::Value inBounds,
                         int64_t width);
  mlir::Value getSharedPointer(mlir::Value buffer, tile::BufferType type,
                               mlir::ValueRange coordinates);
  mlir::Value getSwizzledPointer(mlir::Value buffer, tile::BufferType type,
                                 mlir::ValueRange coordinates);

  // Values.
  mlir::Value lookup(mlir::Value value) { return mapping.lookup(value); }
  llvm::SmallVector<mlir::Value> lookup(mlir::ValueRange values);
  /// The type in the thread's program: the vector of a tile, the machine
  /// integer of an index.
  mlir::Type convertType(mlir::Type type);
  mlir::Value getIndex(int64_t value);
  /// The same for an extent or stride, which the launch may give.
  mlir::Value getNumber(int64_t value);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value multiply(mlir::Value lhs, int64_t rhs);
  mlir::Value conjunction(mlir::Value lhs, mlir::Value rhs);
  llvm::SmallVector<mlir::Value> unpack(mlir::Value vector);
  mlir::Value pack(llvm::ArrayRef<mlir::Value> elements);
  /// A pointer to `bytes` of shared memory of their own.
  mlir::Value allocateShared(int64_t bytes, int64_t alignment = 16);

  tile::KernelOp kernel;
  mlir::LLVM::LLVMFuncOp function;
  mlir::FlatSymbolRefAttr sharedMemory;
  mlir::IntegerType indexType;
  int64_t alignment;
  llvm::ArrayRef<tile::TensorMapAttr> maps;
  bool isPart;
  mlir::ImplicitLocOpBuilder builder;
  SymbolicSizes sizes;
  llvm::DenseMap<int64_t, mlir::Value> numbers; // that the launch gives
  mlir::IRMapping mapping;

  mlir::Value thread, lane, warp;
  /// The memory barrier of each exchange between the blocks of a cluster.
  llvm::DenseMap<mlir::Operation *, mlir::Value> barrierOfExchange;
  llvm::DenseMap<std::pair<tile::LayoutAttr, unsigned>, mlir::Value>
      threadCoordinates;
  /// Where values of the whole kernel are computed: before its first loop.
  mlir::Block *entry = nullptr;
  int64_t sharedBytes = 0, sharedAlignment = 16;
  CopyGroups copyGroups;
  /// From one slot to the next one in rings that lie side by side, in bytes.
  llvm::DenseMap<mlir::Value, int64_t> bytesBetweenSlots;
  /// Tokens of asynchronous copies in the order in which they started, and of
  /// groups of contractions in the order of their commits.
  llvm::SmallVector<mlir::Value> inFlight, dotsInFlight;
  /// Whether what is emitted is run by a single thread, and whether by the
  /// kernel's warps while others are there.
  bool isSingleThread = false, isBesideProducer = false;
  /// Whether threads write what wgmma reads.
  bool writesForWgmma = false;
};

} // namespace deplo

#endif // DEPLO_LIB_CONVERSION_TILETOKERNEL_KERNELEMITTER_H
