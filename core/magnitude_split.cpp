#include "core/magnitude_split.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille {
namespace {

/// Elements are looked at in pieces of this many: a piece with no large element is done by vector instructions alone.
constexpr std::int64_t piece = 32;
/// Lines are shared out to threads in chunks that hold about this many elements.
constexpr std::int64_t chunk_elements = std::int64_t(1) << 16;

struct Found {
  std::int32_t line, place;
  double value;
};

template <class T>
struct Chunks {
  explicit Chunks(const DenseView<const T>& a)
      : lines_each(std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, a.line_length()))),
        total(a.lines()),
        count((total + lines_each - 1) / lines_each) {}
  std::int64_t begin(std::int64_t chunk) const { return chunk * lines_each; }
  std::int64_t end(std::int64_t chunk) const { return std::min(total, (chunk + 1) * lines_each); }

  std::int64_t lines_each, total, count;
};

/// Converts one line. Returns through `found` what is large in it.
template <class T>
void split_line(const T* line, std::int64_t length, double delta, float* small, std::int32_t number,
                std::vector<Found>& found) {
  const T limit = T(delta);
  for (std::int64_t begin = 0; begin < length; begin += piece) {
    const std::int64_t end = std::min(length, begin + piece);
    int large = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const bool is_small = std::abs(line[i]) <= limit;
      small[i] = is_small ? float(line[i]) : 0.0f;
      large += is_small ? 0 : 1;
    }
    if (large == 0) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      if (!(std::abs(line[i]) <= limit)) found.push_back({number, std::int32_t(i), double(line[i])});
    }
  }
}

struct Element {
  std::int32_t row, column;
  double value;
};

/// Stable, by the key in [0, keys).
template <class Key>
void counting_sort(std::vector<Element>& elements, std::int64_t keys, Key key) {
  std::vector<std::int64_t> place(std::size_t(keys) + 1);
  for (const Element& e : elements) ++place[std::size_t(key(e)) + 1];
  for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
  std::vector<Element> sorted(elements.size());
  for (const Element& e : elements) sorted[std::size_t(place[std::size_t(key(e))]++)] = e;
  elements.swap(sorted);
}

/// Numbers the columns of elements [begin, end) and groups them by rows.
void add_slab(const std::vector<Element>& elements, std::size_t begin, std::size_t end, LargeElements& large) {
  LargeElements::Slab slab;
  std::int32_t slot_of[large_slab];
  std::fill_n(slot_of, large_slab, -1);
  const std::int32_t start = std::int32_t(elements[begin].column / large_slab * large_slab);
  for (std::size_t i = begin; i < end; ++i) slot_of[elements[i].column - start] = 0;
  for (std::int32_t column = 0; column < large_slab; ++column) {
    if (slot_of[column] < 0) continue;
    slot_of[column] = std::int32_t(slab.columns.size());
    slab.columns.push_back(start + column);
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (slab.rows.empty() || slab.rows.back().row != elements[i].row) {
      slab.rows.push_back({elements[i].row, 0, std::int64_t(i)});
    }
    ++slab.rows.back().count;
    large.slots.push_back(slot_of[elements[i].column - start]);
    large.values.push_back(elements[i].value);
  }
  large.slabs.push_back(std::move(slab));
}

void gather(std::vector<std::vector<Found>>& found, std::int64_t rows, std::int64_t cols, bool by_rows,
            LargeElements& large) {
  large = {};
  std::size_t total = 0;
  for (const auto& part : found) total += part.size();
  if (total == 0) return;
  std::vector<Element> elements;
  elements.reserve(total);
  for (auto& part : found) {
    for (const Found& f : part) {
      elements.push_back(by_rows ? Element{f.line, f.place, f.value} : Element{f.place, f.line, f.value});
    }
    part = {};
  }
  if (!by_rows) counting_sort(elements, rows, [](const Element& e) { return e.row; });
  counting_sort(elements, cols / large_slab + 1, [](const Element& e) { return e.column / large_slab; });
  large.slots.reserve(total);
  large.values.reserve(total);
  for (std::size_t begin = 0, end = 0; begin < total; begin = end) {
    while (end < total && elements[end].column / large_slab == elements[begin].column / large_slab) ++end;
    add_slab(elements, begin, end, large);
  }
}

/// Small squares of a block of rows of a matrix stored by columns; `squares` holds the block.
template <class T>
void profile_columns(const DenseView<const T>& block, double delta, double* squares, std::int32_t first_row,
                     std::int64_t max_listed, MagnitudeProfile& profile) {
  for (std::int64_t number = 0; number < block.cols; ++number) {
    const T* line = block.line(number);
    std::int64_t large = 0;
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const double x = std::abs(double(line[i]));
      const bool is_small = x <= delta;
      squares[i] += is_small ? x * x : 0.0;
      large += is_small ? 0 : 1;
    }
    if (large == 0) continue;
    profile.count += large;
    if (!profile.listed || profile.count > max_listed) {
      profile.listed = false;
      continue;
    }
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const double x = std::abs(double(line[i]));
      if (!(x <= delta)) profile.larger.push_back({x, first_row + std::int32_t(i)});
    }
  }
}

