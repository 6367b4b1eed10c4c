// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/CompileCache.h"

#include "deplo/Execution/HostCompiler.h"
#include "deplo/Target/NVPTX.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <elf.h>
#include <link.h>

using namespace mlir;

namespace deplo {
namespace {

/// A loaded file, known by an address in it.
struct LoadedFile {
  uintptr_t address;
  std::string path, buildId;
};

/// The identifier that the linker gave a loaded file.
std::string findBuildId(const dl_phdr_info &file) {
  for (unsigned i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = file.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const char *at =
        reinterpret_cast<const char *>(file.dlpi_addr + segment.p_vaddr);
    const char *end = at + segment.p_memsz;
    auto align = [](size_t size) { return (size + 3) & ~size_t(3); };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note);
      const char *text = name + align(note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID &&
          StringRef(name, note->n_namesz) == StringRef("GNU", 4))
        return std::string(text, note->n_descsz);
      at = text + align(note->n_descsz);
    }
  }
  return {};
}

int visitFile(dl_phdr_info *file, size_t, void *data) {
  auto *wanted = static_cast<LoadedFile *>(data);
  for (unsigned i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = file->dlpi_phdr[i];
    uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || wanted->address < begin ||
        wanted->address >= begin + segment.p_memsz)
      continue;
    wanted->path = file->dlpi_name;
    wanted->buildId = findBuildId(*file);
    return 1;
  }
  return 0;
}

/// A file as it lies on disk, without reading it.
std::string describeFile(StringRef path) {
  llvm::sys::fs::file_status status;
  std::string text = path.str();
  if (!llvm::sys::fs::status(path, status))
    llvm::raw_string_ostream(text)
        << " " << status.getSize() << " "
        << status.getLastModificationTime().time_since_epoch().count();
  return text;
}

/// The machine code around an address: the linker's identifier, else the file.
std::string describeCode(const void *address) {
  LoadedFile file{reinterpret_cast<uintptr_t>(address), {}, {}};
  dl_iterate_phdr(visitFile, &file);
  if (!file.buildId.empty())
    return llvm::toHex(file.buildId);
  return describeFile(file.path.empty() ? "/proc/self/exe" : file.path);
}

/// This compiler, MLIR and LLVM, which may be three files or one.
const std::string &describeCompiler() {
  static const std::string text = [] {
    std::string text = "deplo " DEPLO_VERSION " LLVM " LLVM_VERSION_STRING;
    for (const void *code :
         {reinterpret_cast<const void *>(&getCacheKey),
          reinterpret_cast<const void *>(&mlir::registerMLIRContextCLOptions),
          reinterpret_cast<const void *>(&llvm::SHA256::hash)})
      text += " " + describeCode(code);
    return text;
  }();
  return text;
}

} // namespace

/// What locations say but for places in files: names of arguments, and of the
/// operators that kernels are called after.
static void printNames(ModuleOp module, raw_ostream &stream) {
  auto print = [&](Location location) {
    location->walk([&](Location part) {
      if (auto name = dyn_cast<NameLoc>(part))
        stream << name.getName() << '\0';
      else if (auto fused = dyn_cast<FusedLoc>(part))
        stream << fused.getMetadata() << '\0';
      return WalkResult::advance();
    });
  };
  module->walk([&](Operation *op) {
    print(op->getLoc());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          print(argument.getLoc());
  });
}

bool isCacheable(const CompileOptions &options) {
  return !options.trace && options.passes.empty();
}

std::string getCacheKey(ModuleOp module, const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Fields are set apart by a byte that none of them holds.
  auto add = [&](const auto &field) { stream << field << '\0'; };
  add(describeCompiler());
  add(options.device);
  add(options.target);
  add(int(options.level));
  add(options.schedule);
  add(options.precision);
  add(int(options.prepareWeights));
  add(options.alignment);
  add(int(options.ptxas));
  add(options.name);
  if (options.device == "host") {
    add(getHostTarget());
  } else {
    for (StringRef tool : {"ptxas", "nvdisasm"})
      add(describeFile(findTool(tool).value_or("")));
  }
  module->print(stream, OpPrintingFlags().enableDebugInfo(false));
  printNames(module, stream);
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

} // namespace deplo
