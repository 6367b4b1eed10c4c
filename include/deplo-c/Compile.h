/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler, in C: IR text in, IR text at a later level or a package out. In
 * libDeploC.so. docs/embedding.md has an example.
 *
 * Errors: a compilation that failed says why; no input ends the process.
 *
 * Ownership: a compilation is given back with deploCompilationDestroy(), and
 * what it returns lives as long as it does. The IR and the options are read
 * before deploCompile() returns and not kept. Text that is returned is UTF-8,
 * ends in a zero byte and is never to be freed.
 *
 * Threads: every function may be called from every thread; one compilation
 * belongs to one thread at a time. */

#ifndef DEPLO_C_COMPILE_H
#define DEPLO_C_COMPILE_H

#include <stddef.h>

#ifndef DEPLO_C_EXPORT
#define DEPLO_C_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DeploCompilation DeploCompilation;

/* Compiles the IR of `size` bytes at `ir`: text or bytecode, at any level or of
 * linalg on tensors.
 *
 * `options` is a JSON object, or NULL for the defaults:
 *   "target":    the chip, "sm_90a"; deploTargets() lists those known
 *   "device":    "cuda", or "host" for this machine's CPU
 *   "level":     where to stop: "graph", "tensor", "loop", "tile", "kernel",
 *                "llvm", "ptx", "sass" or "package" (the default)
 *   "schedule":  choices to fix, "stage_inputs=always,warps=4"
 *   "precision": what products of f32 may be computed in: "f32" (the default),
 *                by tensor cores where that is quicker and no less exact than
 *                by multiply-adds; "f32-fast", by quicker ones, of factors in
 *                22 bits, relative to the largest in their rows; "ieee", by
 *                multiply-adds alone; or "tf32"
 *   "prepare_weights": true to run launches that depend on weights alone
 *                (arguments marked graph.weight) once for all calls, and not in
 *                each, which takes memory for what they write
 *   "passes":    a pass pipeline in place of the default ones up to level tile
 *   "trace":     true to keep the IR before and after each step
 *   "alignment": bytes that every input pointer is aligned to, 16
 *   "ptxas":     false to leave the assembling of PTX to the driver
 *   "name":      the package's name
 *   "cache":     false to compile anew. Otherwise a result is taken from memory
 *                or disk if the same IR, apart from places in files, was
 * compiled with the same options by the same compiler. The folder is that of
 * the environment variable DEPLO_CACHE_DIR, else deplo in XDG_CACHE_HOME or
 * ~/.cache; DEPLO_CACHE=off goes without.
 *
 * Never returns NULL. To be destroyed with deploCompilationDestroy(). */
DEPLO_C_EXPORT DeploCompilation *deploCompile(const char *ir, size_t size,
                                              const char *options);

/* NULL if all went well, otherwise one readable paragraph. Lives as long as the
 * compilation, as do the results of the next two. */
DEPLO_C_EXPORT const char *
deploCompilationError(const DeploCompilation *compilation);

/* A JSON object: "ir" (the text of the level), "steps" (each with "step",
 * "pass", "changed", "before", "after", "remarks" and "ms"), "kernels" (what is
 * known of each), "timings_ms" by stage (none if nothing was compiled) and
 * "warnings" (a sentence each). */
DEPLO_C_EXPORT const char *
deploCompilationReport(DeploCompilation *compilation);

/* The package for deploExecutableLoad() and its bytes in `*size`; NULL and 0 if
 * another level was asked for. */
DEPLO_C_EXPORT const void *
deploCompilationPackage(const DeploCompilation *compilation, size_t *size);

DEPLO_C_EXPORT void deploCompilationDestroy(DeploCompilation *compilation);

/* The cache on disk, a JSON object: "directory" (null if the cache is off),
 * "entries", "bytes", and "error" if the environment's settings can't be read.
 * Lives until the thread's next call of it. */
DEPLO_C_EXPORT const char *deploCacheInfo(void);

/* Removes what the cache on disk holds. NULL if all went well, otherwise one
 * sentence, which lives until the thread's next call of it. */
DEPLO_C_EXPORT const char *deploCacheClear(void);

/* Makes device "host", this machine's CPU, known to deploDeviceOpen(). May be
 * called more than once. */
DEPLO_C_EXPORT void deploRegisterHostDevice(void);

/* A JSON array of the targets that are known by name, oldest first. */
DEPLO_C_EXPORT const char *deploTargets(void);

/* "0.1.0" */
DEPLO_C_EXPORT const char *deploVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* DEPLO_C_COMPILE_H */
