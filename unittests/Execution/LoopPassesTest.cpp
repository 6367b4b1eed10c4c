// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random kernels give the same values before and after the passes of the loop
// level.

#include "ModuleText.h"
#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Execution/HostCompiler.h"
#include "deplo/Execution/HostDevice.h"
#include "deplo/Runtime/Executable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace deplo;
using namespace deplo::runtime;
using deplo::testing::ModuleText;

namespace {

/// Writes the text of one random kernel: rows are loops over `outer`, each with
/// reductions over `inner`, which then go over `inner` again to store.
class RandomKernel {
public:
  explicit RandomKernel(unsigned seed) : random(seed) {
    const int64_t extents[] = {1, 1, 2, 3, 5, 16, 40};
    for (unsigned count = pick(3); count > 0; --count)
      outer.push_back(extents[pick(7)]);
    for (unsigned count = 1 + pick(2); count > 0; --count)
      inner.push_back(extents[pick(7)]);
    xType = memref(all(), pick(3) == 0);
    wType = memref(inner, false);
    yType = memref(all(), false);
    sType = memref(outer, false);
    writeKernel();
  }

  std::string getText() const {
    std::string arguments = "%x: " + xType + ", %w: " + wType +
                            ", %y: " + yType + ", %z: " + yType +
                            ", %s: " + sType;
    std::string types =
        xType + ", " + wType + ", " + yType + ", " + yType + ", " + sType;
    return "func.func @main(%x: " + xType + ", %w: " + wType +
           ", %y: " + yType + " {loop.result}, %z: " + yType +
           " {loop.result}, %s: " + sType +
           " {loop.result}) {\n  loop.launch @k(%x, %w, %y, %z, %s) : " +
           types + "\n  return\n}\nloop.kernel @k(" + arguments + ") {\n" +
           body + "}\n";
  }

private:
  unsigned pick(unsigned below) { return random() % below; }

  std::vector<int64_t> all() const {
    std::vector<int64_t> dims = outer;
    dims.insert(dims.end(), inner.begin(), inner.end());
    return dims;
  }

  /// A memref of `dims`; `padded` leaves a gap behind each row.
  std::string memref(const std::vector<int64_t> &dims, bool padded) {
    std::string text = "memref<", strides;
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      strides =
          std::to_string(stride) + (strides.empty() ? "" : ", ") + strides;
      stride = stride * dims[i] + (padded && i + 1 == dims.size() ? 3 : 0);
    }
    for (int64_t dim : dims)
      text += std::to_string(dim) + "x";
    return text + "f32" + (padded ? ", strided<[" + strides + "]>" : "") + ">";
  }

  /// "[%o0, %o1, %NAME0, ..]"
  std::string coordinates(bool withOuter, const std::string &name) const {
    std::string text;
    for (size_t i = 0; withOuter && i < outer.size(); ++i)
      text += (text.empty() ? "%o" : ", %o") + std::to_string(i);
    for (size_t i = 0; !name.empty() && i < inner.size(); ++i)
      text += (text.empty() ? "%" : ", %") + name + std::to_string(i);
    return "[" + text + "]";
  }

  void loadInto(const std::string &value, const std::string &name) {
    body += "%" + value + " = loop.load %x" + coordinates(true, name) + " : " +
            xType + "\n";
  }

  /// Nested loop.reduce over `inner`.
  void writeReduction(const std::string &result) {
    const char *kinds[] = {"add", "max", "min"};
    std::string kind = kinds[pick(3)], name = result + "k";
    for (size_t i = 0; i < inner.size(); ++i)
      body += "%" + result + (i == 0 ? "" : "n" + std::to_string(i)) +
              " = loop.reduce " + kind + " %" + name + std::to_string(i) +
              " = 0 to " + std::to_string(inner[i]) + " : f32 {\n";
    loadInto(result + "a", name);
    std::string value = result + "a";
    if (pick(2)) {
      body += "%" + result + "b = arith.mulf %" + value + ", %" + value +
              " : f32\n";
      value = result + "b";
    }
    for (size_t i = inner.size(); i-- > 0;) {
      body += "loop.yield %" + value + " : f32\n}\n";
      value = result + "n" + std::to_string(i);
    }
  }

  /// Nested loop.for over `inner` that stores to `memref`.
  void writeElements(const std::string &memref, const std::string &row) {
    std::string name = memref + "j";
    for (size_t i = 0; i < inner.size(); ++i)
      body += "loop.for %" + name + std::to_string(i) + " = 0 to " +
              std::to_string(inner[i]) + " {\n";
    loadInto(memref + "a", name);
    std::string value = memref + "a";
    if (pick(2)) {
      body += "%" + memref + "w = loop.load %w" + coordinates(false, name) +
              " : " + wType + "\n%" + memref + "b = arith.mulf %" + value +
              ", %" + memref + "w : f32\n";
      value = memref + "b";
    }
    if (!row.empty()) {
      body +=
          "%" + memref + "c = arith.subf %" + value + ", %" + row + " : f32\n";
      value = memref + "c";
    }
    body += "loop.store %" + value + ", %" + memref + coordinates(true, name) +
            " : " + yType + "\n";
    for (size_t i = 0; i < inner.size(); ++i)
      body += "}\n";
  }

