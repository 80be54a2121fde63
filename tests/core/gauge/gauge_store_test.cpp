// The gauge store: every form against links that are transformed, encoded and doubled one by one; changes; files'
// bytes; and the bodies of the devices' kernels on fields in their layout.
#include "core/gauge/gauge_store.h"
#include "core/gauge/face_exchange.h"

#include "core/backend/transfer_buffer.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/gauge/work/link_work.h"
#include "core/layout/grouped_layout.h"
#include "core/simd/isa.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace quadrille {
namespace {

using testing::backend;
using testing::gauge_transformed;
using testing::next_seed;

std::vector<OperatorForm> all_forms() {
  std::vector<OperatorForm> forms;
  for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    for (const Reconstruct reconstruct : {Reconstruct::R18, Reconstruct::R12, Reconstruct::R8}) {
      for (const bool temporal : {false, true}) forms.push_back({precision, reconstruct, temporal});
    }
  }
  return forms;
}

/// g(x, 0) = 1, g(x, t + 1) = g(x, t) U_t(x, t), of links in SU(3).
std::vector<Complex> to_temporal_gauge(const HostLinks& links) {
  const std::int64_t slice = volume(links.dims) / links.dims[3];
  std::vector<Complex> g(std::size_t(volume(links.dims)) * 9);
  for (std::int64_t site = 0; site < volume(links.dims); ++site) {
    const Matrix3 before = site < slice ? Matrix3::identity() : Matrix3::read(g.data() + (site - slice) * 9);
    (site < slice ? before : before * Matrix3::read(links.link(site - slice, 3))).write(g.data() + site * 9);
  }
  return g;
}

HostLinks fixed(const Lattice& lattice, const HostLinks& links) {
  HostLinks out = gauge_transformed(lattice, links, to_temporal_gauge(links));
  const std::int64_t last = lattice.volume() / lattice.dims()[3] * (lattice.dims()[3] - 1);
  for (std::int64_t site = 0; site < last; ++site) Matrix3::identity().write(out.link(site, 3));
  return out;
}

/// How far the stored numbers of two fields of one description on the host are apart.
double largest_difference(const Field& a, const Field& b) {
  double largest = 0;
  const Layout& layout = a.desc().layout;
  const int components = a.desc().components(), section = int(a.desc().reconstruct);
  // Padding differs.
  const auto place = [&](std::int64_t n) {
    return layout.grouped() ? grouped_place(n / components, int(n % components), components, section, layout.width) : n;
  };
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    const auto compare = [&](auto number) {
      using Number = decltype(number);
      const auto* x = static_cast<const Number*>(a.numbers(p));
      const auto* y = static_cast<const Number*>(b.numbers(p));
      const std::int64_t sites = a.lattice().half_volume();
      for (std::int64_t n = 0; n < sites * a.desc().components(); ++n) {
        largest = std::max(largest, std::abs(double(x[place(n)]) - double(y[place(n)])));
      }
    };
    a.desc().precision == Precision::Double   ? compare(double{})
    : a.desc().precision == Precision::Single ? compare(float{})
                                              : compare(std::int16_t{});
  }
  return largest;
}

/// What differs is rounding before the encoding: of a number near 1, or of a quantum.
double allowed(const OperatorForm& form) {
  if (!form.temporal_gauge && form.reconstruct != Reconstruct::R8) return 0;
  const double of_format = form.precision == Precision::Double   ? 1e-13
                           : form.precision == Precision::Single ? 1.3e-7
                                                                 : 1;
  return form.reconstruct == Reconstruct::R8 && form.precision == Precision::Double ? 1e-11 : of_format;
}

/// The field on the host, whatever the backend.
Field on_host(const Field& field) {
  FieldDesc desc = field.desc();
  desc.backend = &cpu_backend();
  Field copy(desc);
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    field.desc().backend->copy_out(copy.numbers(p), field.numbers(p), desc.parity_bytes());
  }
  return copy;
}