/// The same of one row of a matrix stored by rows: eight partial sums, so that the loop is one of vectors.
template <class T>
void profile_row(const T* line, std::int64_t length, double delta, double& squares, std::int32_t row,
                 std::int64_t max_listed, MagnitudeProfile& profile) {
  double sums[8] = {};
  std::int64_t large = 0;
  for (std::int64_t begin = 0; begin < length; begin += 8) {
    const std::int64_t count = std::min<std::int64_t>(8, length - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      const double x = std::abs(double(line[begin + i]));
      const bool is_small = x <= delta;
      sums[i] += is_small ? x * x : 0.0;
      large += is_small ? 0 : 1;
    }
  }
  squares = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  profile.count += large;
  if (large == 0) return;
  if (!profile.listed || profile.count > max_listed) {
    profile.listed = false;
    return;
  }
  for (std::int64_t i = 0; i < length; ++i) {
    const double x = std::abs(double(line[i]));
    if (!(x <= delta)) profile.larger.push_back({x, row});
  }
}

}  // namespace

template <class T>
DenseView<float> split_by_magnitude(DenseView<const T> a, double delta, float* small, LargeElements& large) {
  const std::int64_t length = a.line_length();
  const Chunks<T> chunks(a);
  std::vector<std::vector<Found>> found(static_cast<std::size_t>(chunks.count));
#pragma omp parallel for schedule(static)
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    std::vector<Found> here;
    for (std::int64_t n = chunks.begin(chunk); n < chunks.end(chunk); ++n) {
      split_line(a.line(n), length, delta, small + n * length, std::int32_t(n), here);
    }
    found[std::size_t(chunk)] = std::move(here);
  }
  gather(found, a.rows, a.cols, a.by_rows, large);
  return {small, a.rows, a.cols, length, a.by_rows};
}

template <class T>
FiniteCheck check_finite(DenseView<const T> a) {
  const Chunks<T> chunks(a);
  std::vector<double> largest(static_cast<std::size_t>(chunks.count));
#pragma omp parallel for schedule(static)
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    // x - x is 0 unless x is infinite or not a number, and that stays in a sum.
    T largest_of[8] = {}, poison[8] = {};
    for (std::int64_t n = chunks.begin(chunk); n < chunks.end(chunk); ++n) {
      const T* line = a.line(n);
      for (std::int64_t begin = 0; begin < a.line_length(); begin += 8) {
        const std::int64_t end = std::min<std::int64_t>(8, a.line_length() - begin);
        for (std::int64_t v = 0; v < end; ++v) {
          const T x = std::abs(line[begin + v]);
          largest_of[v] = x > largest_of[v] ? x : largest_of[v];
          poison[v] += x - x;
        }
      }
    }
    T most = 0;
    for (T x : largest_of) most = std::max(most, x);
    for (T p : poison) most = p == 0 ? most : p;
    largest[std::size_t(chunk)] = double(most);
  }
  FiniteCheck check;
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    if (std::isfinite(largest[std::size_t(chunk)])) {
      check.max_abs = std::max(check.max_abs, largest[std::size_t(chunk)]);
      continue;
    }
    for (std::int64_t n = chunks.begin(chunk); n < chunks.end(chunk); ++n) {
      for (std::int64_t i = 0; i < a.line_length(); ++i) {
        if (std::isfinite(a.line(n)[i])) continue;
        check.row = a.by_rows ? n : i;
        check.col = a.by_rows ? i : n;
        return check;
      }
    }
  }
  return check;
}

template <class T>
MagnitudeProfile profile_magnitudes(DenseView<const T> a, double delta, std::int64_t max_listed) {
  constexpr std::int64_t block_rows = 512;
  const std::int64_t blocks = (a.rows + block_rows - 1) / block_rows;
  MagnitudeProfile profile;
  profile.delta = delta;
  profile.row_squares.assign(std::size_t(a.rows), 0.0);
  std::vector<MagnitudeProfile> parts(static_cast<std::size_t>(blocks));
#pragma omp parallel for schedule(static)
  for (std::int64_t number = 0; number < blocks; ++number) {
    MagnitudeProfile& part = parts[std::size_t(number)];
    const std::int64_t first = number * block_rows, rows = std::min(block_rows, a.rows - first);
    double* squares = profile.row_squares.data() + first;
    if (!a.by_rows) {
      profile_columns(a.block(first, 0, rows, a.cols), delta, squares, std::int32_t(first), max_listed, part);
      continue;
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      profile_row(a.line(first + i), a.cols, delta, squares[i], std::int32_t(first + i), max_listed, part);
    }
  }
  for (MagnitudeProfile& part : parts) {
    profile.count += part.count;
    profile.listed = profile.listed && part.listed && profile.count <= max_listed;
    if (profile.listed) profile.larger.insert(profile.larger.end(), part.larger.begin(), part.larger.end());
  }
  if (!profile.listed) profile.larger.clear();
  return profile;
}

template <class T>
double sampled_quantile(DenseView<const T> a, double quantile) {
  const std::int64_t total = a.rows * a.cols;
  if (total == 0) return 0;
  // A step that shares no factor with most extents, so that the places run through rows and columns.
  const std::int64_t step = std::max<std::int64_t>(1, total >> 15) | 1;
  std::vector<double> sample;
  for (std::int64_t n = 0; n < total; n += step) {
    sample.push_back(std::abs(double(a.line(n / a.line_length())[n % a.line_length()])));
  }
  const std::size_t place = std::min(sample.size() - 1, std::size_t(quantile * double(sample.size())));
  std::nth_element(sample.begin(), sample.begin() + std::ptrdiff_t(place), sample.end());
  return sample[place];
}

template DenseView<float> split_by_magnitude(DenseView<const double>, double, float*, LargeElements&);
template FiniteCheck check_finite(DenseView<const double>);
template FiniteCheck check_finite(DenseView<const float>);
template MagnitudeProfile profile_magnitudes(DenseView<const double>, double, std::int64_t);
template double sampled_quantile(DenseView<const double>, double);

}  // namespace quadrille