  void writeRows(unsigned reductions, bool y, bool z) {
    for (size_t i = 0; i < outer.size(); ++i)
      body += "loop.for %o" + std::to_string(i) + " = 0 to " +
              std::to_string(outer[i]) + " {\n";
    std::string row;
    for (unsigned i = 0; i < reductions; ++i) {
      std::string result = "r" + std::to_string(i);
      writeReduction(result);
      if (!row.empty()) {
        body += "%t" + std::to_string(i) + " = arith.addf %" + row + ", %" +
                result + " : f32\n";
        result = "t" + std::to_string(i);
      }
      row = result;
    }
    if (!row.empty())
      body += "loop.store %" + row + ", %s" + coordinates(true, "") + " : " +
              sType + "\n";
    if (y)
      writeElements("y", row);
    if (z)
      writeElements("z", "");
    for (size_t i = 0; i < outer.size(); ++i)
      body += "}\n";
  }

  /// One nest of rows, or two side by side.
  void writeKernel() {
    if (pick(2)) {
      writeRows(1 + pick(3), true, true);
    } else {
      writeRows(1 + pick(3), true, false);
      writeRows(0, false, true);
    }
  }

  std::mt19937 random;
  std::vector<int64_t> outer, inner;
  std::string xType, wType, yType, sType, body;
};

/// What one package computes: all outputs, in order.
std::vector<float> compute(mlir::ModuleOp module) {
  registerHostDevice();
  llvm::FailureOr<std::string> package = compileHostPackage(module);
  if (failed(package))
    return {};
  auto executable = Executable::load(*package, **openDevice("host"));
  if (!executable.ok())
    return {};
  std::vector<std::vector<float>> buffers;
  std::vector<void *> pointers;
  const size_t inputs = (*executable)->manifest().inputs.size();
  for (size_t i = 0; i < (*executable)->bufferCount(); ++i) {
    std::mt19937 random(i);
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> buffer(*tensorBytes((*executable)->buffer(i)) / 4);
    for (float &value : buffer)
      value = i < inputs ? distribution(random) : 1e30f;
    buffers.push_back(std::move(buffer));
    pointers.push_back(buffers.back().data());
  }
  if (!(*executable)->run(pointers.data(), pointers.size()).ok())
    return {};
  std::vector<float> outputs;
  for (size_t i = inputs; i < buffers.size(); ++i)
    outputs.insert(outputs.end(), buffers[i].begin(), buffers[i].end());
  return outputs;
}

/// With `parts`, reductions are divided as well.
void addLoopPasses(mlir::PassManager &passes, int64_t parts = 1) {
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(loop::createCollapseLoopsPass());
  passes.addNestedPass<loop::KernelOp>(loop::createFuseLoopsPass());
  passes.addNestedPass<loop::KernelOp>(loop::createFuseReductionsPass());
  passes.addPass(mlir::createLoopInvariantCodeMotionPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(tile::createAttachTargetPass());
  tile::SplitReducePassOptions split;
  split.parts = parts;
  passes.addPass(tile::createSplitReducePass(split));
}

TEST(LoopPasses, KeepTheValuesOfRandomKernels) {
  int changed = 0, divided = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::string text = RandomKernel(seed).getText();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    ModuleText before(text), after(text);
    ASSERT_TRUE(before.get()) << before.getErrors();
    mlir::PassManager passes(after.get().getContext());
    addLoopPasses(passes, /*parts=*/1 + seed % 4);
    ASSERT_TRUE(succeeded(passes.run(after.get()))) << after.getErrors();
    int loopsBefore = 0, loopsAfter = 0;
    before.get().walk([&](loop::ForOp) { ++loopsBefore; });
    after.get().walk([&](loop::ForOp) { ++loopsAfter; });
    changed += loopsAfter < loopsBefore;
    auto kernels = after.get().getOps<loop::KernelOp>();
    divided += std::distance(kernels.begin(), kernels.end()) > 1;

    std::vector<float> expected = compute(before.get()),
                       got = compute(after.get());
    ASSERT_FALSE(expected.empty()) << before.getErrors();
    ASSERT_EQ(expected.size(), got.size()) << after.getErrors();
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_LT(std::abs(expected[i]), 1e29f)
          << "element " << i << " is not stored";
      // Sums of up to 1600 terms of at most 1, in another order.
      ASSERT_NEAR(expected[i], got[i], 1e-4) << "element " << i;
    }
  }
  EXPECT_GT(changed, 30);
  EXPECT_GT(divided, 10);
}

} // namespace
