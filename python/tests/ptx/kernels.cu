// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the kinds that people write, for the emulator's tests.
// scripts/update-emulator-ptx compiles them to kernels.O0.ptx and .O3.ptx.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;

/// One sum per block: strided loads, warp shuffles, shared memory.
extern "C" __global__ void block_sum(const float *x, float *y, int n) {
  __shared__ float parts[32];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += x[blockIdx.x * n + i];
  for (int offset = 16; offset; offset >>= 1)
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int offset = 16; offset; offset >>= 1)
      sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0)
      y[blockIdx.x] = sum;
  }
}

/// Inclusive prefix sums of a block, by Hillis and Steele.
extern "C" __global__ void scan(const int *x, int *y) {
  __shared__ int buffer[2][256];
  int at = 0;
  buffer[0][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int offset = 1; offset < 256; offset <<= 1) {
    int value = buffer[at][threadIdx.x];
    if (threadIdx.x >= offset)
      value += buffer[at][threadIdx.x - offset];
    buffer[at ^ 1][threadIdx.x] = value;
    at ^= 1;
    __syncthreads();
  }
  y[threadIdx.x] = buffer[at][threadIdx.x];
}

/// C = A B, row-major, any sizes, tiles of 16.
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m,
                                int n, int k) {
  __shared__ float ta[16][17], tb[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += 16) {
    int ka = first + threadIdx.x, kb = first + threadIdx.y;
    ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0;
    tb[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum = fmaf(ta[threadIdx.y][i], tb[i][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

/// Shared and global atomics.
extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins,
                                     int n) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(&mine[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], mine[i]);
}

/// The last block adds up what the others left.
__device__ unsigned arrived;
extern "C" __global__ void grid_sum(const float *x, float *parts, float *y,
                                    int n) {
  __shared__ float buffer[128];
  __shared__ bool isLast;
  int i = blockIdx.x * 128 + threadIdx.x;
  buffer[threadIdx.x] = i < n ? x[i] : 0;
  for (int half = 64; half; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half)
      buffer[threadIdx.x] += buffer[threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = buffer[0];
    __threadfence();
    isLast = atomicAdd(&arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast && threadIdx.x == 0) {
    __threadfence();
    float sum = 0;
    for (int b = 0; b < gridDim.x; ++b)
      sum += ((volatile float *)parts)[b];
    *y = sum;
    arrived = 0;
  }
}

/// cp.async, two stages ahead.
extern "C" __global__ void pipeline(const float4 *x, float4 *y, int tiles) {
  __shared__ float4 stage[3][64];
  auto fetch = [&](int tile) {
    if (tile < tiles)
      __pipeline_memcpy_async(&stage[tile % 3][threadIdx.x],
                              &x[tile * 64 + threadIdx.x], 16);
    __pipeline_commit();
  };
  fetch(0);
  fetch(1);
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(1);
    __syncthreads();
    fetch(tile + 2);
    float4 v = stage[tile % 3][63 - threadIdx.x];
    y[tile * 64 + threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
  }
  __pipeline_wait_prior(0);
}

/// Half precision, packed and converted, with the library's functions.
extern "C" __global__ void gelu(const __half2 *x, __nv_bfloat16 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float2 v = __half22float2(__hmul2(x[i], __float2half2_rn(2.0f)));
  y[2 * i] = __float2bfloat16(0.5f * v.x * (1 + erff(v.x * 0.70710678f)));
  y[2 * i + 1] = __float2bfloat16(0.5f * v.y * (1 + erff(v.y * 0.70710678f)));
}

/// Functions of the mathematical library, in f32 and f64.
extern "C" __global__ void mathematics(const float *x, float *y,
                                       const double *u, double *v) {
  int i = threadIdx.x;
  float a = x[i];
  y[i] = expf(a) + logf(fabsf(a) + 1) + sinf(a) * cosf(a) + tanhf(a) +
         powf(fabsf(a), 1.5f) + rsqrtf(a * a + 1) + fmodf(a, 0.7f) +
         a / (1 + a * a);
  double b = u[i];
  v[i] = exp(b) + log(fabs(b) + 1) + sin(b) + sqrt(fabs(b)) + b / 3 +
         pow(fabs(b), 0.3);
}

/// Local memory, a call that is not inlined, a switch.
__noinline__ __device__ int collatz(int n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}
extern "C" __global__ void control(const int *x, int *y) {
  int local[8];
  for (int i = 0; i < 8; ++i)
    local[i] = i * x[threadIdx.x];
  int value = local[x[threadIdx.x] & 7];
  switch (threadIdx.x % 6) {
  case 0:
    value += 1;
    break;
  case 1:
    value *= 2;
    break;
  case 2:
    value -= 3;
    break;
  case 3:
    value ^= 4;
    break;
  case 4:
    value = collatz(x[threadIdx.x] + 1);
  }
  y[threadIdx.x] = value;
}

/// Groups of lanes, found at run time.
extern "C" __global__ void cooperative(const int *x, int *y, int *count) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int value = x[block.thread_rank()];
  for (int offset = 4; offset; offset /= 2)
    value += tile.shfl_xor(value, offset);
  y[block.thread_rank()] = value + tile.meta_group_rank();
  if (value % 2) {
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0)
      atomicAdd(count, active.size());
  }
}

/// Tensor cores through the C++ interface.
extern "C" __global__ void tensor(const __half *a, const __half *b, float *c) {
  using namespace nvcuda;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < 64; k += 16) {
    unsigned x[4], y[2][2];
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    for (int r = 0; r < 4; ++r)
      x[r] = *(const unsigned *)&a[(g + 8 * (r & 1)) * 64 + k + (r >> 1) * 8 + 2 * t];
    for (int half = 0; half < 2; ++half)
      for (int r = 0; r < 2; ++r)
        y[half][r] = *(const unsigned *)&b[(g + 8 * half) * 64 + k + r * 8 + 2 * t];
    for (int half = 0; half < 2; ++half)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                   "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(sum.x[4 * half]), "+f"(sum.x[4 * half + 1]),
                     "+f"(sum.x[4 * half + 2]), "+f"(sum.x[4 * half + 3])
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
                     "r"(y[half][0]), "r"(y[half][1]));
  }
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 4; ++i)
      c[(g + 8 * (i >> 1)) * 16 + 8 * half + 2 * t + (i & 1)] = sum.x[4 * half + i];
}
