// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls and jumps: structures by value, pointers to functions, a dense switch.

struct Mixed {
  float a;
  int b;
  double c;
};
__noinline__ __device__ Mixed make(float x, int i) {
  return {x * 2, i + 1, x};
}
__noinline__ __device__ float use(Mixed value) {
  return value.a + value.b + (float)value.c;
}
extern "C" __global__ void structures(const float *x, float *y) {
  y[threadIdx.x] = use(make(x[threadIdx.x], threadIdx.x));
}

__noinline__ __device__ int twice(int x) { return 2 * x; }
__noinline__ __device__ int next(int x) { return x + 1; }
__noinline__ __device__ int square(int x) { return x * x; }
__device__ int (*functions[3])(int) = {twice, next, square};
extern "C" __global__ void pointers(const int *x, int *y) {
  y[threadIdx.x] = functions[x[threadIdx.x] % 3](threadIdx.x);
}

extern "C" __global__ void cases(const int *x, int *y) {
  int i = threadIdx.x, value = x[i];
  switch (value) {
  case 0:
    value = i;
    break;
  case 1:
    value = 3 * i;
    break;
  case 2:
    value ^= 77;
    break;
  case 3:
    value = i * i;
    break;
  case 4:
    value -= 9;
    break;
  case 5:
    value <<= i % 8;
    break;
  case 6:
    value = -i;
    break;
  case 7:
    value = 1;
  }
  y[i] = value;
}
