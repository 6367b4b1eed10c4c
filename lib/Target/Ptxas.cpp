// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Target/NVPTX.h"
#include "deplo/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_PTXASPASS
#include "deplo/Target/Passes.h.inc"

namespace {

/// What ptxas -v says of one kernel.
struct Resources {
  int64_t registers = 0, spillBytes = 0, staticSharedBytes = 0;
  bool isSerialised = false;
};

/// Reads lines such as
///   ptxas info : Compiling entry function 'k' for 'sm_90a'
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info : Used 32 registers, used 1 barriers, 64 bytes smem
///   ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async
///     instructions are serialized due to ... in function 'k'
llvm::StringMap<Resources> parseResources(StringRef log) {
  llvm::Regex entry("Compiling entry function '([^']+)'"),
      registers("Used ([0-9]+) registers"),
      spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads"),
      shared("([0-9]+) bytes smem"), serialised("[(]C75.*function '([^']+)'");
  llvm::StringMap<Resources> resources;
  std::string kernel;
  SmallVector<StringRef> lines, match;
  log.split(lines, '\n');
  auto number = [](StringRef digits) {
    int64_t value = 0;
    digits.getAsInteger(10, value);
    return value;
  };
  for (StringRef line : lines) {
    if (entry.match(line, &match))
      kernel = match[1].str();
    if (serialised.match(line, &match))
      resources[match[1]].isSerialised = true;
    if (spills.match(line, &match))
      resources[kernel].spillBytes = number(match[1]) + number(match[2]);
    if (registers.match(line, &match))
      resources[kernel].registers = number(match[1]);
    if (shared.match(line, &match))
      resources[kernel].staticSharedBytes = number(match[1]);
  }
  return resources;
}

/// Lets a multiprocessor hold one block of `kernel` less than its PTX asks for,
/// so that its threads may have more registers. Fails if it asks for one, or
/// shares out among warps what threads of so many blocks start with.
LogicalResult lowerResidency(std::string &ptx, StringRef kernel) {
  size_t entry = ptx.find((".entry " + kernel + "(").str());
  if (entry == std::string::npos)
    return failure();
  constexpr StringLiteral directive = ".minnctapersm ";
  size_t begin = ptx.find(directive, entry), body = ptx.find('{', entry);
  if (begin == std::string::npos || begin > body)
    return failure();
  begin += directive.size();
  size_t end = ptx.find_first_not_of("0123456789", begin);
  size_t next = ptx.find(".entry ", body);
  if (StringRef(ptx).slice(body, next).contains("setmaxnreg"))
    return failure();
  int64_t blocks = 1;
  StringRef(ptx).slice(begin, end).getAsInteger(10, blocks);
  if (blocks == 1)
    return failure();
  ptx.replace(begin, end - begin, std::to_string(blocks - 1));
  return success();
}

struct PtxasPass : impl::PtxasPassBase<PtxasPass> {
  using PtxasPassBase::PtxasPassBase;

  void runOnOperation() override {
    for (auto binary : getOperation().getOps<gpu::BinaryOp>())
      if (failed(assemble(binary)))
        return signalPassFailure();
  }

  LogicalResult assemble(gpu::BinaryOp binary) {
    auto object = dyn_cast<gpu::ObjectAttr>(binary.getObjects()[0]);
    auto target = object ? dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget())
                         : NVVM::NVVMTargetAttr();
    if (!target || object.getFormat() != gpu::CompilationTarget::Assembly)
      return binary.emitError(
          "binary's first object is not PTX; run deplo-kernel-to-ptx first");
    std::optional<std::string> ptxas = findTool("ptxas");
    if (!ptxas)
      return binary.emitError("ptxas was not found; install the CUDA toolkit, "
                              "set CUDA_HOME, or stop at PTX");

    std::string log, ptx = object.getObject().getValue().str();
    llvm::StringMap<Resources> resources;
    FailureOr<std::string> cubin;
    for (bool isLowered = true; isLowered;) {
      cubin = run(binary, *ptxas, target.getChip(), ptx, log);
      if (failed(cubin))
        return failure();
      resources = parseResources(log);
      isLowered = false;
      for (const auto &[kernel, used] : resources)
        isLowered |= used.spillBytes && succeeded(lowerResidency(ptx, kernel));
    }
    if (StringRef(log).contains("(C75") && !allowSerialised)
      return binary.emitError()
             << "ptxas serialised wgmma instructions: " << log;

