// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random contractions give the same values before and after every pass of the
// tile pipeline.

#include "TileTesting.h"
#include "deplo/Pipelines/Pipelines.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace deplo;
using namespace deplo::testing;
using namespace mlir;
using llvm::formatv;

namespace {

/// Writes a plan that launches one kernel: a product of two matrices, each
/// transposed or not, maybe in a batch, and maps of the result.
class Contraction {
public:
  explicit Contraction(unsigned seed) : random(seed) {}

  std::string write() {
    int rows = pick<int>({2, 7, 16, 33}), columns = pick<int>({2, 15, 32, 50}),
        summed = pick<int>({1, 8, 19, 64});
    // Few large sums have two levels.
    if (chance(12)) {
      rows = columns = 8;
      summed = 1100;
    }
    bool isBatched = chance(3), isNarrow = chance(3);
    std::string element = isNarrow ? "bf16" : "f32";
    auto makeMatrix = [&](int outer, int inner, StringRef i, StringRef j) {
      bool isTransposed = chance(2);
      if (isTransposed) {
        std::swap(outer, inner);
        std::swap(i, j);
      }
      return std::pair(
          formatv("memref<{0}{1}x{2}x{3}>", isBatched ? "2x" : "", outer, inner,
                  element)
              .str(),
          formatv("{0}%{1}, %{2}", isBatched ? "%n, " : "", i, j).str());
    };
    auto [a, aAt] = makeMatrix(rows, summed, "i", "k");
    auto [b, bAt] = makeMatrix(summed, columns, "k", "j");
    std::string y = formatv("memref<{0}{1}x{2}x{3}>", isBatched ? "2x" : "",
                            rows, columns, element);
    std::string bias = formatv("memref<{0}x{1}>", columns, element);
    std::string yAt = isBatched ? "%n, %i, %j" : "%i, %j";
    std::string arguments =
        formatv("%a: {0}, %b: {1}, %c: {2}, %y: {3}", a, b, bias, y);
    std::string body =
        formatv(R"mlir(
      loop.for %i = 0 to {0} {{
        loop.for %j = 0 to {1} {{
          %s = loop.reduce add %k = 0 to {2} : f32 {{
            %p = loop.load %a[{3}] : {4}
            %q = loop.load %b[{5}] : {6}
            {7}
            loop.yield %m : f32
          }
          {8}
          loop.store {11}, %y[{9}] : {10}
        }
      })mlir",
                rows, columns, summed, aAt, a, bAt, b, widen(isNarrow),
                writeEpilogue(bias, isNarrow), yAt, y, isNarrow ? "%v" : "%u");
    if (isBatched)
      body = "loop.for %n = 0 to 2 {" + body + "}";
    return formatv(R"mlir(
    func.func @main({0}) {{
      loop.launch @product(%a, %b, %c, %y) : {1}, {2}, {3}, {4}
      return
    }
    loop.kernel @product({0}) {{
      %zero = arith.constant 0.0 : f32
      {5}
    })mlir",
                   arguments, a, b, bias, y, body);
  }

  std::string chooseSchedule() {
    if (chance(3))
      return "";
    std::string pin = "chunk=" + pick<std::string>({"16", "32"}) +
                      ",stages=" + pick<std::string>({"1", "2", "3"});
    if (chance(2))
      pin += ",async_copy=never";
    if (chance(4))
      pin += ",split_k=2";
    return pin;
  }

private:
  static std::string widen(bool isNarrow) {
    return isNarrow ? "%pw = arith.extf %p : bf16 to f32\n"
                      "%qw = arith.extf %q : bf16 to f32\n"
                      "%m = arith.mulf %pw, %qw fastmath<contract> : f32"
                    : "%m = arith.mulf %p, %q fastmath<contract> : f32";
  }

  std::string writeEpilogue(StringRef bias, bool isNarrow) {
    std::string text, last = "%s";
    if (chance(2)) {
      text += formatv("%w = loop.load %c[%j] : {0}\n", bias);
      if (isNarrow)
        text += "%ww = arith.extf %w : bf16 to f32\n";
      text +=
          formatv("%t = arith.addf %s, {0} : f32\n", isNarrow ? "%ww" : "%w");
      last = "%t";
    }
    text += formatv("%u = arith.maximumf {0}, %zero : f32\n", last);
    if (isNarrow)
      text += "%v = arith.truncf %u : f32 to bf16\n";
    return text;
  }

  template <typename T> T pick(std::vector<T> choices) {
    return choices[random() % choices.size()];
  }
  bool chance(int oneIn) { return random() % oneIn == 0; }

  std::mt19937 random;
};

std::vector<HostArray> interpretMain(Session &session, ModuleOp module,
                                     unsigned seed) {
  auto plan = module.lookupSymbol<func::FuncOp>("main");
  std::vector<HostArray> arrays = makeArguments(plan, seed);
  llvm::SmallVector<HostArray *> pointers;
  for (HostArray &array : arrays)
    pointers.push_back(&array);
  EXPECT_TRUE(succeeded(interpretPlan(plan, pointers))) << session.errors;
  return arrays;
}

/// Interprets the plan after every pass.
class Oracle : public PassInstrumentation {
public:
  Oracle(Session &session, ModuleOp module, unsigned seed)
      : session(session), module(module), seed(seed),
        values(interpretMain(session, module, seed)) {}

  void runAfterPass(Pass *pass, Operation *) override {
    if (pass->getArgument().empty() || ::testing::Test::HasFailure())
      return;
    SCOPED_TRACE(pass->getArgument().str());
    std::vector<HostArray> after = interpretMain(session, module, seed);
    if (::testing::Test::HasFailure())
      return;
    static const llvm::StringSet<> reorderSums = {
        "deplo-split-matmul-k", "deplo-chunk-matmul-k", "deplo-stage-totals"};
    expectSame(values, after,
               reorderSums.contains(pass->getArgument()) ? 1e-4 : 0);
    values = std::move(after);
    ++passes;
  }

  static unsigned passes;

private:
  Session &session;
  ModuleOp module;
  unsigned seed;
  std::vector<HostArray> values;
};
unsigned Oracle::passes = 0;

class RandomContractions : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomContractions, KeepValues) {
  unsigned seed = GetParam();
  Contraction contraction(seed);
  std::string text = contraction.write();
  std::string schedule = contraction.chooseSchedule();
  SCOPED_TRACE(text + "\nschedule: " + schedule);
  Session session;
  session.context.disableMultithreading();
  OwningOpRef<ModuleOp> module = session.parse(text);
  ASSERT_TRUE(module);
  // The interpreter has no warps of different roles, as kernels of sm_90a do.
  ASSERT_TRUE(succeeded(
      runPipeline(*module, "deplo-attach-target{chip=sm_80},canonicalize")))
      << session.errors;

  CompilePipelineOptions options;
  options.schedule = schedule;
  PassManager manager(&session.context);
  buildTilePipeline(manager, options);
  unsigned before = Oracle::passes;
  manager.addInstrumentation(std::make_unique<Oracle>(session, *module, seed));
  ASSERT_TRUE(succeeded(manager.run(*module))) << session.errors;
  EXPECT_GT(Oracle::passes, before + 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomContractions, ::testing::Range(0u, 24u));

} // namespace
