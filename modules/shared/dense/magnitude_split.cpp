#include "modules/shared/dense/magnitude_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quadrille {
namespace {

/// Elements are looked at in pieces of this many: a piece with no large element is done by vector instructions alone.
constexpr std::int64_t piece = 64;
/// Independent maxima and sums, so that a loop over a piece is one of vectors.
constexpr std::int64_t lanes = 8;
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
  const auto whole = [&](std::int64_t begin) {
    T most[lanes] = {};
    for (std::int64_t i = begin; i < begin + piece; i += lanes) {
      for (std::int64_t v = 0; v < lanes; ++v) {
        const T x = line[i + v], magnitude = std::abs(x);
        small[i + v] = float(x);
        most[v] = magnitude > most[v] ? magnitude : most[v];
      }
    }
    return *std::max_element(most, most + lanes) <= delta;
  };
  for (std::int64_t begin = 0; begin < length; begin += piece) {
    const std::int64_t end = std::min(length, begin + piece);
    if (end == begin + piece && whole(begin)) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      const bool is_small = std::abs(line[i]) <= delta;
      small[i] = is_small ? float(line[i]) : 0.0f;
      if (!is_small) found.push_back({number, std::int32_t(i), double(line[i])});
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
  std::vector<std::int32_t> slot_of(large_slab, -1);
  const std::int32_t start = std::int32_t(elements[begin].column / large_slab * large_slab);
  for (std::size_t i = begin; i < end; ++i) slot_of[std::size_t(elements[i].column - start)] = 0;
  for (std::int32_t column = 0; column < large_slab; ++column) {
    if (slot_of[std::size_t(column)] < 0) continue;
    slot_of[std::size_t(column)] = std::int32_t(slab.columns.size());
    slab.columns.push_back(start + column);
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (slab.rows.empty() || slab.rows.back().row != elements[i].row) {
      slab.rows.push_back({elements[i].row, 0, std::int64_t(i)});
    }
    ++slab.rows.back().count;
    large.slots.push_back(slot_of[std::size_t(elements[i].column - start)]);
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

/// Looks for the large elements of a line of which `large` are; `found(place, magnitude)` for each unless they are too
/// many.
template <class T, class Add>
void list_large(const T* line, std::int64_t length, double delta, std::int64_t large, std::int64_t max_listed,
                MagnitudeProfile& profile, Add add) {
  profile.count += large;
  profile.listed = profile.listed && profile.count <= max_listed;
  if (large == 0 || !profile.listed) return;
  for (std::int64_t i = 0; i < length; ++i) {
    const double x = std::abs(double(line[i]));
    if (!(x <= delta)) add(i, x);
  }
}

/// Adds the squares of the small elements of a column to `squares`.
template <class T>
void profile_column(const T* line, std::int64_t rows, double delta, double* squares, std::int64_t max_listed,
                    MagnitudeProfile& profile) {
  std::int64_t large = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double x = std::abs(double(line[i]));
    squares[i] += x <= delta ? x * x : 0.0;
    large += x <= delta ? 0 : 1;
  }
  list_large(line, rows, delta, large, max_listed, profile, [&](std::int64_t i, double x) {
    profile.larger.push_back({x, std::int32_t(i)});
  });
}

/// The sum of the squares of the small elements of a row, in partial sums so that the loop is one of vectors.
template <class T>
double profile_row(const T* line, std::int64_t length, double delta, std::int32_t row, std::int64_t max_listed,
                   MagnitudeProfile& profile) {
  double sums[lanes] = {};
  std::int64_t large[lanes] = {};
  const auto add = [&](std::int64_t v, double value) {
    const double x = std::abs(value);
    sums[v] += x <= delta ? x * x : 0.0;
    large[v] += x <= delta ? 0 : 1;
  };
  std::int64_t i = 0;
  for (; i + lanes <= length; i += lanes) {
    for (std::int64_t v = 0; v < lanes; ++v) add(v, double(line[i + v]));
  }
  for (; i < length; ++i) add(0, double(line[i]));
  const std::int64_t count = std::accumulate(large, large + lanes, std::int64_t(0));
  list_large(line, length, delta, count, max_listed, profile, [&](std::int64_t, double x) {
    profile.larger.push_back({x, row});
  });
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

template <class T>
DenseView<float> split_by_magnitude(DenseView<const T> a, double delta, float* small, LargeElements& large) {
  const std::int64_t length = a.line_length();
  const Chunks<T> chunks(a);
  std::vector<std::vector<Found>> found(static_cast<std::size_t>(chunks.count));
#pragma omp parallel for schedule(static) if (chunks.count > 1)
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
#pragma omp parallel for schedule(static) if (chunks.count > 1)
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
  // Lines of a fixed number are one part: columns add to squares of their own, so parts of them must not be short.
  const std::int64_t each = std::max<std::int64_t>(128, (a.lines() + 63) / 64);
  const std::int64_t count = (a.lines() + each - 1) / each;
  MagnitudeProfile profile;
  profile.delta = delta;
  profile.row_squares.assign(std::size_t(a.rows), 0.0);
  std::vector<MagnitudeProfile> parts(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (std::int64_t number = 0; number < count; ++number) {
    MagnitudeProfile& part = parts[std::size_t(number)];
    if (!a.by_rows) part.row_squares.assign(std::size_t(a.rows), 0.0);
    for (std::int64_t n = number * each; n < std::min(a.lines(), (number + 1) * each); ++n) {
      if (a.by_rows) {
        profile.row_squares[std::size_t(n)] = profile_row(a.line(n), a.cols, delta, std::int32_t(n), max_listed, part);
      } else {
        profile_column(a.line(n), a.rows, delta, part.row_squares.data(), max_listed, part);
      }
    }
  }
  for (const MagnitudeProfile& part : parts) {
    for (std::size_t i = 0; i < part.row_squares.size(); ++i) profile.row_squares[i] += part.row_squares[i];
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
