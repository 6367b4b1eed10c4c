// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that call themselves, to different depths in the lanes of a warp.

__noinline__ __device__ int fibonacci(int n, int *calls) {
  int mine[2] = {n, 0}; // Written by the calls within.
  int result = n;
  if (n > 1)
    result = fibonacci(n - 1, mine) + fibonacci(n - 2, mine + 1);
  *calls += mine[0] - n + mine[1] + 1;
  return result;
}
extern "C" __global__ void numbers(int *y, int *z) {
  int calls = 0;
  y[threadIdx.x] = fibonacci(threadIdx.x % 12, &calls);
  z[threadIdx.x] = calls;
}

__noinline__ __device__ void sort(int *x, int low, int high) {
  if (low >= high)
    return;
  int pivot = x[low + (high - low) / 2], i = low, j = high;
  while (i <= j) {
    while (x[i] < pivot)
      ++i;
    while (x[j] > pivot)
      --j;
    if (i <= j) {
      int other = x[i];
      x[i++] = x[j];
      x[j--] = other;
    }
  }
  sort(x, low, j);
  sort(x, i, high);
}
extern "C" __global__ void rows(int *x, int n) {
  sort(x + threadIdx.x * n, 0, n - 1);
}

__device__ int odd(int n);
__noinline__ __device__ int even(int n) { return n ? odd(n - 1) + 1 : 0; }
__noinline__ __device__ int odd(int n) { return n ? even(n - 1) + 3 : 1; }
__device__ int (*functions[2])(int) = {even, odd};
extern "C" __global__ void turns(int *y) {
  y[threadIdx.x] = functions[threadIdx.x % 2](threadIdx.x);
}
