// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of primitives that may become one kernel, and their merging.

#ifndef DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_FUSIONGROUPS_H
#define DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_FUSIONGROUPS_H

#include "deplo/Analysis/FusionCost.h"
#include "deplo/Dialect/Graph/Transforms/IterationSpace.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <string>

namespace deplo::graph {

/// Strides in memory of a tensor: those that `graph.strides` gives an argument,
/// row-major ones otherwise.
llvm::SmallVector<int64_t> getMemoryStrides(mlir::Value tensor);

/// Prepares `function` for fusion: every read of a primitive becomes one that
/// loops can make (a copy goes before it where its coordinates are not a box),
/// widening conversions are duplicated for each reader, and every result of the
/// function becomes the result of a primitive of its own. Fails, with an error,
/// on operations that are not primitives and on reads that no copy helps.
llvm::LogicalResult makeReadable(mlir::RewriterBase &rewriter,
                                 mlir::func::FuncOp function);

/// What the cost model knows of `target`, and of products of f32 in
/// `precision`.
MachineModel getMachineModel(tile::TargetAttr target,
                             tile::Precision precision = tile::Precision::IEEE);

class FusionGroups {
public:
  /// Kernels that are there already are merged with others, or left alone.
  enum class Kernels { Merged, Fixed };

  FusionGroups(mlir::func::FuncOp function, const MachineModel &machine,
               FusionPolicy policy, Kernels kernels = Kernels::Fixed,
               FusionPolicy windows = FusionPolicy::Auto);

  /// Merges groups with those that they read from, as far as it is legal and
  /// pays.
  void fuse();

  /// Merges groups neither of which reads from the other, as far as it is legal
  /// and pays.
  void fuseSiblings();

  /// A group of maps, in order, and the primitives of each group that reads
  /// what it computes.
  struct Recomputed {
    llvm::SmallVector<mlir::Operation *> maps;
    std::vector<llvm::SmallVector<mlir::Operation *>> readers;
  };

  /// Groups of maps that take less time if each of their readers computes them
  /// for itself, none of which reads from another.
  llvm::SmallVector<Recomputed> findRecomputed() const;

  /// Estimate of all kernels.
  double getSeconds() const;

  /// Says what was merged and what was not, with numbers; `nothing` if there
  /// was no pair to look at.
  void emitRemarks(llvm::StringRef category, llvm::StringRef nothing);

  /// Puts each group into a graph.fused.
  void outline(mlir::RewriterBase &rewriter);

  /// Makes one graph.fused of the kernels of each group.
  void mergeKernels(mlir::RewriterBase &rewriter);

private:
  using Axis = AxisClasses::Axis;

  struct Use {
    unsigned reader;
    unsigned read;
  };

  /// A read of what another group computes, and the bytes that need not move
  /// if the groups are merged.
  struct Edge {
    unsigned producer;
    Use use;
    int64_t bytes;
  };

  struct Group {
    /// Positions of the primitives, unordered; the first and last of them.
    llvm::SmallVector<unsigned> members;
    unsigned first, last;
    /// Axes that the reductions and scans keep, if there are any.
    std::optional<llvm::SmallVector<Axis>> kept;
    /// How many reductions the first and the last of them depend on, each after
    /// the other.
    unsigned firstDepth = ~0u, lastDepth = 0;
    /// What is read from memory, with its bytes.
    llvm::MapVector<mlir::Value, int64_t> inputs;
    /// Members whose results are needed elsewhere.
    llvm::SmallVector<unsigned> outputs;
    double operations = 0;
    /// Members that are a graph.contract.
    unsigned contractions = 0;
    int64_t productTiles = 0;
    /// Whether other members fold rows of their results.
    bool foldsRows = false;
    /// A graph.fused that is there already: never merged.
    bool isFixed = false;
    bool hasScan = false;
    /// Whether there is a reduction of what a scan computes.
    bool reducesScan = false;
    /// Kernels that are there already and make up the group.
    llvm::SmallVector<FusedOp> kernels;
  };

  /// What became of a producer and its consumer, or of siblings.
  struct Decision {
    unsigned producer, consumer;
    bool isFused;
    std::string reason;
  };

  void addPrimitive(mlir::Operation *op, unsigned group);
  void addFused(FusedOp op);
  void addKernel(FusedOp op);
  mlir::Value resolve(mlir::Value value) const;
  void countUses();
  llvm::SmallVector<Edge> getEdges() const;
  void mergeBetween(unsigned producer, unsigned consumer);
  void fuseEdges(
      llvm::DenseMap<std::pair<unsigned, unsigned>, std::string> &refusals);

