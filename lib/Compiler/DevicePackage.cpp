// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reports.h"

#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Execution/LaunchPlan.h"
#include "deplo/Runtime/Package.h"
#include "deplo/Target/NVPTX.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace deplo {

StringRef getObject(gpu::BinaryOp binary, gpu::CompilationTarget format) {
  for (Attribute attribute : binary.getObjects()) {
    auto object = cast<gpu::ObjectAttr>(attribute);
    if (object.getFormat() == format)
      return object.getObject().getValue();
  }
  return {};
}

FailureOr<std::string> disassemble(gpu::BinaryOp binary) {
  std::optional<std::string> tool = findTool("nvdisasm");
  if (!tool)
    return binary.emitError(
        "nvdisasm was not found; install the CUDA toolkit or set CUDA_HOME");
  SmallString<64> cubinPath, textPath;
  int cubinFile;
  if (llvm::sys::fs::createTemporaryFile("deplo", "cubin", cubinFile,
                                         cubinPath) ||
      llvm::sys::fs::createTemporaryFile("deplo", "sass", textPath))
    return binary.emitError("cannot create a temporary file");
  llvm::FileRemover removeCubin(cubinPath), removeText(textPath);
  llvm::raw_fd_ostream(cubinFile, /*shouldClose=*/true)
      << getObject(binary, gpu::CompilationTarget::Binary);
  StringRef arguments[] = {*tool, "-c", cubinPath};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(textPath),
                                          std::nullopt};
  std::string error;
  if (llvm::sys::ExecuteAndWait(*tool, arguments, std::nullopt, redirects, 0, 0,
                                &error) != 0)
    return binary.emitError() << "nvdisasm failed: " << error;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text =
      llvm::MemoryBuffer::getFile(textPath);
  if (!text)
    return binary.emitError()
           << "cannot read the disassembly: " << text.getError().message();
  return (*text)->getBuffer().str();
}

FailureOr<std::string> createDevicePackage(ModuleOp module,
                                           const CompileOptions &options) {
  FailureOr<LaunchPlan> plan = extractLaunchPlan(module, options.alignment);
  if (failed(plan))
    return failure();
  runtime::Package package;
  runtime::Manifest &manifest = package.manifest;
  manifest.compiler = "deplo " DEPLO_VERSION;
  manifest.name = options.name;
  manifest.device = "cuda";
  manifest.target = options.target;
  plan->writeBuffers(manifest);

  llvm::StringMap<uint32_t> kernelIndex;
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    std::optional<uint32_t> ptx = package.blobs.size(), cubin;
    package.blobs.push_back(
        getObject(binary, gpu::CompilationTarget::Assembly));
    if (StringRef code = getObject(binary, gpu::CompilationTarget::Binary);
        !code.empty()) {
      cubin = package.blobs.size();
      package.blobs.push_back(code);
    }
    for (gpu::KernelMetadataAttr kernel :
         cast<gpu::ObjectAttr>(binary.getObjects()[0]).getKernels()) {
      auto launch = kernel.getAttr<tile::LaunchAttr>("launch");
      if (!launch)
        return binary.emitError()
               << "kernel " << kernel.getName() << " has no #tile.launch";
      runtime::KernelInfo info;
      info.name = kernel.getName().str();
      info.grid[0] = launch.getBlocks();
      if (auto grid = kernel.getAttr<DenseI64ArrayAttr>("grid"))
        for (int64_t i = 0; i < grid.size(); i += 2)
          info.axes.push_back({grid[i], grid[i + 1]});
      if (auto most = kernel.getAttr<IntegerAttr>("most_blocks"))
        info.mostBlocks = most.getInt();
      info.block[0] = launch.getThreads();
      info.sharedBytes = launch.getSharedBytes();
      info.programmatic = launch.getProgrammatic();
      info.clusterBlocks = launch.getCluster();
      if (auto maps = kernel.getAttr<ArrayAttr>("maps"))
        for (auto map : maps.getAsRange<tile::TensorMapAttr>())
          info.maps.push_back(
              {uint32_t(map.getArgument()), uint64_t(map.getOffset()),
               uint32_t(map.getElementBytes()),
               map.getExtents().asArrayRef().vec(),
               map.getStrides().asArrayRef().vec(),
               map.getBox().asArrayRef().vec(), uint32_t(map.getSwizzle())});
      info.ptx = ptx;
      info.cubin = cubin;
      kernelIndex[info.name] = manifest.kernels.size();
      manifest.kernels.push_back(std::move(info));
    }
  }
  for (const LaunchPlan::Launch &launch : plan->launches) {
    auto kernel = kernelIndex.find(launch.kernel);
    if (kernel == kernelIndex.end())
      return module.emitError() << "the launch plan launches @" << launch.kernel
                                << ", which no binary holds";
    manifest.launches.push_back(
        {kernel->second, launch.args, launch.isPrepared});
  }
  runtime::Result<std::string> bytes = runtime::writePackage(package);
  if (!bytes.ok())
    return module.emitError()
           << "cannot write the package: " << bytes.message();
  return std::move(*bytes);
}

} // namespace deplo