void expect_form(const Lattice& lattice, const LinkFields& made, const OperatorForm& form, const HostLinks& links) {
  for (const Field* field : {&made.spatial, &made.time}) {
    const Field found = on_host(*field);
    Field expected(found.desc());
    import_links(expected, form.temporal_gauge ? fixed(lattice, links) : links);
    EXPECT_LE(largest_difference(found, expected), allowed(form))
        << to_string(form) << (field == &made.time ? " time" : " space");
  }
}

class GaugeStoreOn : public ::testing::TestWithParam<Dims> {
 protected:
  const Lattice lattice{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Extents, GaugeStoreOn, ::testing::ValuesIn(testing::test_extents));

TEST_P(GaugeStoreOn, EveryFormIsThatOfTheLinksAndFollowsTheirChanges) {
  HostLinks links = testing::hot_start(lattice, next_seed());
  GaugeStore store(lattice, links, backend());
  EXPECT_EQ(store.host_links().data, links.data);
  std::vector<std::shared_ptr<const LinkFields>> held;
  for (const OperatorForm& form : all_forms()) held.push_back(store.form(form));
  const auto expect_all = [&] {
    std::size_t k = 0;
    for (const OperatorForm& form : all_forms()) {
      EXPECT_EQ(store.form(form), held[k]) << to_string(form) << " is made once";
      expect_form(lattice, *held[k++], form, links);
    }
    EXPECT_EQ(store.host_links().data, links.data);
  };
  expect_all();
  const std::uint64_t version = store.version();
  links = testing::hot_start(lattice, next_seed());
  store.set(links);
  EXPECT_GT(store.version(), version);
  expect_all();
}

TEST_P(GaugeStoreOn, FormsThatNobodyHoldsAreFreed) {
  const GaugeStore store(lattice, GaugeStart::weak(next_seed(), 0.3), backend());
  const std::size_t once = backend().allocated_bytes();
  (void)store.form({Precision::Half, Reconstruct::R12, true});
  EXPECT_EQ(backend().allocated_bytes(), once);
  const auto first = store.form({Precision::Single, Reconstruct::R12, false});
  const std::size_t with_form = backend().allocated_bytes();
  const auto second = store.form({Precision::Single, Reconstruct::R12, false});
  EXPECT_EQ(backend().allocated_bytes(), with_form) << "a second user costs no second copy";
}

TEST_P(GaugeStoreOn, TheDouble18FormIsTheStoreItself) {
  const GaugeStore store(lattice, GaugeStart::weak(next_seed(), 0.3), backend());
  const std::size_t before = backend().allocated_bytes(), bytes = std::size_t(lattice.volume()) * 4 * 18 * 8;
  const auto form = store.form({});
  EXPECT_NEAR(double(backend().allocated_bytes() - before), double(bytes), 0.3 * double(bytes));  // padding on a GPU
}

TEST_P(GaugeStoreOn, BytesOfFilesGoThereAndBack) {
  const HostLinks links = testing::hot_start(lattice, next_seed());
  const GaugeStore store(lattice, links, backend());
  const std::int64_t sites = lattice.volume();
  for (const int bits : {32, 64}) {
    const std::size_t site_bytes = std::size_t(72 * bits / 8);
    GaugeStore other(lattice, backend());
    std::int64_t first = 0;
    for (int piece = 0; first < sites; ++piece) {  // of very different sizes, some within a slice
      const std::int64_t count = std::min(sites - first, piece % 2 == 0 ? sites / 7 + 1 : std::int64_t(3));
      const auto buffer = backend().transfer_buffer(std::size_t(count) * site_bytes);
      store.pack(buffer->device(), bits, first, count);
      buffer->fetch(std::size_t(count) * site_bytes);
      buffer->wait();
      for (std::int64_t n = 0; n < count * 72; ++n) {  // big-endian, in ILDG's order
        const Complex z = links.data[std::size_t((first * 72 + n) / 2)];
        const double value = n % 2 == 0 ? z.real() : z.imag();
        std::uint64_t word = 0;
        for (int byte = 0; byte < bits / 8; ++byte) {
          word = word << 8 | std::to_integer<std::uint64_t>(buffer->host()[n * (bits / 8) + byte]);
        }
        if (bits == 64) {
          double found;
          std::memcpy(&found, &word, 8);
          ASSERT_EQ(found, value) << n;
        } else {
          const auto low = std::uint32_t(word);
          float found;
          std::memcpy(&found, &low, 4);
          ASSERT_EQ(found, float(value)) << n;
        }
      }
      buffer->send(std::size_t(count) * site_bytes);
      other.unpack(buffer->device(), bits, first, count);
      buffer->record_use();
      buffer->wait();
      first += count;
    }
    other.changed();
    const HostLinks back = other.host_links();
    for (std::size_t n = 0; n < links.data.size(); ++n) {
      const Complex z = links.data[n];
      const float re = float(z.real()), im = float(z.imag());
      ASSERT_EQ(back.data[n].real(), bits == 64 ? z.real() : double(re)) << n;
      ASSERT_EQ(back.data[n].imag(), bits == 64 ? z.imag() : double(im)) << n;
    }
  }
}

TEST_P(GaugeStoreOn, CopiesToAndFromFieldsOfChains) {
  const HostLinks links = testing::hot_start(lattice, next_seed());
  const GaugeStore store(lattice, links, backend());
  for (const Precision precision : {Precision::Double, Precision::Single}) {
    for (const Reconstruct reconstruct : {Reconstruct::R18, Reconstruct::R12}) {
      Field chain(FieldDesc::links(lattice, precision, reconstruct, backend()));
      store.copy_to(chain);
      HostLinks expected(lattice.dims());
      export_links(expected, chain);
      const HostLinks found = GaugeStore(chain).host_links();
      double largest = 0, decoded = 0;  // the third row of 12 numbers is computed here and there
      for (std::size_t n = 0; n < links.data.size(); ++n) {
        decoded = std::max(decoded, std::abs(found.data[n] - expected.data[n]));
        largest = std::max(largest, std::abs(links.data[n] - expected.data[n]));
      }
      EXPECT_LE(decoded, backend().host_memory() || reconstruct == Reconstruct::R18 ? 0 : 4 * rounding_unit(precision));
      EXPECT_LT(largest, 40 * rounding_unit(precision));
    }
  }
}

TEST_P(GaugeStoreOn, StartsAreThoseOfTheHost) {
  const std::uint64_t seed = next_seed();
  for (const GaugeStart& start : {GaugeStart::cold(), GaugeStart::hot(seed), GaugeStart::weak(seed, 0.3)}) {
    const HostLinks expected = testing::host_start(lattice, start);
    const HostLinks found = GaugeStore(lattice, start, backend()).host_links();
    double largest = 0;
    for (std::size_t n = 0; n < expected.data.size(); ++n) {
      largest = std::max(largest, std::abs(found.data[n] - expected.data[n]));
    }
    EXPECT_LE(largest, backend().host_memory() ? 0 : 1e-13);
  }
}

TEST_P(GaugeStoreOn, ProjectionRefreshesTheDoubledLinks) {
  HostLinks links = testing::weak_start(lattice, next_seed(), 0.3);
  for (Complex& z : links.data) z *= 1 + 1e-7;
  GaugeStore store(lattice, links, backend());
  const auto form = store.form({});
  EXPECT_NEAR(store.project(), 1e-7, 2e-8);
  expect_form(lattice, *form, {}, store.host_links());
  EXPECT_LT(store.unitarity().unitarity, 1e-14);
}

/// Kernels of devices work on the grouped layout; the host runs their bodies on it.
TEST_P(GaugeStoreOn, BodiesOfDeviceKernelsDoTheSameInTheGroupedLayout) {
  const HostLinks links = testing::hot_start(lattice, next_seed());
  const auto grouped = [&](const OperatorForm& form, std::uint8_t directions) {
    FieldDesc desc = FieldDesc::links(lattice, form.precision, form.reconstruct, cpu_backend(), directions);
    desc.layout = grouped_layout(form.precision);
    return Field(desc);
  };
  const LinkWork& work = link_work_cpu();
  Field forward = grouped({}, hops::forward), g = grouped({}, 1);
  import_links(forward, links);
  const LinkView from = view_of(forward), gauge = view_of(g);
  FaceExchange faces(lattice, cpu_backend());
  ASSERT_TRUE(faces.fix_time(gauge, from));
  for (const OperatorForm& form : all_forms()) {
    const LinkFields made{grouped(form, hops::spatial), grouped(form, hops::time), nullptr};
    faces.copy(view_of(made.spatial, made.time), from, form.temporal_gauge ? &gauge : nullptr);
    expect_form(lattice, made, form, links);
  }
  const GaugeStore store(lattice, links);
  const std::array<ExactSum, 7> sums = work.plane_sums(from, faces.beyond(from, 4), lattice.volume());
  const GaugeObservables seen = store.observables();
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(sums[k].value() / (3.0 * double(lattice.volume())), seen.planes[k]);
  }
  EXPECT_EQ(sums[6].value() / (12.0 * double(lattice.volume())), seen.link_trace);
  std::vector<double> bytes(std::size_t(lattice.volume()) * 72);
  work.pack(bytes.data(), 64, from, 0, lattice.volume());
  Field back = grouped({}, hops::forward);
  work.unpack(view_of(back), bytes.data(), 64, 0, lattice.volume());
  HostLinks found(lattice.dims());
  export_links(found, back);
  EXPECT_EQ(found.data, links.data);
}

