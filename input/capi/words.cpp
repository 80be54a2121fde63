#include "input/capi/words.h"

#include "core/system/thread_count.h"
#include "input/job/yaml.h"
#include "input/tasks/at_once.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace quadrille::capi {

namespace {

using Type = ParameterType;

Parameter precision_parameter() {
  return {.name = "precision",
          .type = Type::choice,
          .help = "precision of the numbers in the arrays",
          .default_text = "double",
          .choices = {"single", "double"}};
}

Parameter bytes_parameter() {
  return {.name = "bytes",
          .type = Type::integer,
          .help = "size of each array; must be the size that is needed",
          .minimum = 1};
}

Parameter normalization_parameter() {
  return {.name = "normalization",
          .type = Type::choice,
          .help = "normalization of M: mass, or kappa, which is 2 kappa times that",
          .default_text = "mass",
          .choices = {"mass", "kappa"}};
}

Parameter where_parameter() {
  return {.name = "where",
          .type = Type::choice,
          .help = "the memory that the arrays are in; device needs the backend cuda",
          .default_text = "host",
          .choices = {"host", "device"}};
}

ParameterTable make_links_table(bool with_dims) {
  ParameterTable table{.name = "links", .help = "arrays of links U_mu(x) of 3 x 3 complex numbers"};
  auto& list = table.parameters;
  if (with_dims) {
    list.push_back({.name = "dims",
                    .type = Type::integer4,
                    .help = "extents of the lattice x, y, z, t",
                    .required = true,
                    .minimum = 2,
                    .maximum = 4096,
                    .even = true});
  }
  const Condition by_sites{"order", {"ildg", "milc", "cps", "tifr", "bqcd", "qdp", "qdpjit"}};
  list.push_back(
      {.name = "order",
       .type = Type::choice,
       .help = "ildg, milc and cps: one array [site][mu][3][3], sites lexicographic, even_odd, even_odd and "
               "matrices by columns; tifr: one array [mu][site][3][3], even_odd, by columns; bqcd: the same with "
               "places for halos after the sites of each parity; qdp: four arrays, one for each mu, [site][3][3], "
               "even_odd; qdpjit: the same [complex][3][3][site]; openqcd: its "
               "array udfld(), and its list of points ipt (of int, in the host's memory)",
       .default_text = "ildg",
       .choices = {"ildg", "milc", "cps", "tifr", "bqcd", "qdp", "qdpjit", "openqcd"}});
  list.push_back({.name = "sites",
                  .type = Type::choice,
                  .help = "order of the sites, if not that of 'order'",
                  .choices = {"lexicographic", "even_odd", "odd_even"},
                  .only_if = {by_sites}});
  list.push_back({.name = "matrix",
                  .type = Type::choice,
                  .help = "layout of a link, if not that of 'order': [row][column] or [column][row]",
                  .choices = {"rows", "columns"},
                  .only_if = {by_sites}});
  list.push_back(precision_parameter());
  list.push_back({.name = "boundary",
                  .type = Type::boundary,
                  .help = "factors that the links of the last slices contain; they are divided out",
                  .default_text = "[periodic, periodic, periodic, periodic]"});
  list.push_back({.name = "spatial_factor",
                  .type = Type::real,
                  .help = "factor that the links of x, y and z contain (an anisotropy); it is divided out",
                  .default_text = "1",
                  .minimum = 0,
                  .minimum_open = true});
  list.push_back(where_parameter());
  list.push_back(bytes_parameter());
  list.push_back({.name = "part",
                  .type = Type::integer4,
                  .help = "extents x, y, z, t of the sites that the arrays hold; must be those of this rank's part of "
                          "the lattice",
                  .minimum = 1});
  return table;
}

ParameterTable make_spinors_table() {
  return {.name = "spinors",
          .help = "arrays of spinors of 4 spin and 3 color components, complex numbers",
          .parameters = {
              {.name = "subset",
               .type = Type::choice,
               .help = "the sites that the arrays hold",
               .default_text = "full",
               .choices = {"full", "even", "odd"}},
              {.name = "sites",
               .type = Type::choice,
               .help = "order of the sites; openqcd: that of the points that came with the links (order: openqcd)",
               .default_text = "lexicographic",
               .choices = {"lexicographic", "even_odd", "odd_even", "openqcd"}},
              {.name = "order",
               .type = Type::choice,
               .help = "the numbers of a site: [spin][color] or [color][spin]",
               .default_text = "spin_color",
               .choices = {"spin_color", "color_spin"}},
              precision_parameter(),
              {.name = "basis",
               .type = Type::choice,
               .help = "spin basis; MILC's and QIO's is degrand_rossi",
               .default_text = "degrand_rossi",
               .choices = {"degrand_rossi", "ukqcd", "openqcd"}},
              normalization_parameter(),
              where_parameter(),
              bytes_parameter()}};
}

ParameterTable make_clover_table() {
  return {.name = "clover",
          .help =
              "an array of the site-diagonal part of M without i mu gamma_5: for each site a Hermitian 6 x 6 matrix "
              "of chirality + (spins 0, 1 of the DeGrand-Rossi basis) and then one of chirality - (spins 2, 3); "
              "rows and columns are 3 spin + color",
          .parameters = {
              {.name = "sites",
               .type = Type::choice,
               .help = "order of the sites",
               .default_text = "lexicographic",
               .choices = {"lexicographic", "even_odd", "odd_even"}},
              {.name = "order",
               .type = Type::choice,
               .help = "the numbers of a matrix; triangle: the 6 real ones of the diagonal, then re and im of the 15 "
                       "below it, row after row; matrix: all 36 complex ones, [row][column]",
               .default_text = "triangle",
               .choices = {"triangle", "matrix"}},
              precision_parameter(),
              normalization_parameter(),
              where_parameter(),
              bytes_parameter()}};
}

Value parse(const char* words, const char* name) {
  const std::string text = words == nullptr ? "" : words;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {Value::Map{}, {name}};
  return read_yaml_text(text, name);
}

}  // namespace

