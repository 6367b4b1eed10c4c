// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From groups to graph.fused, and what to say about them.

#include "FusionGroups.h"
#include "deplo/Dialect/Graph/Transforms/Decompose.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <queue>

using namespace mlir;

namespace deplo::graph {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What a person calls `op`: the operator it came from, or what it is.
static std::string getNameOf(Operation *op) {
  if (StringRef source = getSourceName(op->getLoc()); !source.empty())
    return source.str();
  if (auto fused = dyn_cast<FusedOp>(op))
    return fused.getKernel().str();
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return ("reduce_" + stringifyMonoid(reduce.getKind())).str();
  if (auto scan = dyn_cast<ScanOp>(op))
    return ("scan_" + stringifyMonoid(scan.getKind())).str();
  return op->getName().stripDialect().str();
}

static bool isFold(Operation *op) {
  return isa<ReduceOp, ContractOp, ScanOp>(op);
}

/// The primitive that a kernel is about: its contraction, its last reduction or
/// scan, its last map, or a copy if there is nothing else.
Operation *FusionGroups::getDominant(const Group &group) const {
  auto getKey = [&](unsigned member) {
    Operation *op = primitives[member].op;
    bool isCopy = getSourceName(op->getLoc()) == "copy";
    return std::tuple(isa<ContractOp>(op), isFold(op), !isCopy, member);
  };
  unsigned dominant = group.members.front();
  for (unsigned member : group.members)
    if (getKey(member) > getKey(dominant))
      dominant = member;
  return primitives[dominant].op;
}

/// The operators that `ops` come from, joined; `many` for more than three,
/// empty for none.
static std::string joinSources(ArrayRef<Operation *> ops, StringRef many) {
  constexpr size_t maxOperators = 3;
  llvm::SetVector<StringRef> sources;
  for (Operation *op : ops)
    if (StringRef source = getSourceName(op->getLoc());
        !source.empty() && source != "copy")
      sources.insert(source);
  return sources.size() > maxOperators ? many.str() : llvm::join(sources, "_");
}

/// A size as a part of a name: 2048, rows, 8_groups.
static std::string getSizeName(int64_t size, const SymbolicSizes &sizes) {
  std::string name = sizes.describe(size);
  llvm::erase(name, ' ');
  std::replace(name.begin(), name.end(), '*', '_');
  return name;
}

/// rms_norm_2048: the operators of the reductions and scans and how many
/// elements the last of them folds. linear_5632x2048: columns and what is
/// summed over of a contraction. silu_mul_5632: the operators of a chain of
/// maps and the size of the innermost axis.
static std::string getBaseName(Operation *dominant, ArrayRef<Operation *> ops,
                               const SymbolicSizes &sizes) {
  SmallVector<Operation *> named(ops);
  bool folds = isFold(dominant);
  if (folds)
    llvm::erase_if(named, [](Operation *op) { return !isFold(op); });
  std::string name = joinSources(named, folds ? "reductions" : "pointwise");
  if (name.empty())
    name = getNameOf(dominant);
  if (auto reduce = dyn_cast<ReduceOp>(dominant)) {
    int64_t count = 1;
    for (int64_t axis : reduce.getAxes())
      count *= reduce.getInput().getType().getDimSize(axis);
    return name + "_" + getSizeName(count, sizes);
  }
  if (auto scan = dyn_cast<ScanOp>(dominant))
    return name + "_" +
           std::to_string(scan.getType().getDimSize(scan.getAxis()));
  auto type = cast<RankedTensorType>(dominant->getResult(0).getType());
  if (type.getRank() > 0)
    name += "_" + getSizeName(type.getShape().back(), sizes);
  if (auto contract = dyn_cast<ContractOp>(dominant)) {
    int64_t count = 1;
    for (int64_t size : ArrayRef(contract.getIterationShape())
                            .drop_front(contract.getType().getRank()))
      count *= size;
    name += (type.getRank() > 0 ? "x" : "_") + std::to_string(count);
  }
  return name;
}

void FusionGroups::nameKernels() {
  llvm::StringSet<> taken;
  kernelNames.resize(groups.size());
  SmallVector<unsigned> unnamed;
  for (unsigned index : getGroupsInOrder()) {
    Group &group = groups[index];
    llvm::sort(group.members);
    FusedOp fused =
        group.isFixed ? dyn_cast<FusedOp>(primitives[index].op) : FusedOp();
    if (group.kernels.size() == 1)
      fused = group.kernels.front();
    if (!fused) {
      unnamed.push_back(index);
      continue;
    }
    kernelNames[index] = fused.getKernel().str();
    taken.insert(kernelNames[index]);
  }
  for (unsigned index : unnamed) {
    Group &group = groups[index];
    SmallVector<Operation *> ops;
    for (unsigned member : group.members)
      ops.push_back(primitives[member].op);
    std::string base = getBaseName(getDominant(group), ops, sizes);
    std::string name = base;
    for (unsigned suffix = 1; !taken.insert(name).second; ++suffix)
      name = base + "_" + std::to_string(suffix);
    kernelNames[index] = name;
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Groups after those that they read from; otherwise in program order.
SmallVector<unsigned> FusionGroups::getGroupsInOrder() const {
  llvm::SmallDenseMap<unsigned, unsigned> missing;
  llvm::DenseMap<unsigned, SmallVector<unsigned>> readers;
  using Entry = std::pair<unsigned, unsigned>; // first member, group
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (unsigned index = 0; index < groups.size(); ++index) {
    if (findGroup(index) != index)
      continue;
    llvm::SmallSetVector<unsigned, 4> sources;
    for (const auto &[value, bytes] : groups[index].inputs)
      if (auto it = producers.find(value); it != producers.end())
        sources.insert(findGroup(it->second));
    missing[index] = sources.size();
    for (unsigned source : sources)
      readers[source].push_back(index);
    if (sources.empty())
      ready.push({groups[index].first, index});
  }
  SmallVector<unsigned> order;
  while (!ready.empty()) {
    unsigned index = ready.top().second;
    ready.pop();
    order.push_back(index);
    for (unsigned reader : readers[index])
      if (--missing[reader] == 0)
        ready.push({groups[reader].first, reader});
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

std::string FusionGroups::describe(unsigned primitive) const {
  return describe(primitives[primitive].op);
}

std::string FusionGroups::describe(Operation *op) {
  std::string name = getNameOf(op);
  StringRef kind = op->getName().stripDialect();
  return name == kind ? name : name + "'s " + kind.str();
}

static std::string formatMicroseconds(double seconds) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2f us", seconds * 1e6);
  return text;
}

std::string FusionGroups::compare(const KernelCost &fused,
                                  const KernelCost &producer,
                                  const KernelCost &consumer) const {
  auto getBytes = [](const KernelCost &cost) {
    return cost.bytesRead + cost.bytesWritten;
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getBytes(fused) << " bytes instead of "
     << getBytes(producer) + getBytes(consumer);
  double more = fused.operations - producer.operations - consumer.operations;
  if (more > 0)
    os << ", " << llvm::format("%.0f", more) << " more operations";
  os << ", " << formatMicroseconds(estimateSeconds(fused, machine))
     << " instead of "
     << formatMicroseconds(estimateSeconds(producer, machine) +
                           estimateSeconds(consumer, machine));
  return text;
}

void FusionGroups::emitRemarks(StringRef category, StringRef nothing) {
  nameKernels();
  if (decisions.empty())
    remark::missed(function.getLoc(),
                   remark::RemarkOpts::name("Fused").category(category))
        << nothing;
  for (const Decision &decision : decisions) {
    StringRef kernel = kernelNames[findGroup(decision.consumer)];
    Location loc = primitives[decision.consumer].op->getLoc();
    auto opts = [&](StringRef name) {
      return remark::RemarkOpts::name(name).category(category).function(kernel);
    };
    std::string producer = describe(decision.producer);
    std::string consumer = describe(decision.consumer);
    std::string text;
    llvm::raw_string_ostream os(text);
    if (decision.isFused) {
      os << producer << " and " << consumer << " in @" << kernel << ": "
         << decision.reason;
      remark::passed(loc, opts("Fused")) << text;
    } else {
      os << producer << " (@" << kernelNames[findGroup(decision.producer)]
         << ") and " << consumer << " (@" << kernel << "): " << decision.reason;
      remark::missed(loc, opts("KeptApart")) << text;
    }
  }
  for (unsigned index : getGroupsInOrder()) {
    const Group &group = groups[index];
    if (group.isFixed || group.kernels.size() == 1)
      continue; // known already
    KernelCost cost = getCost(group);
    std::string text;
    llvm::raw_string_ostream(text)
        << "@" << kernelNames[index] << ": " << group.members.size()
        << " primitives, reads " << cost.bytesRead << " bytes, writes "
        << cost.bytesWritten << ", " << llvm::format("%.0f", cost.operations)
        << " operations, " << cost.pieces << " independent pieces, "
        << formatMicroseconds(estimateSeconds(cost, machine));
    remark::analysis(
        getDominant(group)->getLoc(),
        remark::RemarkOpts::name("Kernel").category(category).function(
            kernelNames[index]))
        << text;
  }
}

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

namespace {
/// Clones primitives, and the views and constants they read, into a
/// graph.fused.
class Cloner {
public:
  Cloner(RewriterBase &rewriter, IRMapping &mapping)
      : rewriter(rewriter), mapping(mapping) {}

  void clone(Operation *op) {
    for (Value operand : op->getOperands())
      cloneViews(operand);
    rewriter.clone(*op, mapping);
  }

private:
  void cloneViews(Value value) {
    SmallVector<Operation *> views;
    while (!mapping.contains(value)) {
      views.push_back(value.getDefiningOp());
      if (views.back()->getNumOperands() == 0)
        break; // a constant
      value = views.back()->getOperand(0);
    }
    for (Operation *view : llvm::reverse(views))
      rewriter.clone(*view, mapping);
  }

  RewriterBase &rewriter;
  IRMapping &mapping;
};
} // namespace

void FusionGroups::outline(RewriterBase &rewriter) {
  if (kernelNames.empty())
    nameKernels();
  Block &body = function.getBody().front();
  SmallVector<FusedOp> outlined;
  IRMapping outside; // results of primitives to results of groups
  for (unsigned index : getGroupsInOrder()) {
    Group &group = groups[index];
    rewriter.setInsertionPoint(body.getTerminator());
    if (group.isFixed) {
      rewriter.clone(*primitives[index].op, outside);
      continue;
    }
    SmallVector<Value> inputs;
    for (const auto &[value, bytes] : group.inputs)
      inputs.push_back(outside.lookupOrDefault(value));
    llvm::sort(group.outputs);
    SmallVector<Value> outputs;
    for (unsigned output : group.outputs)
      outputs.push_back(primitives[output].op->getResult(0));
    auto fused = FusedOp::create(rewriter, getDominant(group)->getLoc(),
                                 kernelNames[index],
                                 ValueRange(outputs).getTypes(), inputs);
    IRMapping mapping;
    for (auto [input, argument] :
         llvm::zip_equal(group.inputs, fused.getBody()->getArguments()))
      mapping.map(input.first, argument);
    rewriter.setInsertionPointToStart(fused.getBody());
    Cloner cloner(rewriter, mapping);
    for (unsigned member : group.members)
      cloner.clone(primitives[member].op);
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(mapping.lookup(output));
    YieldOp::create(rewriter, fused.getLoc(), yielded);
    outside.map(outputs, fused.getOutputs());
    outlined.push_back(fused);
  }
  // Duplicates of a widening conversion that came into one group.
  DominanceInfo dominance(function);
  for (auto fused : outlined)
    eliminateCommonSubExpressions(rewriter, dominance, fused);
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    operand.set(outside.lookupOrDefault(operand.get()));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<GraphDialect>(op.getDialect()) && op.use_empty() &&
        !op.hasTrait<OpTrait::IsTerminator>())
      rewriter.eraseOp(&op);
}

} // namespace deplo::graph