    FailureOr<gpu::KernelTableAttr> kernels =
        annotate(binary, object.getKernels(), resources);
    if (failed(kernels))
      return failure();
    auto assembly = gpu::ObjectAttr::get(
        &getContext(), target, gpu::CompilationTarget::Assembly,
        StringAttr::get(&getContext(), ptx), object.getProperties(), *kernels);
    auto machineCode = gpu::ObjectAttr::get(
        &getContext(), target, gpu::CompilationTarget::Binary,
        StringAttr::get(&getContext(), *cubin), object.getProperties(),
        *kernels);
    binary.setObjectsAttr(
        ArrayAttr::get(&getContext(), {assembly, machineCode}));
    return success();
  }

  /// The cubin; `log` is what ptxas printed.
  FailureOr<std::string> run(gpu::BinaryOp binary, StringRef ptxas,
                             StringRef chip, StringRef ptx, std::string &log) {
    SmallString<64> ptxPath, cubinPath, logPath;
    int ptxFile;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "deplo", "ptx", ptxFile, ptxPath))
      return binary.emitError()
             << "cannot create a temporary file: " << error.message();
    llvm::FileRemover removePtx(ptxPath);
    {
      llvm::raw_fd_ostream stream(ptxFile, /*shouldClose=*/true);
      stream << ptx;
    }
    if (llvm::sys::fs::createTemporaryFile("deplo", "cubin", cubinPath) ||
        llvm::sys::fs::createTemporaryFile("deplo", "log", logPath))
      return binary.emitError("cannot create a temporary file");
    llvm::FileRemover removeCubin(cubinPath), removeLog(logPath);

    std::string architecture = ("-arch=" + chip).str();
    StringRef arguments[] = {ptxas, "-v",      architecture,
                             "-o",  cubinPath, ptxPath};
    std::optional<StringRef> redirects[] = {std::nullopt, StringRef(logPath),
                                            StringRef(logPath)};
    std::string error;
    int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt,
                                           redirects, 0, 0, &error);
    if (llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
            llvm::MemoryBuffer::getFile(logPath))
      log = (*buffer)->getBuffer().str();
    if (status != 0)
      return binary.emitError() << "ptxas failed for " << chip << ": "
                                << (error.empty() ? log : error);
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> cubin =
        llvm::MemoryBuffer::getFile(cubinPath);
    if (!cubin)
      return binary.emitError()
             << "cannot read the cubin: " << cubin.getError().message();
    return (*cubin)->getBuffer().str();
  }

  /// Each kernel's resources as metadata and remarks.
  FailureOr<gpu::KernelTableAttr>
  annotate(gpu::BinaryOp binary, gpu::KernelTableAttr kernels,
           const llvm::StringMap<Resources> &resources) {
    if (!kernels)
      return gpu::KernelTableAttr();
    Builder builder(&getContext());
    SmallVector<gpu::KernelMetadataAttr> annotated;
    for (gpu::KernelMetadataAttr kernel : kernels) {
      Resources used = resources.lookup(kernel.getName());
      if (used.spillBytes != 0 && !allowSpills)
        return binary.emitError()
               << "kernel " << kernel.getName() << " spills " << used.spillBytes
               << " bytes of registers; lower block or chunk, or raise warps, "
                  "in its schedule";
      remark::analysis(binary.getLoc(), remark::RemarkOpts::name("Resources")
                                            .category("deplo-ptxas")
                                            .function(kernel.getName()))
          << "kernel " << kernel.getName().getValue() << " uses "
          << std::to_string(used.registers) << " registers, "
          << std::to_string(used.spillBytes) << " bytes spilled";
      annotated.push_back(kernel.appendMetadata(
          {builder.getNamedAttr("registers",
                                builder.getI64IntegerAttr(used.registers)),
           builder.getNamedAttr("spill_bytes",
                                builder.getI64IntegerAttr(used.spillBytes)),
           builder.getNamedAttr(
               "static_shared_bytes",
               builder.getI64IntegerAttr(used.staticSharedBytes))}));
      if (used.isSerialised)
        annotated.back() = annotated.back().appendMetadata(
            builder.getNamedAttr("serialised_wgmma", builder.getUnitAttr()));
    }
    return gpu::KernelTableAttr::get(&getContext(), annotated);
  }
};

} // namespace
} // namespace deplo
