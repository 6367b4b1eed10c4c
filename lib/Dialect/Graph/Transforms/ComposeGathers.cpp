// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gather of what another one gathers reads the sources of that one.
//
//   %c = graph.gather %x by #m where #g, %y by #n where #h      a concatenation
//   %p = graph.gather %c by #w where #v else -inf               padding
//
// becomes
//
//   %p = graph.gather %x by #m∘#w where #v, #g∘#w,
//                     %y by #n∘#w where #v, #h∘#w,
//                     %zero by () where #v else -inf
//
// Legality. The first source whose guard holds is read: where %c is the source
// that %p reads, #v holds and no guard of an earlier one does; there %x is read
// if #g holds at the coordinates in %c, and so on. Where none does, %c has its
// fill, which is one more source: a constant. It is left out where a source of
// %c has no guard.

#include "ComposeGathers.h"

#include "deplo/Analysis/AffineRanges.h"

using namespace mlir;

namespace deplo::graph {

bool canCompose(GatherOp outer, GatherOp inner) {
  for (unsigned k = 0; k < outer.getSources().size(); ++k)
    if (outer.getSources()[k] == inner.getResult() &&
        outer.readsGuardedWindows(k))
      return false;
  return outer.getIndices().empty() && inner.getIndices().empty() &&
         outer.getType().hasStaticShape() && inner.getType().hasStaticShape();
}

static AffineMap concatenate(AffineMap a, AffineMap b) {
  SmallVector<AffineExpr> results(a.getResults());
  llvm::append_range(results, b.getResults());
  return AffineMap::get(a.getNumDims(), 0, results, a.getContext());
}

GatherOp composeGathers(RewriterBase &rewriter, GatherOp outer,
                        GatherOp inner) {
  rewriter.setInsertionPoint(outer);
  ArrayRef<int64_t> shape = outer.getType().getShape();
  SmallVector<Value> sources;
  SmallVector<AffineMap> maps, guards;
  auto add = [&](Value source, AffineMap map, AffineMap guard) {
    sources.push_back(source);
    maps.push_back(simplifyInRange(map, shape));
    guards.push_back(simplifyInRange(guard, shape));
  };
  for (unsigned k = 0; k < outer.getSources().size(); ++k) {
    AffineMap map = outer.getMap(k), guard = outer.getGuard(k);
    if (outer.getSources()[k] != inner.getResult()) {
      add(outer.getSources()[k], map, guard);
      continue;
    }
    bool isAlwaysRead = false;
    for (unsigned j = 0; j < inner.getSources().size(); ++j) {
      isAlwaysRead |= inner.getGuard(j).getNumResults() == 0;
      add(inner.getSources()[j], inner.getMap(j).compose(map),
          concatenate(guard, inner.getGuard(j).compose(map)));
    }
    if (isAlwaysRead)
      continue;
    auto type =
        RankedTensorType::get({}, getElementTypeOrSelf(inner.getType()));
    Value fill = ConstantOp::create(
        rewriter, inner.getLoc(),
        DenseElementsAttr::get(type, Attribute(inner.getFillOrZero())));
    add(fill, AffineMap::get(shape.size(), 0, rewriter.getContext()), guard);
  }
  auto composed =
      GatherOp::create(rewriter, outer.getLoc(), outer.getType(), sources,
                       ValueRange(), maps, guards, outer.getFillAttr());
  rewriter.replaceOp(outer, composed);
  if (inner->use_empty())
    rewriter.eraseOp(inner);
  return composed;
}

} // namespace deplo::graph
