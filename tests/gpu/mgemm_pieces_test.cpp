// The pieces of split products on the GPU, each against host code: the analysis, the parts, the list of large elements,
// the sparse products, and matrices on their way.
#include "core/backend/cuda/device_array.h"
#include "core/error.h"
#include "modules/mgemm/product/cuda/factor.h"
#include "modules/mgemm/product/cuda/sparse.h"
#include "modules/shared/dense/cuda/host_link.h"
#include "modules/shared/dense/cuda/magnitude_split.h"
#include "modules/shared/dense/narrow_parts.h"
#include "tests/gpu/on_device.h"
#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace quadrille::mgemm {
namespace {

using testing::OnDevice;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Lines with gaps of NaN between what is stored, on the host and on the device.
struct StoredLines {
  std::int64_t count, length, ld;
  bool contiguous;
  std::vector<double> numbers;
  OnDevice<double> there;

  StoredLines(std::int64_t count, std::int64_t length, bool contiguous, double fraction, std::int64_t gap = 3)
      : count(count),
        length(length),
        ld((contiguous ? length : count) + gap),
        contiguous(contiguous),
        numbers(fill(fraction)),
        there(numbers) {}

  cuda::Lines lines() const { return {there.get(), count, length, ld, contiguous}; }
  double at(std::int64_t line, std::int64_t l) const {
    return numbers[std::size_t(contiguous ? line * ld + l : l * ld + line)];
  }
  DenseView<const double> view() const { return {numbers.data(), count, length, ld, contiguous}; }
  DenseView<const double> view_there() const { return {there.get(), count, length, ld, contiguous}; }

 private:
  std::vector<double> fill(double fraction) const {
    const std::int64_t stored = contiguous ? length : count, rows = contiguous ? count : length;
    std::vector<double> x = testing::salted_matrix(rows * ld, fraction, 100);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::fill_n(x.begin() + row * ld + stored, ld - stored, not_a_number);
    }
    return x;
  }
};

struct Shape {
  std::int64_t count, length;
};
/// Whole and partial warps, blocks, segments and tiles, and single lines.
const Shape shapes[] = {{1, 1}, {64, 256}, {65, 257}, {130, 63}, {31, 1025}, {300, 700}, {1, 5000}, {5000, 1}};

TEST(CudaMagnitudeSplit, AnalysisIsThatOfTheHost) {
  for (const Shape& shape : shapes) {
    for (bool contiguous : {true, false}) {
      for (double fraction : {0.0, 0.01, 0.7}) {
        const StoredLines x(shape.count, shape.length, contiguous, fraction);
        DeviceFactor factor(x.view_there(), Side::left);
        factor.analyse(1);
        double most = 0;
        for (std::int64_t p = 0; p < x.count; ++p)
          for (std::int64_t l = 0; l < x.length; ++l) most = std::max(most, std::abs(x.at(p, l)));
        EXPECT_EQ(factor.max_abs(), most);
        EXPECT_EQ(factor.totals().first_bad, cuda::nowhere);
        factor.list_large();
        const std::vector<double> deltas{1, 2, 95, 100, 105, 200};
        const FactorProfile found = factor.profile(deltas), expected = profile_on_host(x.view(), most, deltas, 1);
        EXPECT_EQ(found.max_abs, most);
        for (std::size_t d = 0; d < deltas.size(); ++d) {
          const auto &f = found.extremes[d], &e = expected.extremes[d];
          EXPECT_NEAR(f.small_squares, e.small_squares, 1e-12 * e.small_squares);
          EXPECT_NEAR(f.all_squares, e.all_squares, 1e-12 * e.all_squares);
          EXPECT_EQ(f.large, e.large) << shape.count << " x " << shape.length << (contiguous ? "" : ", across");
          EXPECT_EQ(f.most_large, e.most_large);
        }
        const CutoffExtremesOfLines first = factor.profile({1}).extremes[0];
        EXPECT_NEAR(first.all_squares, expected.extremes[0].all_squares, 1e-12 * first.all_squares);
        EXPECT_NEAR(first.small_squares, expected.extremes[0].small_squares, 1e-12 * first.small_squares);
        EXPECT_EQ(std::int64_t(factor.totals().large), expected.extremes[0].large);
        EXPECT_EQ(std::int64_t(factor.totals().most_large), expected.extremes[0].most_large);
      }
    }
  }
}

