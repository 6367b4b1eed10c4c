// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.cluster_reduce_scatter: each thread sends each part of its registers to
// the thread of its number in the block that the part belongs to (st.async,
// four registers at a time), and adds what it has got, in the order of the
// blocks. Neighbouring threads write to neighbouring 16 bytes.

#include "KernelEmitter.h"

#include "deplo/Analysis/ContractionLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace deplo {

static constexpr unsigned clusterAddressSpace = 7;
static constexpr int64_t lanes = 32, registerBytes = 4;

/// Writes `values` behind `place` in another block, where `barrier` counts
/// them.
static void sendAsync(ImplicitLocOpBuilder &builder, Value place,
                      ArrayRef<Value> values, Value barrier) {
  std::string vector, list, constraints = "l,";
  for (size_t i = 0; i < values.size(); ++i) {
    list += (i ? ", $" : "$") + std::to_string(i + 1);
    constraints += "f,";
  }
  if (values.size() > 1) {
    vector = ".v" + std::to_string(values.size());
    list = "{" + list + "}";
  }
  std::string assembly =
      "st.async.shared::cluster.mbarrier::complete_tx::bytes" + vector +
      ".f32 [$0], " + list + ", [$" + std::to_string(values.size() + 1) + "];";
  SmallVector<Value> operands = {place};
  llvm::append_range(operands, values);
  operands.push_back(barrier);
  LLVM::InlineAsmOp::create(
      builder, TypeRange(), operands, assembly, constraints + "l",
      /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

void KernelEmitter::emitClusterReduceScatter(tile::ClusterReduceScatterOp op) {
  LinearLayout input = tile::getLayout(op.getInput()).getLinearLayout(),
               result = tile::getLayout(op.getResult()).getLinearLayout();
  int64_t blocks = kernel.getClusterBlocks(), dim = op.getDim();
  int64_t registers = result.getNumRegisters();
  int64_t width = std::min<int64_t>(registers, 4);
  int64_t threads = *kernel.getWarps() * lanes;
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  std::map<std::vector<int32_t>, int32_t> registerOf;
  for (int32_t reg = 0; reg < input.getNumRegisters(); ++reg) {
    Coordinates at = input.apply(reg, 0);
    registerOf[{at.begin(), at.end()}] = reg;
  }
  // The register of the operand that is `reg` of the part of `block`.
  auto getSource = [&](int64_t block, int32_t reg) {
    Coordinates at = result.apply(reg, 0);
    at[dim] += block * result.getDimSize(dim);
    return registerOf.at({at.begin(), at.end()});
  };
  Value scratch = allocateShared(blocks * registers * threads * registerBytes,
                                 width * registerBytes);
  // Of `width` registers from `reg` on that `block` sends.
  auto getPlace = [&](Value block, int64_t reg) -> Value {
    Value first = arith::AddIOp::create(
        builder,
        arith::MulIOp::create(builder, block,
                              number(registers / width * threads)),
        arith::AddIOp::create(builder, number(reg / width * threads), thread));
    return LLVM::GEPOp::create(builder, scratch.getType(),
                               VectorType::get({width}, builder.getF32Type()),
                               scratch, ArrayRef<LLVM::GEPArg>{first});
  };
  beginExchange(op);
  SmallVector<Value> elements = unpack(lookup(op.getInput()));
  auto remote =
      LLVM::LLVMPointerType::get(builder.getContext(), clusterAddressSpace);
  Value rank = NVVM::BlockInClusterIdXOp::create(builder, i32);
  for (int64_t block = 0; block < blocks; ++block) {
    Value peer = number(block);
    Value barrier =
        NVVM::MapaOp::create(builder, remote, barrierOfExchange[op], peer);
    for (int64_t reg = 0; reg < registers; reg += width) {
      SmallVector<Value> values;
      for (int64_t i = reg; i < reg + width; ++i)
        values.push_back(elements[getSource(block, i)]);
      sendAsync(
          builder,
          NVVM::MapaOp::create(builder, remote, getPlace(rank, reg), peer),
          values, barrier);
    }
  }
  awaitExchange(op);
  SmallVector<Value> sums(registers);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t reg = 0; reg < registers; reg += width) {
      Value place = getPlace(number(block), reg);
      Value part = LLVM::LoadOp::create(
          builder, VectorType::get({width}, builder.getF32Type()), place,
          width * registerBytes);
      for (auto [i, value] : llvm::enumerate(unpack(part)))
        sums[reg + i] =
            block == 0 ? value
                       : arith::AddFOp::create(builder, sums[reg + i], value)
                             .getResult();
    }
  mapping.map(op.getResult(), pack(sums));
}

} // namespace deplo
