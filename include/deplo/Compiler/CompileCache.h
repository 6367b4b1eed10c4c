// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has been compiled before: in this process, and on disk by any.

#ifndef DEPLO_COMPILER_COMPILECACHE_H
#define DEPLO_COMPILER_COMPILECACHE_H

#include "deplo/Compiler/Compiler.h"
#include "deplo/Compiler/DiskCache.h"

#include "llvm/ADT/StringMap.h"

#include <deque>
#include <memory>
#include <mutex>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace deplo {

/// Results by key. Threads that ask for one key at once wait for the first.
class CompileCache {
public:
  using Compile = llvm::function_ref<llvm::Expected<CompileResult>()>;

  /// Without a disk, results last as long as the cache. At most `memoryBytes`
  /// of packages and texts are kept in memory.
  explicit CompileCache(std::optional<DiskCache> disk,
                        size_t memoryBytes = size_t(256) << 20)
      : disk(std::move(disk)), memoryBytes(memoryBytes) {}

  /// The one that all compilations of this process share, or null where
  /// DEPLO_CACHE is "off". A folder named since by the environment is followed.
  static llvm::Expected<std::shared_ptr<CompileCache>> getShared();

  /// The result of `key`, from `compile` if there is none. Failures are not
  /// kept. A disk that can't be written is a warning in the result.
  llvm::Expected<CompileResult> get(llvm::StringRef key, Compile compile);

private:
  struct Entry {
    std::mutex compiling;
    std::optional<CompileResult> result;
  };

  std::shared_ptr<Entry> find(llvm::StringRef key);
  void keep(llvm::StringRef key, size_t bytes);

  std::optional<DiskCache> disk;
  const size_t memoryBytes;
  std::mutex mutex;
  llvm::StringMap<std::shared_ptr<Entry>> entries;
  /// Keys in the order they were made, and their sizes.
  std::deque<std::pair<std::string, size_t>> order;
  size_t usedBytes = 0;
};

/// Whether the same IR and options always give the same result: recorded steps
/// hold locations and times, and passes by name may be another library's.
bool isCacheable(const CompileOptions &options);

/// Everything that the result of a compilation depends on: the module and the
/// names in its locations, but not their places in files; the options, this
/// compiler's machine code and LLVM's, the toolkit's programs, and for the host
/// its processor.
std::string getCacheKey(mlir::ModuleOp module, const CompileOptions &options);

/// A result as bytes and back; none if they can't be read.
std::string serialize(const CompileResult &result);
std::optional<CompileResult> deserialize(llvm::StringRef bytes);

} // namespace deplo

#endif // DEPLO_COMPILER_COMPILECACHE_H
