// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stand-in for the CUDA driver's library, so that the runtime's CUDA code is
// tested without a GPU: what it calls, in which order and context, what it does
// with errors. It refuses what the driver refuses: calls without a current
// context, allocation while a graph is recorded in a strict mode, too much
// shared memory, work on handles that are gone.
//
// Device memory is the process's own. An image is text: "cubin" or ".version",
// then one "kernel NAME" for each kernel. Kernels take pointers to floats and
// run over as many elements as there are threads in the grid:
//   increment(x, y): y = x + 1      twice(x, y): y = 2 * x
//   add(x, y, z): z = x + y         hungry: a kernel of 255 registers

#ifndef DEPLO_UNITTESTS_RUNTIME_FAKECUDADRIVER_H
#define DEPLO_UNITTESTS_RUNTIME_FAKECUDADRIVER_H

extern "C" {
/// Lets the next call of `symbol` fail with the driver's error `code`.
typedef void FakeCudaFailNext(const char *symbol, int code);
/// How often `symbol` was called.
typedef int FakeCudaCalls(const char *symbol);
/// Memory, modules, streams, events and graphs that were not given back.
typedef int FakeCudaLiveObjects(void);
/// The most shared memory, in bytes, that a launch has used.
typedef unsigned FakeCudaMostShared(void);
}

#endif // DEPLO_UNITTESTS_RUNTIME_FAKECUDADRIVER_H
