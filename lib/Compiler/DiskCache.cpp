// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/DiskCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace deplo;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// llvm::pruneCache looks at files of this prefix only.
static constexpr llvm::StringLiteral filePrefix = "llvmcache-";
static constexpr llvm::StringLiteral unfinished = ".tmp";
static constexpr llvm::StringLiteral defaultPolicy =
    "prune_interval=10m:prune_after=720h:cache_size_bytes=1g";

/// What stands before a value in its file: the digest of all that follows it.
static std::string getDigest(llvm::StringRef key, llvm::StringRef value) {
  llvm::SHA256 hash;
  hash.update(key);
  hash.update(value);
  return llvm::toStringRef(hash.final()).str();
}

static llvm::Error makeError(const llvm::Twine &what, std::error_code error) {
  return llvm::createStringError(what + ": " + error.message());
}

llvm::Expected<std::optional<DiskCache>> DiskCache::fromEnvironment() {
  using llvm::sys::Process;
  if (Process::GetEnv("DEPLO_CACHE").value_or("") == "off")
    return std::nullopt;
  llvm::SmallString<128> directory(
      Process::GetEnv("DEPLO_CACHE_DIR").value_or(""));
  if (directory.empty()) {
    if (!path::cache_directory(directory))
      return std::nullopt;
    path::append(directory, "deplo");
  }
  std::string text =
      Process::GetEnv("DEPLO_CACHE_POLICY").value_or(defaultPolicy.str());
  llvm::Expected<llvm::CachePruningPolicy> policy =
      llvm::parseCachePruningPolicy(text);
  if (!policy)
    return llvm::createStringError("DEPLO_CACHE_POLICY=" + text + ": " +
                                   llvm::toString(policy.takeError()));
  return DiskCache(directory.str().str(), *policy);
}

std::string DiskCache::getPath(llvm::StringRef key) const {
  llvm::SmallString<128> file(directory);
  path::append(file, filePrefix + key);
  return file.str().str();
}

std::optional<std::string> DiskCache::load(llvm::StringRef key) const {
  llvm::Expected<fs::file_t> file =
      fs::openNativeFileForRead(getPath(key), fs::OF_UpdateAtime);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getOpenFile(*file, getPath(key), /*FileSize=*/-1,
                                      /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  fs::closeFile(*file);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef bytes = (*buffer)->getBuffer();
  llvm::StringRef digest = bytes.take_front(llvm::SHA256().final().size());
  llvm::StringRef value = bytes.drop_front(digest.size());
  if (digest != getDigest(key, value))
    return std::nullopt;
  return value.str();
}

llvm::Error DiskCache::store(llvm::StringRef key, llvm::StringRef value) const {
  if (std::error_code error = fs::create_directories(
          directory, /*IgnoreExisting=*/true, fs::owner_all))
    return makeError("cannot make the folder " + directory, error);
  llvm::SmallString<128> model(directory), temporary;
  path::append(model, filePrefix + "%%%%%%%%" + unfinished);
  int descriptor;
  if (std::error_code error =
          fs::createUniqueFile(model, descriptor, temporary, fs::OF_None,
                               fs::owner_read | fs::owner_write))
    return makeError("cannot write to the folder " + directory, error);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << getDigest(key, value) << value;
  stream.close();
  std::error_code error = stream.error();
  stream.clear_error();
  if (!error)
    error = fs::rename(temporary, getPath(key));
  if (error) {
    (void)fs::remove(temporary);
    return makeError("cannot write to the folder " + directory, error);
  }
  llvm::pruneCache(directory, policy);
  return llvm::Error::success();
}

llvm::Error DiskCache::forEachFile(
    bool complete,
    llvm::function_ref<llvm::Error(llvm::StringRef)> action) const {
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end;
       file != end && !error; file.increment(error)) {
    llvm::StringRef name = path::filename(file->path());
    if (!name.starts_with(filePrefix) ||
        (complete && name.ends_with(unfinished)))
      continue;
    if (llvm::Error failed = action(file->path()))
      return failed;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return makeError("cannot list the folder " + directory, error);
  return llvm::Error::success();
}

DiskCache::Usage DiskCache::getUsage() const {
  Usage usage;
  llvm::consumeError(forEachFile(/*complete=*/true, [&](llvm::StringRef file) {
    uint64_t size = 0;
    // Another process may have removed it since.
    if (!fs::file_size(file, size)) {
      ++usage.entries;
      usage.bytes += size;
    }
    return llvm::Error::success();
  }));
  return usage;
}

llvm::Error DiskCache::clear() const {
  return forEachFile(/*complete=*/false, [](llvm::StringRef file) {
    std::error_code error = fs::remove(file);
    return error ? makeError("cannot remove " + file, error)
                 : llvm::Error::success();
  });
}
