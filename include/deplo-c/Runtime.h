/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Running compiled packages, in C. In libDeploRuntime.so, which needs no LLVM,
 * and in libDeploC.so beside the compiler. docs/runtime.md has an example.
 *
 * Errors: a function that returns int returns 0 on success. Otherwise its out
 * parameters are as they were and deploLastError() is one sentence saying why.
 *
 * Ownership: what a function made is given back with the function that its
 * comment names. Devices are never given back. Arguments are read before the
 * call returns and not kept. Text that is returned is UTF-8, ends in a zero
 * byte and lives as long as its comment says.
 *
 * Threads: every function may be called from every thread. An object must not
 * be destroyed while another thread uses it.
 *
 * Units: sizes are in bytes, times in milliseconds. */

#ifndef DEPLO_C_RUNTIME_H
#define DEPLO_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifndef DEPLO_C_EXPORT
#define DEPLO_C_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DeploDevice DeploDevice;
typedef struct DeploExecutable DeploExecutable;

/* On device "cuda" a stream is a CUstream (cudaStream_t), so that streams of
 * other libraries can be passed as they are. NULL is the default stream. */
typedef void *DeploStream;
typedef void *DeploEvent;
typedef void *DeploGraph;

/* Why the last failing call of this thread failed; "" if none has. Lives until
 * the thread's next failing call. */
DEPLO_C_EXPORT const char *deploLastError(void);

/*===-- Devices -----------------------------------------------------------===*/

/* The device called "cuda", "cuda:1" or "host". The first call opens it; it
 * lives until the process ends, and each call gives the same handle. */
DEPLO_C_EXPORT int deploDeviceOpen(const char *name, DeploDevice **device);

/* JSON text: {"name": "cuda:0", "kind": "cuda", "description": "NVIDIA H200",
 * "target": "sm_90", "memory_bytes": n, "multiprocessors": n,
 * "shared_bytes_per_block": n}. Lives until the thread's next call of it. */
DEPLO_C_EXPORT const char *deploDeviceInfo(DeploDevice *device);

/* JSON text: an array of the above, one for each device that can be opened.
 * Lives until the thread's next call of it. */
DEPLO_C_EXPORT const char *deploDeviceList(void);

/*===-- Memory ------------------------------------------------------------===*/

/* Device memory, aligned to 256 bytes; NULL for 0 bytes. Given back with
 * deploMemoryFree. */
DEPLO_C_EXPORT int deploMemoryAllocate(DeploDevice *device, size_t bytes,
                                       void **memory);
/* NULL is allowed. Work that uses the memory must have ended. */
DEPLO_C_EXPORT int deploMemoryFree(DeploDevice *device, void *memory);

/* Enqueues a copy between any of host and device memory. The memory may be
 * touched again after deploStreamSynchronize. */
DEPLO_C_EXPORT int deploMemoryCopy(DeploDevice *device, void *to,
                                   const void *from, size_t bytes,
                                   DeploStream stream);
/* Enqueues setting each of `bytes` bytes to `byte`. */
DEPLO_C_EXPORT int deploMemoryFill(DeploDevice *device, void *memory,
                                   uint8_t byte, size_t bytes,
                                   DeploStream stream);

/*===-- Streams and events ------------------------------------------------===*/

/* A stream that does not wait for the default stream. Given back with
 * deploStreamDestroy, which waits for its work. */
DEPLO_C_EXPORT int deploStreamCreate(DeploDevice *device, DeploStream *stream);
DEPLO_C_EXPORT int deploStreamDestroy(DeploDevice *device, DeploStream stream);
/* Waits until all work enqueued so far has ended. */
DEPLO_C_EXPORT int deploStreamSynchronize(DeploDevice *device,
                                          DeploStream stream);

/* Given back with deploEventDestroy. */
DEPLO_C_EXPORT int deploEventCreate(DeploDevice *device, DeploEvent *event);
DEPLO_C_EXPORT int deploEventDestroy(DeploDevice *device, DeploEvent event);
/* Enqueues taking the time. */
DEPLO_C_EXPORT int deploEventRecord(DeploDevice *device, DeploEvent event,
                                    DeploStream stream);
/* The time from `begin` to `end`, both recorded; waits for `end`. */
DEPLO_C_EXPORT int deploEventElapsed(DeploDevice *device, DeploEvent begin,
                                     DeploEvent end, float *milliseconds);

/*===-- Graphs ------------------------------------------------------------===*/

/* From here until deploCaptureEnd, work enqueued on `stream` is recorded and
 * not executed. `stream` must not be NULL. Only device "cuda" can. */
DEPLO_C_EXPORT int deploCaptureBegin(DeploDevice *device, DeploStream stream);
/* The recorded work, to be launched any number of times. Given back with
 * deploGraphDestroy. The executables in it must live as long as it runs. */
DEPLO_C_EXPORT int deploCaptureEnd(DeploDevice *device, DeploStream stream,
                                   DeploGraph *graph);