  /// Merges the group of `producer` into the group of `consumer`; if it can't,
  /// returns why.
  std::optional<std::string> merge(unsigned producer, unsigned consumer);
  std::optional<std::string> unifyReads(unsigned producer, unsigned consumer);
  /// Merges siblings; if it can't, returns why.
  std::optional<std::string> mergeSiblings(unsigned first, unsigned second);
  bool joinLoops(const Group &first, const Group &second);
  int64_t getSharedBytes(const Group &first, const Group &second) const;
  bool isLaunchBound(const Group &group) const;
  llvm::SmallVector<unsigned> findSiblings(unsigned group);
  std::optional<std::string> checkLoops(unsigned from, unsigned into,
                                        size_t checkpoint);
  void commit(unsigned from, unsigned into, Group merged, size_t checkpoint);
  std::optional<std::string> checkBoundary(const Group &merged);
  std::optional<std::string> checkOperands(const Group &from,
                                           const Group &into) const;
  std::optional<std::pair<unsigned, Use>> findOperand(const Group &from,
                                                      const Group &into) const;
  bool isMapOfElements(const Group &group) const;
  GatherOp getGathered(const Group &group) const;
  bool gathersOperand(const Group &group) const;
  double getWindowOperations(Use operand) const;
  double getSlowerOperations(const Primitive &contraction) const;
  double getFoldOperations(const Group &product) const;
  double getOperandOperations(const Group &from, const Group &into) const;
  std::optional<std::string> checkWindows(GatherOp gather, const Group &into,
                                          Use operand) const;
  size_t countSummedLoops(const Group &group) const;
  double countTiles(unsigned contraction, unsigned number) const;
  std::optional<std::string> checkContractions(const Group &first,
                                               const Group &second) const;
  bool shareOperand(const Primitive &first, const Primitive &second) const;
  bool isFoldOfRows(const Group &product, const Group &rows) const;
  std::optional<std::string> checkRows(const Group &product,
                                       const Group &rows) const;
  int64_t countProductTiles(const Primitive &product) const;
  std::optional<std::string> checkMember(const Primitive &primitive);
  Group getMerged(unsigned producer, unsigned consumer,
                  double recomputation) const;
  double getRecomputation(unsigned producer, unsigned consumer) const;
  /// Whether `reader` depends on `source`, both groups, not counting what it
  /// reads from it directly if `isIndirect`.
  bool dependsOn(unsigned reader, unsigned source, bool isIndirect) const;
  Group getRecomputing(const Group &reader, const Group &source) const;
  llvm::SmallVector<unsigned> getReaders(unsigned index) const;
  KernelCost getCost(const Group &group) const;
  double getEvaluations(const Primitive &primitive,
                        llvm::ArrayRef<Axis> kept) const;
  std::string compare(const KernelCost &fused, const KernelCost &producer,
                      const KernelCost &consumer) const;
  std::string describe(unsigned primitive) const;
  static std::string describe(mlir::Operation *op);

  unsigned findGroup(unsigned primitive) const;
  llvm::SmallVector<unsigned> getGroupsInOrder() const;
  void nameKernels();
  mlir::Operation *getDominant(const Group &group) const;

  mlir::func::FuncOp function;
  MachineModel machine;
  FusionPolicy policy;
  /// When contractions gather the windows of an operand themselves.
  FusionPolicy windows;
  /// Whether maps may become part of the contractions that take them as
  /// operands.
  bool mergesOperands = false;
  SymbolicSizes sizes;
  IterationSpace space;
  std::vector<Primitive> primitives;
  llvm::DenseMap<mlir::Value, unsigned> producers;
  std::vector<llvm::SmallVector<Use>> uses;
  std::vector<unsigned> depths;  // reductions on the way to a primitive
  std::vector<bool> followsScan; // whether a scan is on the way
  /// Uses outside of the group that the primitive is in.
  std::vector<unsigned> openUses;
  mutable std::vector<unsigned> groupLinks;
  std::vector<Group> groups;
  std::vector<std::string> kernelNames; // of groups
  std::vector<Decision> decisions;
  /// Groups by what siblings have in common.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> readers;
  std::map<llvm::SmallVector<int64_t>, llvm::SmallVector<unsigned>> smallGroups;
};

/// Copies of maps, one for each reader but the first.
class Recomputation {
public:
  void apply(mlir::RewriterBase &rewriter,
             llvm::ArrayRef<FusionGroups::Recomputed> recomputed);
  void undo(mlir::RewriterBase &rewriter);

private:
  void copyViews(mlir::RewriterBase &rewriter, mlir::Value value,
                 mlir::IRMapping &copies);

  llvm::SmallVector<mlir::Operation *> created;
  llvm::SmallVector<std::pair<mlir::OpOperand *, mlir::Value>> changed;
};

} // namespace deplo::graph

#endif // DEPLO_LIB_DIALECT_GRAPH_TRANSFORMS_FUSIONGROUPS_H