TEST(CudaMagnitudeSplit, WhatIsNotFiniteIsFound) {
  for (bool contiguous : {true, false}) {
    for (double bad : {not_a_number, HUGE_VAL, -HUGE_VAL}) {
      StoredLines x(70, 600, contiguous, 0.01);
      x.numbers[std::size_t(40 * x.ld + 7)] = x.numbers[std::size_t(9 * x.ld + 33)] = bad;
      x.there.send(x.numbers);
      DeviceFactor factor(x.view_there(), Side::left);
      factor.analyse(1);
      try {
        factor.check_finite("A", Order::rows);
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::numerical);
        EXPECT_EQ(error.message(), std::string("A: the element in row 9, column 33 (from 0) is ") +
                                       (std::isnan(bad) ? "NaN" : "infinite") + "; it must be finite");
      }
    }
  }
}

MagnitudeSample sample_of(const StoredLines& x) {
  const std::int64_t stored = x.contiguous ? x.length : x.count, step = sample_step(x.count * x.length);
  std::vector<double> magnitudes;
  for (std::int64_t i = 0; i < x.count * x.length / step; ++i) {
    const std::int64_t place = cuda::sampled_place(i, step);
    magnitudes.push_back(std::abs(x.numbers[std::size_t(place / stored * x.ld + place % stored)]));
  }
  return {magnitudes, x.count, x.length};
}

TEST(CudaMagnitudeSplit, SamplesAreOfTheMatrices) {
  for (const Shape& shape : {Shape{64, 256}, Shape{300, 700}, Shape{7, 3}}) {
    for (bool contiguous : {true, false}) {
      const StoredLines x(shape.count, shape.length, contiguous, 0.1), y(90, shape.length, !contiguous, 0.1);
      const DeviceFactor a(x.view_there(), Side::left), b(y.view_there(), Side::right);
      const std::vector<MagnitudeSample> found = DeviceFactor::samples({&a, &b});
      for (const auto& [sample, expected] : {std::pair{found.at(0), sample_of(x)}, {found.at(1), sample_of(y)}}) {
        EXPECT_EQ(sample.largest(), expected.largest());
        for (double q : {0.1, 0.5, 0.98}) EXPECT_EQ(sample.quantile(q), expected.quantile(q));
      }
    }
  }
}

template <class Parts>
void check_parts(cuda::NarrowParts format, bool reversed) {
  using Element = typename Parts::Element;
  for (const Shape& shape : shapes) {
    for (bool contiguous : {true, false}) {
      const StoredLines x(shape.count, shape.length, contiguous, 0.05);
      const std::int64_t padded = padded_length(x.length), segments = cuda::segments_of(x.lines());
      const OnDevice<std::int32_t> in_segments{std::size_t(segments * x.count)}, in_lines{std::size_t(x.count)};
      const OnDevice<double> square_parts{std::size_t(segments * x.count)}, squares{std::size_t(x.count)};
      const OnDevice<double> large_square_parts{std::size_t(segments * x.count)};
      const OnDevice<std::int64_t> offsets{std::size_t(x.count + 1)};
      const OnDevice<cuda::SplitTotals> totals{std::size_t(1)};
      const cuda::LineCounts counts{in_segments.get(), square_parts.get(), large_square_parts.get(),
                                    squares.get(),     in_lines.get(),     offsets.get(),
                                    totals.get()};
      cuda::analyse_lines(x.lines(), 1, counts);
      const std::vector<std::int64_t> first = offsets.numbers();
      const OnDevice<std::int32_t> positions{std::size_t(first.back())};
      const OnDevice<double> values{std::size_t(first.back())};
      const OnDevice<Element> parts{std::size_t(x.count * Parts::parts * padded)};
      const double scale = Parts::largest;
      cuda::convert_lines(x.lines(), 1, format, {parts.get(), padded, reversed, scale}, counts,
                          {positions.get(), values.get()});
      const std::vector<Element> found = parts.numbers();
      const std::vector<std::int32_t> at = positions.numbers();
      const std::vector<double> large = values.numbers();
      std::size_t next = 0;
      int differ = 0;
      for (std::int64_t p = 0; p < x.count; ++p) {
        ASSERT_EQ(first[std::size_t(p)], std::int64_t(next));
        for (std::int64_t l = 0; l < padded; ++l) {
          double value = l < x.length ? x.at(p, l) : 0;
          if (std::abs(value) > 1) {
            ASSERT_LT(next, large.size());
            EXPECT_EQ(at[next], l);
            EXPECT_EQ(large[next++], value);
            value = 0;
          }
          Element expected[Parts::parts];
          Parts::encode(value * scale, expected);
          for (int r = 0; r < Parts::parts; ++r) {
            const int place = reversed ? Parts::parts - 1 - r : r;
            const Element& there = found[std::size_t((p * Parts::parts + place) * padded + l)];
            if (std::memcmp(&there, &expected[r], sizeof there) != 0) ++differ;
          }
        }
      }
      EXPECT_EQ(next, large.size());
      EXPECT_EQ(differ, 0) << shape.count << " x " << shape.length << (contiguous ? "" : ", across");
    }
  }
}