void demand_none(std::vector<Error> errors) {
  if (errors.empty()) return;
  const auto place = [](const Error& error) { return std::tuple(error.where().line, error.where().column); };
  std::ranges::stable_sort(errors, {}, place);
  std::vector<std::string> all;
  for (const Error& error : errors) all.emplace_back(error.what());
  throw Error(errors.front().code(), fmt::format("{}", fmt::join(all, "\n")));
}

const ParameterTable& context_table() {
  static const ParameterTable table{
      .name = "context",
      .help = "where the work is done",
      .parameters = {{.name = "backend",
                      .type = Type::choice,
                      .help = "auto is cuda if there is a usable GPU, else cpu",
                      .default_text = "auto",
                      .choices = {"auto", "cpu", "cuda"}},
                     {.name = "device",
                      .type = Type::integer,
                      .help = "number of the GPU; if not given, the thread's current one, or of ranks that of the "
                              "rank among those of its host",
                      .minimum = 0,
                      .maximum = 1023},
                     {.name = "threads",
                      .type = Type::integer,
                      .help = "threads of the host; if not given, as many as OpenMP would use",
                      .minimum = 1,
                      .maximum = most_threads}}};
  return table;
}

const ParameterTable& rank_context_table() {
  static const ParameterTable table = [] {
    ParameterTable on_ranks = context_table();
    on_ranks.parameters.push_back({.name = "grid",
                                   .type = Type::integer4,
                                   .help =
                                       "ranks along x, y, z, t, of a communicator of MPI; for each lattice the grid "
                                       "with the least to exchange when not given",
                                   .minimum = 1,
                                   .maximum = 4096});
    on_ranks.parameters.push_back({.name = "place",
                                   .type = Type::integer4,
                                   .help =
                                       "of this rank in the grid, from 0 0 0 0; that of rank ((t Nz + z) Ny + y) Nx + "
                                       "x is x y z t when not given",
                                   .minimum = 0,
                                   .maximum = 4095});
    return on_ranks;
  }();
  return table;
}

const ParameterTable& new_links_table() {
  static const ParameterTable table = make_links_table(true);
  return table;
}

const ParameterTable& links_table() {
  static const ParameterTable table = make_links_table(false);
  return table;
}

const ParameterTable& clover_table() {
  static const ParameterTable table = make_clover_table();
  return table;
}

const ParameterTable& spinors_table() {
  static const ParameterTable table = make_spinors_table();
  return table;
}

const ParameterTable& solve_table() {
  static const ParameterTable table = [] {
    ParameterTable with_guess = make_spinors_table();
    with_guess.parameters.push_back(
        {.name = "system",
         .type = Type::choice,
         .help = "M, M^+, M^+ M; or on the sites of one parity A - H A^-1 H, its adjoint, and their product",
         .default_text = "m",
         .choices = {"m", "m_dagger", "m_dagger_m", "even_odd", "even_odd_dagger", "even_odd_normal"}});
    with_guess.parameters.push_back(
        {.name = "initial_guess", .type = Type::boolean, .help = "x holds an initial guess", .default_text = "false"});
    with_guess.parameters.push_back(batch_parameter("right-hand sides"));
    return with_guess;
  }();
  return table;
}

SiteOrder site_order(const std::string& name) {
  if (name == "lexicographic") return SiteOrder::lexicographic;
  return name == "even_odd" ? SiteOrder::even_odd : SiteOrder::odd_even;
}

std::shared_ptr<const Parameters> read_words(const ParameterTable& table, const char* words, const char* name) {
  std::vector<Error> errors;
  auto read = std::make_shared<const Parameters>(resolve(table, parse(words, name), errors));
  demand_none(std::move(errors));
  return read;
}

std::shared_ptr<const Parameters> read_words(const Parameter& block, const char* words) {
  const Value value = parse(words, block.name.c_str());
  if (block.type == Type::group) {
    return read_words({block.name, block.help, block.members, block.exactly_one_of}, words, block.name.c_str());
  }
  std::vector<Error> errors;
  auto read = resolve_variant(block, value, errors);
  demand_none(std::move(errors));
  return read;
}

}  // namespace quadrille::capi
