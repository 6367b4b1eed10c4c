// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.cluster_reduce: each block sends its elements to the shared memory of
// all blocks of the cluster (st.async), where a memory barrier counts the bytes
// that arrive; then each thread folds what all blocks have sent.
//
// A barrier of the cluster costs a fence of all memory in every thread, so
// there is one only: before the first exchange, for the memory barriers must be
// there. No block leaves before it has all that others send, so none sends to a
// block that has left.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;

namespace deplo {

/// Distributed shared memory (LLVM, "User Guide for NVPTX Back-end").
static constexpr unsigned clusterAddressSpace = 7;
static constexpr int64_t barrierBytes = 8;

/// What an element is sent as: st.async moves 32 or 64 bits.
static IntegerType getSentType(Type element) {
  return IntegerType::get(element.getContext(),
                          element.getIntOrFloatBitWidth() > 32 ? 64 : 32);
}

static int64_t getSentBytes(Value input, int64_t blocks) {
  auto type = cast<RankedTensorType>(input.getType());
  return blocks * type.getNumElements() *
         getSentType(type.getElementType()).getWidth() / 8;
}

static Value toBits(ImplicitLocOpBuilder &builder, Value value) {
  Type type = value.getType();
  IntegerType sent = getSentType(type);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(
        builder, builder.getIntegerType(type.getIntOrFloatBitWidth()), value);
  return value.getType() == sent
             ? value
             : arith::ExtUIOp::create(builder, sent, value).getResult();
}

static Value fromBits(ImplicitLocOpBuilder &builder, Value bits, Type type) {
  Type integer = builder.getIntegerType(type.getIntOrFloatBitWidth());
  if (bits.getType() != integer)
    bits = arith::TruncIOp::create(builder, integer, bits);
  return isa<FloatType>(type)
             ? arith::BitcastOp::create(builder, type, bits).getResult()
             : bits;
}

/// Writes `bits` to `place` in another block, where `barrier` counts them.
static void sendAsync(ImplicitLocOpBuilder &builder, Value place, Value bits,
                      Value barrier) {
  bool isWide = bits.getType().getIntOrFloatBitWidth() == 64;
  std::string assembly =
      std::string("st.async.shared::cluster.mbarrier::complete_tx::bytes.b") +
      (isWide ? "64" : "32") + " [$0], $1, [$2];";
  LLVM::InlineAsmOp::create(
      builder, TypeRange(), ValueRange{place, bits, barrier}, assembly,
      isWide ? "l,l,l" : "l,r,l", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

static bool isExchange(Operation &op) {
  return isa<tile::ClusterReduceOp, tile::ClusterReduceScatterOp>(op);
}

/// What a block gets by an exchange.
static int64_t getExchangedBytes(Operation *exchange, int64_t blocks) {
  if (isa<tile::ClusterReduceScatterOp>(exchange))
    return getSentBytes(exchange->getResult(0), blocks);
  int64_t bytes = 0;
  for (Value input : exchange->getOperands())
    bytes += getSentBytes(input, blocks);
  return bytes;
}

/// One memory barrier for each exchange.
void KernelEmitter::emitClusterBarriers() {
  SmallVector<Operation *> exchanges;
  for (Operation &op : *kernel.getBody())
    if (isExchange(op))
      exchanges.push_back(&op);
  if (exchanges.empty())
    return;
  for (Operation *exchange : exchanges)
    barrierOfExchange[exchange] = allocateShared(barrierBytes);
  {
    OpBuilder::InsertionGuard guard(builder);
    enterFirstThread();
    Value one = arith::ConstantIntOp::create(builder, builder.getI32Type(), 1);
    for (Operation *exchange : exchanges)
      NVVM::MBarrierInitOp::create(builder, barrierOfExchange[exchange], one,
                                   /*predicate=*/Value());
    NVVM::FenceMbarrierInitOp::create(builder);
  }
  NVVM::ClusterArriveRelaxedOp::create(builder, builder.getUnitAttr());
}

/// Before a block sends: the memory barriers of all blocks are there, and the
/// block's own expects what the exchange brings. Others may have sent already,
/// for only the arrival here, with those bytes, completes its phase.
void KernelEmitter::beginExchange(Operation *exchange) {
  bool isFirst = llvm::none_of(*kernel.getBody(), [&](Operation &other) {
    return isExchange(other) && other.isBeforeInBlock(exchange);
  });
  if (isFirst)
    NVVM::ClusterWaitOp::create(builder, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  enterFirstThread();
  int64_t bytes = getExchangedBytes(exchange, kernel.getClusterBlocks());
  NVVM::MBarrierArriveExpectTxOp::create(
      builder, Type(), barrierOfExchange[exchange],
      arith::ConstantIntOp::create(builder, builder.getI32Type(), bytes),
      NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
}

/// Until all that the blocks send is there.
void KernelEmitter::awaitExchange(Operation *exchange) {
  // How long a thread may sleep before it asks again, in nanoseconds.
  constexpr int64_t patience = 10000000;
  Type i32 = builder.getI32Type();
  NVVM::MBarrierTryWaitParityOp::create(
      builder, barrierOfExchange[exchange],
      arith::ConstantIntOp::create(builder, i32, 0),
      arith::ConstantIntOp::create(builder, i32, patience));
}

void KernelEmitter::emitClusterReduce(tile::ClusterReduceOp op) {
  tile::LayoutAttr layoutAttr = tile::getLayout(op.getInputs().front());
  LinearLayout layout = layoutAttr.getLinearLayout();
  int32_t duplicates = layout.getReplicaMask().reg;
  int64_t blocks = kernel.getClusterBlocks();
  int64_t elements =
      cast<RankedTensorType>(op.getInputs().front().getType()).getNumElements();
  Type i32 = builder.getI32Type();
  // Each block's elements, one block after the other.
  auto getPlace = [&](Value scratch, Type sent, Value block,
                      int32_t reg) -> Value {
    Value offset = getIndex(0);
    for (auto [coordinate, size] :
         llvm::zip(getCoordinates(layoutAttr, reg), layoutAttr.getShape()))
      offset = add(multiply(offset, size), coordinate);
    return LLVM::GEPOp::create(
        builder, scratch.getType(), sent, scratch,
        ValueRange(add(multiply(block, elements), offset)));
  };
  SmallVector<Value> scratches;
  for (Value input : op.getInputs())
    scratches.push_back(allocateShared(getSentBytes(input, blocks)));

  beginExchange(op);
  {
    OpBuilder::InsertionGuard guard(builder);
    if (Value isLeader = getIsLeader(layout))
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, isLeader, /*withElseRegion=*/false)
              .thenBlock());
    auto remote =
        LLVM::LLVMPointerType::get(builder.getContext(), clusterAddressSpace);
    Value rank = NVVM::BlockInClusterIdXOp::create(builder, i32);
    if (indexType.getWidth() > 32)
      rank = arith::ExtUIOp::create(builder, indexType, rank);
    for (int64_t block = 0; block < blocks; ++block) {
      Value peer = arith::ConstantIntOp::create(builder, i32, block);
      Value barrier =
          NVVM::MapaOp::create(builder, remote, barrierOfExchange[op], peer);
      for (auto [scratch, input] : llvm::zip(scratches, op.getInputs()))
        for (auto [reg, value] : llvm::enumerate(unpack(lookup(input))))
          if ((reg & duplicates) == 0) {
            Value bits = toBits(builder, value);
            Value place = getPlace(scratch, bits.getType(), rank, reg);
            sendAsync(builder,
                      NVVM::MapaOp::create(builder, remote, place, peer), bits,
                      barrier);
          }
    }
  }
  awaitExchange(op);

  // LLVM would read three words as four, of which nobody wrote the last.
  bool isOdd = !llvm::isPowerOf2_64(blocks);
  for (auto [kind, scratch, input, result] :
       llvm::zip(op.getMonoids(), scratches, op.getInputs(), op.getResults())) {
    Type element = getElementTypeOrSelf(input.getType());
    Type sent = getSentType(element);
    // Equal elements in several registers are folded once.
    std::map<std::vector<int32_t>, Value> folded;
    SmallVector<Value> values;
    for (int32_t reg = 0; reg < layout.getNumRegisters(); ++reg) {
      Coordinates coordinates = layout.apply(reg, 0);
      Value &value =
          folded[std::vector<int32_t>(coordinates.begin(), coordinates.end())];
      if (!value) {
        SmallVector<Value> parts;
        for (int64_t block = 0; block < blocks; ++block)
          parts.push_back(fromBits(
              builder,
              LLVM::LoadOp::create(
                  builder, sent, getPlace(scratch, sent, getIndex(block), reg),
                  /*alignment=*/0, /*isVolatile=*/isOdd),
              element));
        value = foldTree(builder, kind, parts);
      }
      values.push_back(value);
    }
    mapping.map(result, pack(values));
  }
}

} // namespace deplo
