// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/StepTrace.h"

#include "deplo/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"

#include <chrono>

using namespace mlir;

namespace deplo {

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(/*largeElementLimit=*/16);
  op->print(stream, flags);
  stream << "\n";
  return text;
}

struct StepInstrumentation : PassInstrumentation {
  explicit StepInstrumentation(StepTrace &trace) : trace(trace) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    start = std::chrono::steady_clock::now();
    std::string name = getStepName(pass->getArgument());
    if (!name.empty() && !trace.find(pass->getArgument()))
      trace.steps.push_back({name, pass->getArgument().str(), {}, {}, {}, 0});
    if (!name.empty() && trace.withIR)
      before = print(op);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    double elapsed = std::chrono::duration<double, std::milli>(
                         std::chrono::steady_clock::now() - start)
                         .count();
    Step *step = trace.find(pass->getArgument());
    bool isCleanup = !step;
    if (isCleanup) {
      step = trace.find(lastPass);
      // A clean-up on another operation than the step's is not its own.
      if (!step || op != lastOp) {
        return;
      }
    }
    step->milliseconds += elapsed;
    if (trace.withIR) {
      if (isCleanup) {
        step->after.resize(step->after.size() - lastAfterSize);
      } else {
        step->before += before;
      }
      std::string after = print(op);
      lastAfterSize = after.size();
      step->after += after;
    }
    if (!isCleanup) {
      lastPass = step->pass;
      lastOp = op;
    }
  }

  /// A step that fails leaves the IR as it was.
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (Step *step = trace.find(pass->getArgument())) {
      step->before += before;
      step->after += before;
    }
  }

  StepTrace &trace;
  std::chrono::steady_clock::time_point start;
  std::string before, lastPass;
  Operation *lastOp = nullptr;
  size_t lastAfterSize = 0;
};

struct StepRemarkStreamer : remark::detail::MLIRRemarkStreamerBase {
  explicit StepRemarkStreamer(StepTrace &trace) : trace(trace) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Step *step = trace.find(remark.getCategoryName());
    if (!step)
      return;
    std::string location, text;
    llvm::raw_string_ostream(location) << remark.getLocation();
    // Text parts in order; metrics carry their name.
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      text += arg.key == "Remark"
                  ? arg.val
                  : (text.empty() ? "" : " ") + arg.key + " " + arg.val;
    step->remarks.push_back({getKind(remark.getRemarkType()).str(),
                             remark.getRemarkName().str(),
                             remark.getFunction().str(), text, location});
  }

  static StringRef getKind(llvm::remarks::Type type) {
    switch (type) {
    case llvm::remarks::Type::Passed:
      return "passed";
    case llvm::remarks::Type::Missed:
      return "missed";
    case llvm::remarks::Type::Failure:
      return "failure";
    default:
      return "analysis";
    }
  }

  StepTrace &trace;
};

std::unique_ptr<PassInstrumentation> StepTrace::createInstrumentation() {
  return std::make_unique<StepInstrumentation>(*this);
}

void StepTrace::enableRemarks(MLIRContext &context) {
  // A category that has no value of its own is off, whatever `all` is.
  std::string ours = "deplo-.*";
  remark::RemarkCategories categories{/*all=*/std::nullopt, ours, ours, ours,
                                      ours};
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<StepRemarkStreamer>(*this),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

Step *StepTrace::find(StringRef pass) {
  for (Step &step : steps)
    if (step.pass == pass)
      return &step;
  return nullptr;
}

} // namespace deplo