DEPLO_C_EXPORT int deploGraphLaunch(DeploDevice *device, DeploGraph graph,
                                    DeploStream stream);
DEPLO_C_EXPORT int deploGraphDestroy(DeploDevice *device, DeploGraph graph);

/*===-- Executables -------------------------------------------------------===*/

/* Checks the package in `bytes` and loads it. Given back with
 * deploExecutableDestroy. */
DEPLO_C_EXPORT int deploExecutableLoad(DeploDevice *device, const void *bytes,
                                       size_t size,
                                       DeploExecutable **executable);
/* NULL is allowed. All runs, and all graphs that hold one, must have ended. */
DEPLO_C_EXPORT void deploExecutableDestroy(DeploExecutable *executable);

/* Enqueues one execution. `buffers` holds the device pointers of all inputs,
 * then of all outputs, `count` in total. Number, null and alignment are
 * checked; that each points to as many bytes as its DeploBufferInfo says is up
 * to the caller. The first run on a stream may allocate temporaries. */
DEPLO_C_EXPORT int deploExecutableRun(DeploExecutable *executable,
                                      void *const *buffers, size_t count,
                                      DeploStream stream);

/* The same for a package whose header has "sizes": `sizes` holds a value for
 * each. One outside of the range that the package is compiled for is an error.
 * In the header, and in DeploBufferInfo, every multiple of a size's "generic"
 * number stands for that multiple of its value. The last outputs, "scratch" of
 * them, are memory for temporaries. */
DEPLO_C_EXPORT int deploExecutableRunSized(DeploExecutable *executable,
                                           void *const *buffers, size_t count,
                                           const int64_t *sizes,
                                           size_t sizeCount,
                                           DeploStream stream);

/* What launches that depend on weights alone have made of some weights. Where
 * the package was compiled with "prepare_weights", its header marks these
 * launches "prepared"; their inputs are the weights. deploExecutableRun runs
 * them in each run, deploExecutableRunPrepared never. */
typedef struct DeploWeights DeploWeights;

/* Runs the prepared launches on `stream` and waits for them. `buffers` are
 * those of a run, of which only the weights need to be there. `stream` must not
 * record a graph. Given back with deploWeightsDestroy before the executable. */
DEPLO_C_EXPORT int deploWeightsPrepare(DeploExecutable *executable,
                                       void *const *buffers, size_t count,
                                       DeploStream stream,
                                       DeploWeights **weights);
/* The same anew in the same memory, where the values of the weights have
 * changed. Work on `stream` must follow all runs with the old values. Recorded
 * graphs use the new values from then on. */
DEPLO_C_EXPORT int deploWeightsPrepareAgain(DeploWeights *weights,
                                            void *const *buffers, size_t count,
                                            DeploStream stream);
/* NULL is allowed. No run with it may be enqueued any more. */
DEPLO_C_EXPORT void deploWeightsDestroy(DeploWeights *weights);

/* deploExecutableRun without the prepared launches. `weights` are those of the
 * same executable, made of the same inputs. May be recorded into a graph. */
DEPLO_C_EXPORT int deploExecutableRunPrepared(DeploExecutable *executable,
                                              void *const *buffers,
                                              size_t count,
                                              const DeploWeights *weights,
                                              DeploStream stream);

/* JSON text: {"device": "cuda:0", "manifest": {the package's header},
 * "kernels": [{"registers", "local_bytes", "static_shared_bytes",
 * "blocks_per_sm": number or null}, ...]}. Lives as long as the executable. */
DEPLO_C_EXPORT const char *deploExecutableInfo(DeploExecutable *executable);

/* The number of inputs and of outputs. */
DEPLO_C_EXPORT size_t deploExecutableInputs(DeploExecutable *executable);
DEPLO_C_EXPORT size_t deploExecutableOutputs(DeploExecutable *executable);

/* One of the buffers of deploExecutableRun. Pointers live as long as the
 * executable. */
typedef struct DeploBufferInfo {
  const char *name;       /* may be "" */
  const char *dtype;      /* "f32", "bf16", "i64", "bool", ... */
  size_t rank;            /* length of shape and strides */
  const int64_t *shape;   /* extents */
  const int64_t *strides; /* in elements */
  size_t bytes;           /* from the first to the last element */
  size_t alignment;       /* what the pointer must be a multiple of */
} DeploBufferInfo;

/* Buffer `index`: the inputs, then the outputs. */
DEPLO_C_EXPORT int deploExecutableBuffer(DeploExecutable *executable,
                                         size_t index, DeploBufferInfo *info);

/* JSON text: the header of the package in `bytes`, which is checked but not
 * loaded; NULL and deploLastError() if it is not sound. Lives until the
 * thread's next call of it. */
DEPLO_C_EXPORT const char *deploPackageInfo(const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* DEPLO_C_RUNTIME_H */