/// By lanes as link by link, on every layout; equal defects belong to the first link, a NaN beats them all.
TEST_P(GaugeStoreOn, DefectsAreThoseOfEachLink) {
  HostLinks links = testing::hot_start(lattice, next_seed());
  const auto naive = [&] {
    std::array<MaxLoc, 2> worst;
    for (std::int64_t link = 0; link < 4 * lattice.volume(); ++link) {
      const Matrix3 u = Matrix3::read(links.link(link / 4, int(link % 4)));
      worst[0].reduce(unitarity_defect(u), link);
      worst[1].reduce(magnitude(difference(determinant(u), 1.0)), link);
    }
    return worst;
  };
  const auto expect_equal = [&] {
    const Unitarity found = GaugeStore(lattice, links).unitarity();
    const std::array<MaxLoc, 2> wanted = naive();
    EXPECT_NEAR(found.unitarity, wanted[0].value, 1e-15 + 1e-12 * wanted[0].value);
    EXPECT_NEAR(found.determinant, wanted[1].value, 2e-15 + 1e-12 * wanted[1].value);
    return std::pair(found, wanted);
  };
  expect_equal();
  const std::int64_t site = lattice.volume() / 3;
  for (int n = 0; n < 9; ++n) links.link(site, 2)[n] *= Complex(1.01, 0.3);
  const auto [found, wanted] = expect_equal();
  EXPECT_EQ(found.unitarity_site * 4 + found.unitarity_direction, wanted[0].item);
  EXPECT_EQ(found.determinant_site * 4 + found.determinant_direction, wanted[1].item);
  links.link(site + 1, 3)[5] = {0, std::nan("")};
  const Unitarity broken = GaugeStore(lattice, links).unitarity();
  EXPECT_TRUE(std::isnan(broken.unitarity));
  EXPECT_EQ(broken.unitarity_site, site + 1);
  EXPECT_EQ(broken.unitarity_direction, 3);
  std::ranges::fill(links.data, Complex(0));
  const Unitarity zero = GaugeStore(lattice, links).unitarity();
  EXPECT_EQ(zero.unitarity, 1);
  EXPECT_EQ(zero.unitarity_site * 4 + zero.unitarity_direction, 0);
}

TEST(GaugeStore, NamesALinkThatCannotBeMended) {
  const Lattice lattice({2, 2, 4, 2});
  HostLinks links = testing::cold_start(lattice);
  for (int i = 0; i < 9; ++i) links.link(6, 3)[i] = 0;
  GaugeStore store(lattice, links, backend());
  EXPECT_THROW((void)store.form({Precision::Single, Reconstruct::R12, true}), Error);
  EXPECT_THROW((void)store.project(), Error);
}

}  // namespace
}  // namespace quadrille
