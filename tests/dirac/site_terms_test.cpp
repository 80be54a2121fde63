// The site-local terms of hopping kernels, L (b D x) + R z: every form against terms applied on the host.
#include "tests/dirac/site_terms_testing.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

using namespace testing;

class SiteTerms : public ::testing::TestWithParam<Dims> {};
INSTANTIATE_TEST_SUITE_P(Extents, SiteTerms, ::testing::ValuesIn(test_extents));

double bound_of(const OperatorForm& form) {
  const bool eight = form.reconstruct == Reconstruct::R8;
  switch (form.precision) {
    case Precision::Double: return eight ? 1e-12 : 1e-14;
    case Precision::Single: return eight ? 3e-4 : 3e-6;
    default: return 3e-3;
  }
}

/// L D x + R z by the kernel, both parities; z null: without; x null: the site-local kernel.
HostSpinor by_kernel(const Dslash& dslash, Dagger dagger, const HostSpinor* x, const HostSpinor* z, const SiteTerm& l,
                     const SiteTerm& r, bool in_place) {
  const FieldDesc full =
      FieldDesc::spinor(*dslash.field_desc().lattice, Subset::Full, dslash.form().precision, backend());
  Field in(full), out(full), other(full);
  const Dims& dims = full.lattice->dims();
  import_spinor(in, x != nullptr ? *x : random_spinor(dims));
  import_spinor(out, random_spinor(dims));  // what is overwritten
  if (z != nullptr) import_spinor(in_place ? out : other, *z);
  for (Parity p : {Parity::Even, Parity::Odd}) {
    Field y = out.parity(p);
    const Field of_z = (in_place ? out : other).parity(p);
    if (x == nullptr) {
      dslash.apply_local(y, r, of_z);
    } else if (z == nullptr) {
      dslash.apply(y, in.parity(opposite(p)), dagger, l);
    } else {
      dslash.apply(y, in.parity(opposite(p)), dagger, l, r, of_z);
    }
  }
  HostSpinor result(dims);
  export_spinor(result, out);
  return result;
}

TEST_P(SiteTerms, EveryFormAgreesWithTermsOnTheHost) {
  const Dims dims = GetParam();
  const Scene scene = Scene::hot(dims);
  const HostSpinor x = random_spinor(dims), z = random_spinor(dims);
  const std::vector<SiteBlocks> b = random_blocks(scene.lattice.volume()), c = random_blocks(scene.lattice.volume());
  for (const OperatorForm& form : all_forms()) {
    const HostLinks links = links_of(scene.wilson(form).dslash());
    const HostSpinor dx[] = {hopped(scene, links, x, Dagger::No), hopped(scene, links, x, Dagger::Yes)};
    for (Isa isa : available_isas()) {
      const ForcedIsa forced(isa);
      const WilsonOperator m = scene.wilson(form);
      const Field of_b = stored(m.dslash().blocks_desc(), b), of_c = stored(m.dslash().blocks_desc(), c);
      const SiteTerm plain{-0.7}, twisted{-0.7, 0.4}, of_z{1.3}, twisted_z{1.3, -0.6};
      const SiteTerm blocks_on_sum{-0.7, 0, &of_b}, blocks_on_z{1.3, 0, &of_b};
      const SiteTerm twisted_blocks_on_sum{-0.7, 0.4, &of_b}, twisted_blocks_on_z{1.3, -0.6, &of_b};
      const SiteTerm two_on_sum{-0.7, 0.4, &of_b, &of_c}, two_on_z{1.3, -0.6, &of_b, &of_c};
      const auto check = [&](const SiteTerm& l, const SiteTerm* r, const char* what) {
        for (const Dagger dagger : {Dagger::No, Dagger::Yes}) {
          HostSpinor expected = term(l, b, c, dx[int(dagger)]);
          if (r != nullptr) expected = sum(expected, term(*r, b, c, z));
          const bool in_place = dagger == Dagger::Yes;
          const HostSpinor got = by_kernel(m.dslash(), dagger, &x, r != nullptr ? &z : nullptr, l,
                                           r != nullptr ? *r : SiteTerm{}, in_place);
          EXPECT_LT(relative_distance(got, expected), bound_of(form))
              << what << ", " << to_string(form) << " " << to_string(isa) << " dagger " << int(dagger);
        }
      };
      check(twisted, nullptr, "twist on the sum");
      check(twisted, &of_z, "twist on the sum, a number on z");
      check(plain, &twisted_z, "twist on z");
      check(twisted, &twisted_z, "twist on both");
      check(blocks_on_sum, nullptr, "blocks on the sum");
      check(blocks_on_sum, &of_z, "blocks on the sum, a number on z");
      check(plain, &blocks_on_z, "blocks on z");
      check(twisted, &twisted_blocks_on_z, "a twist on the sum, blocks and a twist on z");
      check(twisted_blocks_on_sum, &twisted_z, "blocks and a twist on the sum, a twist on z");
      check(two_on_sum, nullptr, "two blocks on the sum");
      check(two_on_sum, &twisted_z, "two blocks on the sum, a twist on z");
      check(plain, &two_on_z, "two blocks on z");
      if (form.reconstruct != Reconstruct::R18 || form.temporal_gauge) continue;  // no links in what follows
      for (const SiteTerm& r : {of_z, twisted_z, blocks_on_z, twisted_blocks_on_z, two_on_z}) {
        for (const bool in_place : {false, true}) {
          const HostSpinor got = by_kernel(m.dslash(), Dagger::No, nullptr, &z, {}, r, in_place);
          EXPECT_LT(relative_distance(got, term(r, b, c, z)), bound_of(form))
              << "alone, " << to_string(form) << " " << to_string(isa) << " twist " << r.twist << " blocks "
              << (r.blocks != nullptr);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quadrille