TEST(CudaMagnitudeSplit, PartsHaveTheBitsOfTheHost) {
  using namespace narrow;
  for (bool reversed : {false, true}) {
    check_parts<FloatParts<SingleFormat, 1>>(cuda::NarrowParts::single, reversed);
    check_parts<FloatParts<HalfFormat, 2>>(cuda::NarrowParts::half2, reversed);
    check_parts<Digits<3>>(cuda::NarrowParts::digits3, reversed);
    check_parts<Digits<4>>(cuda::NarrowParts::digits4, reversed);
    check_parts<Digits<5>>(cuda::NarrowParts::digits5, reversed);
    check_parts<Digits<6>>(cuda::NarrowParts::digits6, reversed);
  }
}

/// C = beta C + alpha (sums + D_S L) and C += alpha L D, in both storage orders of D.
TEST(CudaSparseProducts, AreThoseOfTheDefinition) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {33, 200, 70}, {257, 65, 300}, {128, 128, 64}}) {
    for (bool contiguous : {true, false}) {
      const StoredLines d(m, k, contiguous, 0.02), sparse(n, k, true, 0.05);
      DeviceFactor large(sparse.view_there(), Side::left);
      large.analyse(1);
      large.list_large();
      const std::int64_t ldc = m + 5, ldt = m + 2;
      const std::vector<double> old = testing::salted_matrix(ldc * n, 0, 1),
                                kept = testing::salted_matrix(ldt * n, 0, 1);
      const std::vector<float> sums(kept.begin(), kept.end());
      const OnDevice<float> sums_there(sums);
      for (double beta : {0.0, 1.0, -0.5}) {
        std::vector<double> before = old;
        if (beta == 0) std::fill(before.begin(), before.end(), not_a_number);
        const OnDevice<double> c(before);
        merge_and_multiply_right(1.5, {sums_there.get(), false, ldt, 0.5, 4}, d.view_there(), 1, large.large(0), beta,
                                 {c.get(), m, n, ldc, false});
        const std::vector<double> found = c.numbers();
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < m; ++i) {
            double sum = 2 * double(sums[std::size_t(j * ldt + i)]), magnitude = 1;
            for (std::int64_t l = 0; l < k; ++l) {
              const double x = d.at(i, l), y = sparse.at(j, l);
              if (std::abs(x) > 1 || std::abs(y) <= 1) continue;
              sum += x * y;
              magnitude += std::abs(x * y);
            }
            const double expected = 1.5 * sum + (beta == 0 ? 0 : beta * before[std::size_t(j * ldc + i)]);
            ASSERT_NEAR(found[std::size_t(j * ldc + i)], expected, 1e-14 * (magnitude + 3)) << i << ", " << j;
          }
          for (std::int64_t i = m; i < ldc; ++i) {
            ASSERT_EQ(std::bit_cast<std::uint64_t>(found[std::size_t(j * ldc + i)]),
                      std::bit_cast<std::uint64_t>(before[std::size_t(j * ldc + i)]));
          }
        }
      }
      // L is n x k here, D^T k x m, C n x m.
      const std::int64_t ld = n + 4;
      const std::vector<double> start = testing::salted_matrix(ld * m, 0, 1);
      const OnDevice<double> c(start);
      add_multiplied_left(-2, large.large(0), d.view_there().transposed(), {c.get(), n, m, ld, false});
      const std::vector<double> found = c.numbers();
      for (std::int64_t j = 0; j < m; ++j) {
        for (std::int64_t i = 0; i < n; ++i) {
          double sum = 0, magnitude = 1;
          for (std::int64_t l = 0; l < k; ++l) {
            if (std::abs(sparse.at(i, l)) <= 1) continue;
            sum += sparse.at(i, l) * d.at(j, l);
            magnitude += std::abs(sparse.at(i, l) * d.at(j, l));
          }
          ASSERT_NEAR(found[std::size_t(j * ld + i)], start[std::size_t(j * ld + i)] - 2 * sum, 1e-14 * magnitude);
        }
      }
    }
  }
}

