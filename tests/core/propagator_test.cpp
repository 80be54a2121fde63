// Propagators in the memory of a backend against naive loops over host arrays.
#include "core/field/propagator.h"

#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/vector_layout.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

namespace quadrille {
namespace {

using testing::backend;
using testing::next_seed;

using Numbers = std::vector<HostSpinor>;  // by column

Propagator random_propagator(const FieldDesc& desc) {
  Propagator made = make_propagator(desc, Propagator::Sink::ukqcd);
  for (Field& column : made.columns) {
    Field numbers(FieldDesc::spinor(*desc.lattice, Subset::Full, Precision::Double));
    fill_gaussian(numbers, next_seed());
    convert(column, numbers);
  }
  return made;
}

Numbers exported(const Propagator& propagator) {
  Numbers all;
  for (const Field& column : propagator.columns) {
    all.emplace_back(propagator.desc().lattice->dims());
    export_spinor(all.back(), column);
  }
  return all;
}

template <class Real>
std::string big_endian(double number) {
  const Real real = Real(number);
  char bytes[sizeof real];
  std::memcpy(bytes, &real, sizeof real);
  return {std::make_reverse_iterator(bytes + sizeof real), std::make_reverse_iterator(bytes)};
}

template <class Real>
std::string naive_bytes(const Numbers& numbers, std::int64_t first, std::int64_t count) {
  std::string bytes;
  for (std::int64_t site = first; site < first + count; ++site)
    for (int sink_spin = 0; sink_spin < 4; ++sink_spin)
      for (int source_spin = 0; source_spin < 4; ++source_spin)
        for (int sink_color = 0; sink_color < 3; ++sink_color)
          for (int source_color = 0; source_color < 3; ++source_color) {
            const Complex z = numbers[std::size_t(3 * source_spin + source_color)]
                                  .data[std::size_t((site * 4 + sink_spin) * 3 + sink_color)];
            bytes += big_endian<Real>(z.real()) + big_endian<Real>(z.imag());
          }
  return bytes;
}

std::string packed(const Propagator& propagator, std::int64_t first, std::int64_t count, int precision) {
  std::string bytes(std::size_t(count) * 36 * std::size_t(precision), '\x77');
  Backend& where = propagator.backend();
  void* memory = where.allocate(bytes.size());
  pack_sites(memory, {&propagator, first, count, precision});
  where.copy_out(bytes.data(), memory, bytes.size());
  where.release(memory, bytes.size());
  return bytes;
}

void unpack(const Propagator& propagator, const std::string& bytes, std::int64_t first, int precision) {
  Backend& where = propagator.backend();
  void* memory = where.allocate(bytes.size());
  where.copy_in(memory, bytes.data(), bytes.size());
  unpack_sites({&propagator, first, std::int64_t(bytes.size()) / 36 / precision, precision}, memory);
  where.release(memory, bytes.size());
}

std::vector<double> naive_norms(const Numbers& numbers, const Dims& dims) {
  std::vector<double> out;
  const std::size_t slice = std::size_t(volume(dims) / dims[3]) * 12;
  for (int t = 0; t < dims[3]; ++t) {
    long double sum = 0;
    for (const HostSpinor& column : numbers)
      for (std::size_t k = 0; k < slice; ++k) sum += std::norm(column.data[std::size_t(t) * slice + k]);
    out.push_back(double(sum));
  }
  return out;
}

/// The layouts that there are for the backend: the CPU's own, and those of devices in its memory.
std::vector<FieldDesc> descs(const Lattice& lattice) {
  std::vector<FieldDesc> all = {FieldDesc::spinor(lattice, Subset::Full, Precision::Double, backend())};
  if (backend().host_memory()) {
    for (const Layout& layout : {grouped_layout(Precision::Double), Layout{.lanes = 1}}) {
      all.push_back(all.front());
      all.back().layout = layout;
    }
    if (VectorLayout::fits(lattice.dims(), 4)) {
      all.push_back(all.front());
      all.back().layout = {.lanes = 4};
    }
  }
  return all;
}

class PropagatorTest : public ::testing::TestWithParam<Dims> {};
INSTANTIATE_TEST_SUITE_P(Extents, PropagatorTest, ::testing::ValuesIn(testing::test_extents));

TEST_P(PropagatorTest, PacksWhatAFileHolds) {
  const Lattice lattice(GetParam());
  std::mt19937_64 generator(next_seed());
  for (const FieldDesc& desc : descs(lattice)) {
    const Propagator propagator = random_propagator(desc);
    const Numbers numbers = exported(propagator);
    for (int i = 0; i < 3; ++i) {
      const std::int64_t first = std::int64_t(generator() % std::uint64_t(lattice.volume()));
      const std::int64_t left = lattice.volume() - first;
      const std::int64_t count = i == 0 ? left : 1 + std::int64_t(generator() % std::uint64_t(left));
      EXPECT_TRUE(packed(propagator, first, count, 64) == naive_bytes<double>(numbers, first, count)) << first;
      EXPECT_TRUE(packed(propagator, first, count, 32) == naive_bytes<float>(numbers, first, count)) << first;
    }
  }
}

TEST_P(PropagatorTest, UnpacksEveryBit) {
  const Lattice lattice(GetParam());
  for (const FieldDesc& desc : descs(lattice)) {
    const Propagator propagator = random_propagator(desc);
    for (const int precision : {64, 32}) {
      const std::string bytes = packed(propagator, 0, lattice.volume(), precision);
      const Propagator read = make_propagator(desc, Propagator::Sink::degrand_rossi);
      const std::int64_t half = lattice.volume() / 2 + 1, site = 36 * precision;
      unpack(read, bytes.substr(std::size_t(half * site)), half, precision);
      unpack(read, bytes.substr(0, std::size_t(half * site)), 0, precision);
      EXPECT_TRUE(packed(read, 0, lattice.volume(), precision) == bytes) << precision;
    }
  }
}

TEST_P(PropagatorTest, SumsOverTimeSlices) {
  const Lattice lattice(GetParam());
  const int before = omp_get_max_threads();
  for (const FieldDesc& desc : descs(lattice)) {
    const Propagator propagator = random_propagator(desc);
    const Propagator read = make_propagator(desc, Propagator::Sink::degrand_rossi);
    unpack(read, packed(propagator, 0, lattice.volume(), 64), 0, 64);
    const std::vector<double> expected = naive_norms(exported(propagator), lattice.dims());
    omp_set_num_threads(1);
    const std::vector<double> sums = slice_norms(propagator);
    ASSERT_EQ(sums.size(), expected.size());
    for (std::size_t t = 0; t < sums.size(); ++t) EXPECT_NEAR(sums[t], expected[t], 1e-13 * expected[t]) << t;
    omp_set_num_threads(3);
    EXPECT_EQ(slice_norms(propagator), sums);
    EXPECT_EQ(slice_norms(read), sums) << "a propagator that was written and read back";
  }
  omp_set_num_threads(before);
}

TEST_P(PropagatorTest, MovesToTheHostWithItsBits) {
  const Lattice lattice(GetParam());
  Propagator propagator = random_propagator(descs(lattice).front());
  const std::string bytes = packed(propagator, 0, lattice.volume(), 64);
  const std::size_t held = backend().allocated_bytes();
  const bool moves = !backend().host_memory();
  move_to_host(propagator);
  EXPECT_EQ(backend().allocated_bytes(), held - (moves ? propagator.bytes() : 0));
  EXPECT_TRUE(propagator.backend().host_memory());
  EXPECT_TRUE(packed(propagator, 0, lattice.volume(), 64) == bytes);
}

TEST_P(PropagatorTest, ASourceIsPutAtOneSite) {
  const Lattice lattice(GetParam());
  std::mt19937_64 generator(next_seed());
  for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    const FieldDesc desc = FieldDesc::spinor(lattice, Subset::Full, precision, backend());
    Field put(desc), imported(desc);
    blas::zero(put);
    HostSpinor expected(lattice.dims()), found(lattice.dims());
    const std::int64_t site = std::int64_t(generator() % std::uint64_t(lattice.volume()));
    std::array<Complex, 12> numbers;
    for (std::size_t k = 0; k < 12; ++k) {
      numbers[k] = {double(generator() % 1000) - 500, double(generator() % 1000) - 500};
      expected.data[std::size_t(site) * 12 + k] = numbers[k];
    }
    put_spinor(put, lattice.coordinates(site), numbers);
    import_spinor(imported, expected);
    export_spinor(found, put);
    export_spinor(expected, imported);
    EXPECT_EQ(found.data, expected.data) << to_string(precision);
  }
}

TEST(PropagatorShapes, ForeignShapesAreRefused) {
  const Lattice lattice({4, 4, 4, 4});
  Propagator propagator =
      make_propagator(FieldDesc::spinor(lattice, Subset::Full, Precision::Single), Propagator::Sink::ukqcd);
  EXPECT_THROW(slice_norms(propagator), Error);
  propagator = make_propagator(FieldDesc::spinor(lattice, Subset::Full, Precision::Double), Propagator::Sink::ukqcd);
  std::string bytes(36 * 64, '\0');
  EXPECT_THROW(unpack_sites({&propagator, 0, 1, 64}, bytes.data()), Error) << "not in the basis of files";
  EXPECT_THROW(pack_sites(bytes.data(), {&propagator, 256, 1, 64}), Error);
  propagator.columns.pop_back();
  EXPECT_THROW(slice_norms(propagator), Error);
}

}  // namespace
}  // namespace quadrille
