// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The story of a compilation: the IR before and after each step and the remarks
// that it made.

#ifndef DEPLO_COMPILER_STEPTRACE_H
#define DEPLO_COMPILER_STEPTRACE_H

#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace deplo {

/// One remark of a pass.
struct StepRemark {
  /// "passed", "missed", "analysis" or "failure".
  std::string kind;
  std::string name, kernel, text, location;
};

/// One step. A pass that runs on each kernel is one step for all of them; the
/// clean-up passes that follow a step count to it.
struct Step {
  std::string name, pass;
  std::string before, after;
  std::vector<StepRemark> remarks;
  double milliseconds = 0;
};

/// Collects the steps of the passes run with its instrumentation on contexts
/// that its remarks are enabled for. Passes must run on one thread.
class StepTrace {
public:
  /// Without `withIR` only remarks and times are kept.
  explicit StepTrace(bool withIR) : withIR(withIR) {}

  /// To be added to each pass manager.
  std::unique_ptr<mlir::PassInstrumentation> createInstrumentation();

  /// Directs the context's remarks here.
  void enableRemarks(mlir::MLIRContext &context);

  const std::vector<Step> &getSteps() const { return steps; }
  /// Forgets all steps but the first ones.
  void truncate(size_t count) { steps.resize(count); }

private:
  friend struct StepInstrumentation;
  friend struct StepRemarkStreamer;

  Step *find(llvm::StringRef pass);

  bool withIR;
  std::vector<Step> steps;
};

} // namespace deplo

#endif // DEPLO_COMPILER_STEPTRACE_H
