// Numbers of the eigensolver on a GPU: double and Complex, with the few functions in which they differ.
#pragma once

#include <cuda_runtime.h>

namespace quadrille::eigen {

/// As std::complex<double> in memory.
struct alignas(16) Complex {
  double re, im;
  Complex() = default;
  __host__ __device__ constexpr Complex(double real, double imaginary = 0) : re(real), im(imaginary) {}
};
__host__ __device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__host__ __device__ inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__host__ __device__ inline Complex operator-(Complex a) { return {-a.re, -a.im}; }
__host__ __device__ inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__host__ __device__ inline Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
__host__ __device__ inline Complex& operator+=(Complex& a, Complex b) { return a = a + b; }
__host__ __device__ inline Complex& operator-=(Complex& a, Complex b) { return a = a - b; }

__host__ __device__ inline double conj(double a) { return a; }
__host__ __device__ inline Complex conj(Complex a) { return {a.re, -a.im}; }
__host__ __device__ inline double real(double a) { return a; }
__host__ __device__ inline double real(Complex a) { return a.re; }
__host__ __device__ inline double imag(double) { return 0; }
__host__ __device__ inline double imag(Complex a) { return a.im; }
__host__ __device__ inline double norm2(double a) { return a * a; }
__host__ __device__ inline double norm2(Complex a) { return a.re * a.re + a.im * a.im; }
__host__ __device__ inline double inverse(double a) { return 1 / a; }
__host__ __device__ inline Complex inverse(Complex a) {  // arguments of Householder vectors: no overflow to fear
  const double s = 1 / norm2(a);
  return {a.re * s, -a.im * s};
}

}  // namespace quadrille::eigen
