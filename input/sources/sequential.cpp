#include "input/sources/sequential.h"

#include "core/field/convert.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "input/contractions/gamma.h"
#include "input/contractions/gaussian_smearing.h"
#include "input/contractions/momenta.h"
#include "input/contractions/removed_quark.h"
#include "input/run/job_run.h"
#include "input/sources/time_slice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace quadrille {

namespace {

/// The sites of one time slice that this rank has, x fastest.
using QuarksOfSlice = std::vector<QuarkMatrix>;

/// Whether this rank has a global time; `sites` are those of a slice.
struct LocalSlice {
  const Lattice& lattice;
  int time;  ///< of this rank
  bool here;
  std::int64_t sites;

  LocalSlice(const Lattice& on, int global_time)
      : lattice(on),
        time(global_time - on.origin()[3]),
        here(time >= 0 && time < on.dims()[3]),
        sites(here ? on.volume() / on.dims()[3] : 0) {}
  /// Of a site with global coordinates.
  std::size_t index(const Dims& x) const {
    const Dims& dims = lattice.dims();
    const auto local = [&](std::size_t mu) { return std::int64_t(x[mu] - lattice.origin()[mu]); };
    return std::size_t((local(2) * dims[1] + local(1)) * dims[0] + local(0));
  }
};

/// Column `k` of the quarks, from a field in the DeGrand-Rossi or (`rotate`) the UKQCD basis.
void read_column(QuarksOfSlice& quarks, const LocalSlice& slice, Field& column, std::size_t k, bool rotate) {
  HostImage image(column);
  const SiteAccess<double> from[] = {{image.field(), Parity::Even}, {image.field(), Parity::Odd}};
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < slice.sites; ++site) {
    const Dims x = slice.lattice.coordinates(slice.time * slice.sites + site);
    double given[spinor_numbers], turned[spinor_numbers];
    from[Lattice::parity(x)].load(slice.lattice.even_odd_index(x), given);
    spin_basis::to_degrand_rossi(turned, given, spinor_numbers / 4);
    const double* const numbers = rotate ? turned : given;
    for (std::size_t row = 0; row < 12; ++row)
      quarks[std::size_t(site)][12 * row + k] = {numbers[2 * row], numbers[2 * row + 1]};
  }
}

/// Quarks at the sink, smeared there. Collective.
QuarksOfSlice quarks_at_sink(const Propagator& propagator, const LocalSlice& slice, const SourceSetting& setting,
                             const SliceSmearing* smearing) {
  QuarksOfSlice out(std::size_t(slice.sites));
  Field column(FieldDesc::spinor(slice.lattice, Subset::Full, Precision::Double, setting.links.backend()));
  for (std::size_t k = 0; k < propagator.columns.size(); ++k) {
    convert(column, propagator.columns[k]);
    bool rotate = propagator.sink == Propagator::Sink::ukqcd;
    if (smearing != nullptr) {
      // In the basis of files, so that a propagator that comes from one gives the same bits.
      if (std::exchange(rotate, false)) to_degrand_rossi(column);
      smearing->apply(column);
    }
    if (slice.here) read_column(out, slice, column, k, rotate);
  }
  return out;
}

/// 1, twice the spin along an axis, or 1 plus that along z, which makes one solve serve both.
SpinMatrix polarization_of(const std::string& name) {
  const Complex minus_i(0, -1);
  if (name == "x") return of_gamma("gygz", minus_i);
  if (name == "y") return of_gamma("gxgz", -minus_i);
  if (name == "z") return of_gamma("gxgy", minus_i);
  return name == "mixed" ? of_gamma("1") + of_gamma("gxgy", minus_i) : of_gamma("1");
}

/// g5 W^+ g5 at each site of the sink.
QuarksOfSlice source_quarks(const Parameters& source, const LocalSlice& slice, const QuarksOfSlice& from,
                            const QuarksOfSlice& other) {
  const Parameters& hadron = source.group("hadron");
  QuarksOfSlice out(from.size());
  const auto fill = [&](const auto& removed_at) {
#pragma omp parallel for schedule(static)
    for (std::int64_t site = 0; site < slice.sites; ++site)
      out[std::size_t(site)] = reversed(removed_at(from[std::size_t(site)], other[std::size_t(site)]));
  };
  if (hadron.text("type") == "meson") {
    const SpinMatrix a = of_gamma(hadron.text("sink")), b = of_gamma(hadron.text("source"));
    fill([&](const QuarkMatrix& antiquark, const QuarkMatrix&) { return without_quark(a, b, antiquark); });
    return out;
  }
  BaryonOperator nucleon = baryon_operators(hadron.text("type")).front();
  nucleon.projector = nucleon.projector * polarization_of(hadron.text("polarization"));
  const BaryonQuark quark = hadron.text("quark") == "u" ? BaryonQuark::like : BaryonQuark::other;
  fill([&](const QuarkMatrix& u, const QuarkMatrix& d) { return without_quark(nucleon, quark, u, d); });
  return out;
}

/// exp(i p (x - x0)) g5 W^+ g5, at the sink.
struct SequentialSource {
  LocalSlice slice;
  int time;
  std::vector<std::int64_t> n;
  Dims x0{};
  QuarksOfSlice quarks;