TEST(CudaHostLink, MatricesArriveAndComeBack) {
  for (bool pinned : {false, true}) {
    for (bool by_rows : {false, true}) {
      // Several buffers of 16 MiB, and one.
      for (const Shape& shape : {Shape{2500, 3100}, Shape{13, 7}}) {
        const std::int64_t stored = by_rows ? shape.length : shape.count, lines = by_rows ? shape.count : shape.length;
        const std::int64_t ld = stored + 6;
        std::vector<double> from = testing::salted_matrix(ld * lines, 0, 1), to(from.size(), 7.0);
        const auto pin = [&](std::vector<double>& x) {
          ASSERT_EQ(cudaHostRegister(x.data(), x.size() * sizeof(double), cudaHostRegisterDefault), cudaSuccess);
        };
        if (pinned) pin(from), pin(to);
        EXPECT_EQ(cuda::is_pinned(from.data()), pinned);
        cuda::DeviceArray<double> panel(shape.count * shape.length, "a test", "");
        {
          cuda::HostLink link;
          const cuda::OwnedEvent event = cuda::make_event();
          ASSERT_EQ(cudaEventRecord(event.get(), cuda::stream()), cudaSuccess);
          ASSERT_EQ(cudaStreamWaitEvent(link.up(), event.get(), 0), cudaSuccess);
          link.send(DenseView<const double>{from.data(), shape.count, shape.length, ld, by_rows}, panel.get());
          ASSERT_EQ(cudaEventRecord(event.get(), link.up()), cudaSuccess);
          ASSERT_EQ(cudaStreamWaitEvent(link.down(), event.get(), 0), cudaSuccess);
          link.receive(static_cast<const double*>(panel.get()),
                       DenseView<double>{to.data(), shape.count, shape.length, ld, by_rows});
          link.finish_receiving();
        }
        if (pinned) {
          EXPECT_EQ(cudaHostUnregister(from.data()), cudaSuccess);
          EXPECT_EQ(cudaHostUnregister(to.data()), cudaSuccess);
        }
        for (std::int64_t line = 0; line < lines; ++line) {
          for (std::int64_t i = 0; i < ld; ++i) {
            const std::size_t place = std::size_t(line * ld + i);
            ASSERT_EQ(to[place], i < stored ? from[place] : 7.0) << line << ", " << i;
          }
        }
      }
    }
  }
}

TEST(CudaDeviceArray, MemoryThatRunsOutSaysWhatNeedsItAndWhatToDo) {
  try {
    const cuda::DeviceArray<double> array(std::int64_t(1) << 47, "the parts of a factor", memory_advice);
    FAIL() << "a petabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(error.message().find("the parts of a factor needs 1125899906842624 bytes"), std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find("use a smaller memory cap"), std::string::npos) << error.message();
  }
  const cuda::DeviceArray<double> array(10, "a test", "");
  EXPECT_NE(array.get(), nullptr);
}

}  // namespace
}  // namespace quadrille::mgemm
