// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What select_schedule and split_matmul_k tell the models of a contraction.

#include "deplo/Analysis/ContractionModel.h"
#include "deplo/Analysis/FusionCost.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

using namespace mlir;

namespace deplo::tile {

FailureOr<Precision> parsePrecision(StringRef text, ModuleOp module) {
  if (std::optional<Precision> precision = symbolizePrecision(text))
    return *precision;
  return module.emitError()
         << "schedule: precision is '" << text << "', expected ieee or tf32";
}

/// What it takes to compute one element of each of `operands`.
static OperandFacts getOperandFacts(ArrayRef<loop::Contraction::Operand> list) {
  OperandFacts facts;
  facts.count = list.size();
  for (loop::Contraction::Operand operand : list) {
    if (!operand.isMapped())
      continue;
    ++facts.computed;
    for (loop::LoadOp load : operand.loads)
      if (load.getMap().getNumInputs() == operand.load.getMap().getNumInputs())
        facts.bytesComputedFrom +=
            llvm::divideCeil(load.getMemRefType().getElementTypeBitWidth(), 8);
    for (Operation *op : operand.map)
      facts.operations += getOperationCost(op->getName().getStringRef());
  }
  return facts;
}

ContractionFacts getContractionFacts(loop::Contraction &contraction,
                                     Precision precision) {
  std::string layouts = contraction.getTransposition();
  ContractionFacts facts;
  facts.batches = contraction.getBatches();
  facts.rows = contraction.getRows();
  facts.columns = contraction.getColumns();
  facts.depth = contraction.getDepth();
  facts.elementBytes = contraction.getElementBytes();
  facts.sums = contraction.products.size();
  facts.ofRows = getOperandFacts(contraction.getOperands(/*ofRows=*/true));
  facts.ofColumns = getOperandFacts(contraction.getOperands(/*ofRows=*/false));
  facts.isLhsAlongDepth = layouts[0] == 'N';
  facts.isRhsAlongDepth = layouts[1] == 'T';
  facts.inTwoLevels = precision == Precision::IEEE &&
                      sumsInTwoLevels(facts.depth, facts.elementBytes);
  return facts;
}

bool suitsMma(loop::Contraction &contraction, Precision precision,
              const TargetDescription &target) {
  Type element = contraction.lhs.value.getType();
  return target.mmaFlopsPerSecond > 0 &&
         contraction.reduce.getResult(0).getType().isF32() &&
         (element.isF16() || element.isBF16() ||
          (element.isF32() && precision == Precision::TF32));
}

} // namespace deplo::tile