  SequentialSource(const Parameters& source, const SourceSetting& setting, const SliceSmearing* smearing)
      : slice(setting.links.lattice(), int(source.integer("time"))),
        time(int(source.integer("time"))),
        n(source.integer_list("momentum")) {
    const Parameters& hadron = source.group("hadron");
    const auto at_sink = [&](const std::string& task) {
      const SolvedPropagator& solved = setting.propagator(task);
      x0 = solved.source;
      return quarks_at_sink(solved.field, slice, setting, smearing);
    };
    const QuarksOfSlice from = at_sink(source.text("from"));
    std::optional<QuarksOfSlice> other;
    if (hadron.has("other") && hadron.text("other") != source.text("from")) other = at_sink(hadron.text("other"));
    quarks = source_quarks(source, slice, from, other ? *other : from);
  }

  void make(Field& b, int spin, int color) const {
    const Dims& extents = slice.lattice.global_dims();
    fill_time_slice(b, time, [&](const Dims& x, Complex* spinor) {
      Complex phase = 1;
      for (std::size_t mu = 0; mu < 3; ++mu) phase *= momentum_phase(-n[mu], x[mu] - x0[mu], extents[mu]);
      const QuarkMatrix& column = quarks[slice.index(x)];
      for (std::size_t row = 0; row < 12; ++row) spinor[row] = phase * column[12 * row + std::size_t(3 * spin + color)];
    });
  }
};

MakeColumn sequential_maker(const Parameters& source, const SourceSetting& setting, const SliceSmearing* smearing) {
  const auto made = std::make_shared<const SequentialSource>(source, setting, smearing);
  return [made](Field& b, int spin, int color) { made->make(b, spin, color); };
}

ParameterTable meson_table() {
  ParameterTable table;
  table.name = "hadron meson";
  table.help = "tr[A S B g5 S'^+ g5]; `from` is the antiquark S', and the solve makes the line of the quark S";
  table.parameters = {{.name = "sink",
                       .type = ParameterType::choice,
                       .help = "A, the gamma at the sink",
                       .default_text = "g5",
                       .choices = gamma_names()},
                      {.name = "source",
                       .type = ParameterType::choice,
                       .help = "B, the gamma at the source",
                       .default_text = "g5",
                       .choices = gamma_names()}};
  return table;
}

ParameterTable nucleon_table(const std::string& name) {
  ParameterTable table;
  table.name = "hadron " + name;
  table.help = "the channel of this name of the task baryons; `from` are its two quarks u";
  table.parameters = {{.name = "quark",
                       .type = ParameterType::choice,
                       .help = "on whose line the solve is: u, the sum over both; d",
                       .required = true,
                       .choices = {"u", "d"}},
                      {.name = "other",
                       .help = "name of an earlier propagator task from the same source: the quark d; default: `from`"},
                      {.name = "polarization",
                       .type = ParameterType::choice,
                       .help = "what multiplies the projector on the parity: none: 1; x, y, z: sigma, twice the spin "
                               "along the axis; mixed: 1 + sigma_z",
                       .default_text = "none",
                       .choices = {"none", "x", "y", "z", "mixed"}}};
  return table;
}

Parameter hadron_parameter() {
  Parameter hadron;
  hadron.name = "hadron";
  hadron.type = ParameterType::variant;
  hadron.help = "the hadron at the sink";
  hadron.default_text = "meson";
  hadron.shorthand = "type";
  hadron.entries = {{"meson", meson_table()}};
  for (const std::string& name : baryon_names())
    if (name.starts_with("nucleon")) hadron.entries.push_back({name, nucleon_table(name)});
  return hadron;
}

std::vector<std::pair<std::string, std::string>> sink_elements(const Parameters& source) {
  const Parameters& hadron = source.group("hadron");
  std::string name = hadron.text("type");
  for (const char* key : {"sink", "source", "quark", "polarization"})
    if (hadron.has(key)) name += fmt::format(" {} {}", key, hadron.text(key));
  return {{"hadron", name},
          {"t_sink", std::to_string(source.integer("time"))},
          {"sink_mom", fmt::format("{}", fmt::join(source.integer_list("momentum"), " "))}};
}

}  // namespace

SourceEntry sequential_source() {
  SourceEntry entry;
  entry.name = "sequential";
  entry.table.name = "source sequential";
  entry.table.help =
      "a hadron at the sink without one of its quarks, exp(i p (x - x0)) g5 W(x)^+ g5 on a time slice, where the "
      "hadron's correlator is the sum of exp(-i p (x - x0)) tr[W(x) S(x)] over that quark's line S: the task "
      "three_point joins the propagator from it to S. Its operator must be that of S, with twisted mass and chemical "
      "potential "
      "reversed. `smearing` smears the quarks at the sink. Martinelli and Sachrajda, Nucl. Phys. B 316 (1989) 355";
  entry.table.parameters = {
      {.name = "from",
       .help = "name of an earlier propagator task: quarks from the source of the hadron",
       .required = true},
      hadron_parameter(),
      time_parameter("the time slice of the sink, counted from 0"),
      momentum_parameter("whole numbers n for x, y, z: the momentum p = 2 pi n / L of the hadron at the sink")};
  entry.references = {"from", "hadron.other"};
  entry.may_differ = {};
  entry.baryons = false;
  entry.check = check_time_slice;
  entry.maker = sequential_maker;
  entry.position = time_slice_position;
  entry.file_elements = sink_elements;
  return entry;
}

}  // namespace quadrille
