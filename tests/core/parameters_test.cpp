// Tables as data: what a block resolves to, and what each mistake is called, with its place.
#include "core/parameters/parameters.h"
#include "core/parameters/parameter_values.h"
#include "tests/testing/random_seed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace quadrille {
namespace {

using ::testing::HasSubstr;
using Type = ParameterType;

/// A block in flow syntax; each key and value stands in column = its number (from 1) among the keys of its map.
Value block(const std::string& text) {
  Value value = parse_flow(text, {"job.yaml", 1, 1, {}, -1});
  int column = 1;
  if (auto* map = std::get_if<Value::Map>(&value.data)) {
    for (auto& entry : *map) entry.where.column = entry.value.where.column = column++;
  }
  return value;
}

ParameterTable table() {
  ParameterTable out;
  out.name = "solver test";
  out.parameters = {
      {.name = "tolerance",
       .type = Type::real,
       .default_text = "1e-10",
       .minimum = 0,
       .maximum = 1,
       .minimum_open = true,
       .maximum_open = true},
      {.name = "steps", .type = Type::integer, .default_text = "10", .minimum = 1, .excludes = {"fast"}},
      {.name = "fast", .type = Type::boolean},
      {.name = "scheme", .type = Type::choice, .default_text = "plain", .choices = {"plain", "mixed"}},
      {.name = "numbers", .type = Type::choice, .default_text = "18", .choices = {"18", "12", "8"}},
      {.name = "delta", .type = Type::real, .default_text = "0.1", .only_if = {{"scheme", {"mixed"}}}},
      {.name = "extra", .type = Type::text, .required = true, .only_if = {{"scheme", {"mixed"}}}},
      {.name = "dims", .type = Type::integer4, .minimum = 2, .even = true},
      {.name = "boundary", .type = Type::boundary},
      {.name = "sloppy",
       .type = Type::group,
       .default_text = "{}",
       .members = {{.name = "precision", .type = Type::choice, .default_text = "half", .choices = {"single", "half"}},
                   {.name = "gauge", .type = Type::boolean, .default_text = "false"}}},
      {.name = "kappa", .type = Type::real},
      {.name = "mass", .type = Type::real},
  };
  out.exactly_one_of = {{"kappa", "mass"}};
  return out;
}

/// Resolves and gives the one error's text; empty when there is none.
std::string one_error(const std::string& text, const ParameterTable& rules = table()) {
  std::vector<Error> errors;
  resolve(rules, block(text), errors);
  EXPECT_LE(errors.size(), 1u) << text;
  for (std::size_t k = 1; k < errors.size(); ++k) ADD_FAILURE() << errors[k].what();
  return errors.empty() ? "" : errors[0].what();
}

Parameters good(const std::string& text) {
  std::vector<Error> errors;
  Parameters out = resolve(table(), block(text), errors);
  for (const Error& error : errors) ADD_FAILURE() << error.what();
  return out;
}

TEST(Parameters, ANumberOrAWord) {
  const ParameterTable rules{.name = "task t",
                             .parameters = {{.name = "delta",
                                             .type = Type::number_or_word,
                                             .default_text = "auto",
                                             .minimum = 0,
                                             .choices = {"auto", "none"}},
                                            {.name = "target", .type = Type::real, .only_if = {{"delta", {"auto"}}}}}};
  std::vector<Error> errors;
  EXPECT_EQ(resolve(rules, block("{}"), errors).text("delta"), "auto");
  EXPECT_EQ(resolve(rules, block("{delta: none}"), errors).text("delta"), "none");
  const Parameters number = resolve(rules, block("{delta: 2.5e-3}"), errors);
  EXPECT_EQ(std::get<double>(number.items().at(0).second.scalar), 2.5e-3);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(one_error("{delta: much}", rules),
            "job.yaml:1:1: 'delta' must be auto, none or a real number such as 0, got 'much'");
  EXPECT_EQ(one_error("{delta: -1}", rules), "job.yaml:1:1: 'delta' must be >= 0, got -1");
  const ParameterTable whole{.name = "task t",
                             .parameters = {{.name = "batch",
                                             .type = Type::number_or_word,
                                             .default_text = "auto",
                                             .minimum = 1,
                                             .whole = true,
                                             .choices = {"auto"}}}};
  EXPECT_EQ(resolve(whole, block("{batch: 12}"), errors).number("batch"), 12);
  EXPECT_EQ(one_error("{batch: 2.5}", whole),
            "job.yaml:1:1: 'batch' must be auto or a whole number such as 1, got '2.5'");
  EXPECT_EQ(one_error("{batch: many}", whole),
            "job.yaml:1:1: 'batch' must be auto or a whole number such as 1, got 'many'");
  EXPECT_EQ(one_error("{delta: 1, target: 2}", rules), "job.yaml:1:2: 'target' is used only with delta: auto");
}

TEST(Parameters, DefaultsFillInAndSayThatTheyAreDefaults) {
  const Parameters p = good("{mass: 0.1, steps: 7}");
  EXPECT_EQ(p.real("tolerance"), 1e-10);
  EXPECT_EQ(p.integer("steps"), 7);
  EXPECT_TRUE(p.given("steps"));
  EXPECT_FALSE(p.given("tolerance"));
  EXPECT_EQ(p.text("numbers"), "18");
  EXPECT_EQ(p.group("sloppy").text("precision"), "half");
  EXPECT_FALSE(p.group("sloppy").boolean("gauge"));
  EXPECT_FALSE(p.has("kappa"));
  EXPECT_FALSE(p.has("delta")) << "a default applies only when its condition holds";
  EXPECT_THROW(p.real("kappa"), Error);
  EXPECT_THROW(p.integer("tolerance"), Error);
  EXPECT_EQ(p.where("steps").column, 2);
}

TEST(Parameters, UnknownKeySuggestsTheNearestNameOrListsAll) {
  EXPECT_EQ(one_error("{mass: 0, toleranse: 1e-5}"),
            "job.yaml:1:2: unknown key 'toleranse' in solver test; did you mean 'tolerance'?");
  EXPECT_THAT(one_error("{mass: 0, zebra: 1}"), HasSubstr("the keys are tolerance, steps, fast"));
  EXPECT_THAT(one_error("{mass: 0, sloppy: {precission: half}}"),
              HasSubstr("unknown key 'sloppy.precission'; did you mean 'precision'?"));
}

TEST(Parameters, WrongTypesNameTheExpectedForm) {
  EXPECT_EQ(one_error("{mass: 0, tolerance: small}"),
            "job.yaml:1:2: 'tolerance' must be a real number such as 1e-10, got 'small'");
  EXPECT_THAT(one_error("{mass: 0, steps: 1.5}"), HasSubstr("'steps' must be a whole number such as 10, got '1.5'"));
  EXPECT_THAT(one_error("{mass: 0, steps: [1, 2]}"), HasSubstr("a whole number such as 10, got [1, 2]"));
  EXPECT_THAT(one_error("{mass: 0, fast: yes}"), HasSubstr("'fast' must be true or false, got 'yes'"));
  EXPECT_THAT(one_error("{mass: 0, scheme: mixd}"),
              HasSubstr("one of plain, mixed, got 'mixd'; did you mean 'mixed'?"));
  EXPECT_THAT(one_error("{mass: 0, numbers: 9}"), HasSubstr("'numbers' must be one of 18, 12, 8"));
  EXPECT_THAT(one_error("{mass: 0, sloppy: half}"), HasSubstr("'sloppy' must be a map such as {precision: ..."));
  EXPECT_THAT(one_error("{mass: nan}"), HasSubstr("'mass' must be a real number"));
  EXPECT_THAT(one_error("{mass: .inf}"), HasSubstr("'mass' must be a real number"));
  EXPECT_THAT(one_error("{mass: 1e999}"), HasSubstr("'mass' must be a real number"));
}

TEST(Parameters, QuotedNumbersAndNullAreRefused) {
  Value quoted = block("{mass: 0, steps: 5}");
  auto& steps = std::get<Value::Map>(quoted.data)[1].value;
  std::get<Value::Scalar>(steps.data).quoted = true;
  std::vector<Error> errors;
  resolve(table(), quoted, errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].what(), HasSubstr("got '5' in quotes"));
  steps.data = std::monostate();
  errors.clear();
  resolve(table(), quoted, errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].what(), HasSubstr("job.yaml:1:2: 'steps' has no value: give a whole number"));
}

TEST(Parameters, RangesAreNamed) {
  EXPECT_EQ(one_error("{mass: 0, tolerance: -1.0e-12}"), "job.yaml:1:2: 'tolerance' must be > 0 and < 1, got -1.0e-12");
  EXPECT_NE(one_error("{mass: 0, tolerance: 0}"), "");
  EXPECT_NE(one_error("{mass: 0, tolerance: 1}"), "");
  EXPECT_EQ(one_error("{mass: 0, steps: 1}"), "");
  EXPECT_THAT(one_error("{mass: 0, steps: 0}"), HasSubstr("'steps' must be >= 1, got 0"));
  EXPECT_THAT(one_error("{mass: 0, dims: [4, 4, 5, 8]}"), HasSubstr("'dims[2]' must be even and >= 2"));
  EXPECT_THAT(one_error("{mass: 0, dims: [4, 4, 4]}"), HasSubstr("four whole numbers x, y, z, t"));
  EXPECT_NE(one_error("{mass: 0, dims: [4, 4, 4, 99999999998]}"), "");
  EXPECT_THAT(one_error("{mass: 0, steps: 99999999999999999999}"), HasSubstr("whole number"));
}

TEST(Parameters, CompanyOfOthers) {
  EXPECT_THAT(one_error("{kappa: 0.1, mass: 0.2}"),
              HasSubstr("exactly one of 'kappa', 'mass'; 'kappa' is already given (job.yaml:1:1)"));
  EXPECT_THAT(one_error("{}"), HasSubstr("exactly one of 'kappa', 'mass'; none is given"));
  EXPECT_THAT(one_error("{mass: 0, steps: 3, fast: true}"), HasSubstr("'steps' cannot be combined with 'fast'"));
  EXPECT_THAT(one_error("{mass: 0, delta: 0.5}"), HasSubstr("'delta' is used only with scheme: mixed"));
  EXPECT_THAT(one_error("{mass: 0, scheme: mixed}"), HasSubstr("'extra' is missing in solver test: give text"));
  EXPECT_EQ(good("{mass: 0, scheme: mixed, extra: e}").real("delta"), 0.1);
  EXPECT_THAT(one_error("{mass: 0, scheme: wrong, delta: 0.5}"), HasSubstr("'scheme'")) << "one mistake, one message";
}

/// A table with lists: of numbers, of names (exactly two) and of maps.
ParameterTable table_of_lists() {
  const Parameter real{.name = "mass", .type = Type::real, .minimum = 0, .minimum_open = true};
  const Parameter map{
      .name = "sloppy",
      .type = Type::group,
      .members = {{.name = "precision", .type = Type::choice, .default_text = "half", .choices = {"single", "half"}},
                  {.name = "gauge", .type = Type::boolean, .default_text = "false"}}};
  ParameterTable out;
  out.name = "task test";
  out.parameters = {
      {.name = "masses", .type = Type::list, .required = true, .element = {real}},
      {.name = "pair", .type = Type::list, .element = {{.name = "name"}}, .fewest = 2, .most = 2},
      {.name = "sloppy", .type = Type::list, .default_text = "[{precision: single}, {}]", .element = {map}},
  };
  return out;
}

TEST(Parameters, ListsHoldTheirEntriesInOrder) {
  std::vector<Error> errors;
  const Parameters p = resolve(table_of_lists(), block("{masses: [3, 0.5, 1e-3], pair: [b, a]}"), errors);
  for (const Error& error : errors) ADD_FAILURE() << error.what();
  EXPECT_EQ(p.real_list("masses"), (std::vector<double>{3, 0.5, 1e-3}));
  EXPECT_EQ(p.text_list("pair"), (std::vector<std::string>{"b", "a"}));
  ASSERT_EQ(p.group_list("sloppy").size(), 2u);
  EXPECT_EQ(p.group_list("sloppy")[0]->text("precision"), "single");
  EXPECT_EQ(p.group_list("sloppy")[1]->text("precision"), "half");
  EXPECT_TRUE(p.given("masses"));
  EXPECT_FALSE(p.given("sloppy"));
  EXPECT_THROW(p.real("masses"), Error);
  EXPECT_THROW(p.list("absent"), Error);
}

TEST(Parameters, MistakesInListsNameTheEntry) {
  const auto error = [](const std::string& text) { return one_error(text, table_of_lists()); };
  EXPECT_EQ(error("{masses: 3}"),
            "job.yaml:1:1: 'masses' must be a list [...] of 1 or more entries, each a real number such as 1, got '3'");
  EXPECT_THAT(error("{masses: []}"), HasSubstr("of 1 or more entries"));
  EXPECT_THAT(error("{masses: []}"), HasSubstr("got [] (0 entries)"));
  EXPECT_THAT(error("{masses: [1, 0]}"), HasSubstr("'masses[1]' must be > 0, got 0"));
  EXPECT_THAT(error("{masses: [1, light]}"), HasSubstr("'masses[1]' must be a real number such as 1, got 'light'"));
  EXPECT_THAT(error("{masses: [1, 2, 1.0]}"), HasSubstr("'masses[2]' is in the list already (job.yaml:1:1): '1.0'"));
  EXPECT_THAT(error("{masses: [1], pair: [a]}"), HasSubstr("a list [...] of 2 entries, each text, got [a] (1 entry)"));
  EXPECT_THAT(error("{masses: [1], sloppy: [{precision: haf}]}"), HasSubstr("'sloppy[0].precision' must be one of"));
  EXPECT_THAT(error("{masses: [1], sloppy: [{precission: half}]}"), HasSubstr("unknown key 'sloppy[0].precission'"));
  EXPECT_THAT(error("{masses: [1], sloppy: [{}, {precision: half}]}"), HasSubstr("is in the list already"))
      << "a default is the same as its value";
  EXPECT_EQ(error("{}"),
            "job.yaml:1:1: 'masses' is missing in task test: give a list [...] of 1 or more entries, each a "
            "real number such as 1");
}

TEST(Parameters, EntriesOfAListMayBeEqualWhereItSaysSo) {
  ParameterTable table{"task test", "", {}, {}};
  table.parameters = {{.name = "momentum",
                       .type = ParameterType::list,
                       .element = {{.name = "n", .type = ParameterType::integer}},
                       .repeats = true}};
  std::vector<Error> errors;
  const Parameters p = resolve(table, block("{momentum: [1, 0, 1]}"), errors);
  for (const Error& error : errors) ADD_FAILURE() << error.what();
  EXPECT_EQ(p.integer_list("momentum"), (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(Parameters, ReplacedTakesOneAndPutsOne) {
  std::vector<Error> errors;
  const Parameters p = resolve(table_of_lists(), block("{masses: [3, 0.5]}"), errors);
  const Parameters old = good("{kappa: 0.2, steps: 4}");
  const Parameters with = old.replaced("kappa", "mass", p.list("masses")[1]);
  EXPECT_FALSE(with.has("kappa"));
  EXPECT_EQ(with.real("mass"), 0.5);
  EXPECT_EQ(with.integer("steps"), 4);
  EXPECT_TRUE(old.has("kappa"));
  EXPECT_EQ(with.replaced("kappa", "mass", p.list("masses")[0]).real("mass"), 3);
}

TEST(Parameters, BoundaryEntries) {
  const auto phases =
      good("{mass: 0, boundary: [periodic, antiperiodic, {phase: 0.5}, {phase: -1}]}").boundary("boundary");
  EXPECT_EQ(phases, (std::array<double, 4>{0, 1, 0.5, -1}));
  EXPECT_THAT(one_error("{mass: 0, boundary: [periodic, open, periodic, periodic]}"),
              HasSubstr("'boundary[1]' must be periodic, antiperiodic or {phase: theta/pi}"));
  EXPECT_THAT(one_error("{mass: 0, boundary: [{phase: 90}, periodic, periodic, periodic]}"),
              HasSubstr("'boundary[0].phase' must be >= -2 and <= 2, got 90"));
  EXPECT_NE(one_error("{mass: 0, boundary: [{phas: 0.5}, periodic, periodic, periodic]}"), "");
}

TEST(Parameters, AllErrorsOfABlockAreCollected) {
  std::vector<Error> errors;
  resolve(table(), block("{toleranse: 1, steps: 0, scheme: none, dims: [1, 3, 4, 4]}"), errors);
  EXPECT_EQ(errors.size(), 6u);  // unknown, range, choice, two extents, and neither kappa nor mass
}

TEST(Parameters, VariantsTakeTheTableTheirSelectorNames) {
  Parameter variant;
  variant.name = "solver";
  variant.type = Type::variant;
  variant.entries = {{"one", table()}, {"two", {"solver two", "", {}, {}}}};
  std::vector<Error> errors;
  const auto chosen = resolve_variant(variant, block("{mass: 1, type: one}"), errors);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->text("type"), "one");
  EXPECT_EQ(chosen->items().front().first, "type");
  EXPECT_EQ(chosen->real("mass"), 1);
  EXPECT_FALSE(resolve_variant(variant, block("{mass: 1}"), errors));
  EXPECT_FALSE(resolve_variant(variant, block("{type: tow}"), errors));
  EXPECT_FALSE(resolve_variant(variant, block("{type: two, mass: 1}"), errors));
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_THAT(errors[0].what(), HasSubstr("'type' is missing in solver: give one of one, two"));
  EXPECT_THAT(errors[1].what(), HasSubstr("did you mean 'two'?"));
  EXPECT_EQ(nearest_name("8", {"18", "12"}), "") << "a number is not another one misspelt";
  EXPECT_EQ(nearest_name("12x", {"18", "12"}), "12");
  EXPECT_THAT(errors[2].what(), HasSubstr("unknown key 'mass' in solver two"));
}

TEST(Parameters, AVariantWithoutAnEntryStillNamesItsOtherMistakes) {
  Parameter variant;
  variant.name = "solver";
  variant.type = Type::variant;
  const Parameter word{.name = "mass", .type = Type::choice, .choices = {"light"}};
  variant.entries = {{"one", table()}, {"two", {"solver two", "", {word}, {}}}};
  for (const std::string type : {"type: tow, ", ""}) {
    std::vector<Error> errors;
    EXPECT_FALSE(
        resolve_variant(variant, block("{" + type + "toleranse: 1, zebra: 2, steps: 0, mass: light}"), errors));
    ASSERT_EQ(errors.size(), 4u) << "`mass: light` is right in one of the entries";
    EXPECT_THAT(errors[1].what(), HasSubstr("unknown key 'toleranse' in solver; did you mean 'tolerance'?"));
    EXPECT_THAT(errors[2].what(), HasSubstr("unknown key 'zebra' in solver; no type has it"));
    EXPECT_THAT(errors[3].what(), HasSubstr("'steps' must be >= 1, got 0"));
  }
  std::vector<Error> errors;
  EXPECT_FALSE(resolve_variant(variant, block("{type: tow, mass: heavy}"), errors));
  ASSERT_EQ(errors.size(), 2u) << "wrong in both";
}

TEST(Parameters, WhatDependsOnOneOfTwoContradictingParametersIsNotJudged) {
  ParameterTable rules;
  rules.name = "gauge";
  rules.parameters = {{.name = "file"},
                      {.name = "start", .type = Type::choice, .choices = {"cold"}},
                      {.name = "dims", .type = Type::integer4, .required = true, .only_if = {{"start", {}}}},
                      {.name = "verify", .type = Type::boolean, .only_if = {{"file", {}}}}};
  rules.exactly_one_of = {{"file", "start"}};
  std::vector<Error> errors;
  resolve(rules, block("{file: a, start: cold, verify: true}"), errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].what(), HasSubstr("exactly one of 'file', 'start'; 'file' is already given"));
  errors.clear();
  resolve(rules, block("{start: cold}"), errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].what(), HasSubstr("'dims' is missing"));
}

TEST(Parameters, OneOfTheNamesBetweenBarsWillDo) {
  ParameterTable rules;
  rules.name = "gauge";
  rules.parameters = {
      {.name = "file"},
      {.name = "files"},
      {.name = "start"},
      {.name = "verify", .type = Type::boolean, .default_text = "true", .only_if = {{"file|files", {}}}},
      {.name = "deep", .type = Type::boolean, .only_if = {{"file|files", {"a"}}}}};
  for (const char* given : {"{file: a}", "{files: b}"}) {
    std::vector<Error> errors;
    EXPECT_TRUE(resolve(rules, block(given), errors).boolean("verify")) << given;
    EXPECT_TRUE(errors.empty()) << given;
  }
  std::vector<Error> errors;
  EXPECT_FALSE(resolve(rules, block("{start: cold}"), errors).has("verify"));
  EXPECT_TRUE(resolve(rules, block("{file: b, files: a, deep: true}"), errors).boolean("deep"));
  EXPECT_TRUE(errors.empty());
  resolve(rules, block("{start: cold, verify: true}"), errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].what(), HasSubstr("'verify' is used only together with 'file' or 'files'"));
  errors.clear();
  resolve(rules, block("{file: b, deep: true}"), errors);
  EXPECT_EQ(errors.size(), 1u);
}

TEST(Parameters, AListMayTakeOneValueForItself) {
  ParameterTable rules;
  rules.name = "gauge";
  Parameter files{.name = "files", .type = Type::list, .element = {{.name = "file", .type = Type::file_in}}};
  rules.parameters = {files};
  std::vector<Error> errors;
  resolve(rules, block("{files: a}"), errors);
  EXPECT_EQ(errors.size(), 1u);
  rules.parameters[0].shorthand = "file";
  errors.clear();
  EXPECT_EQ(resolve(rules, block("{files: a}"), errors).text_list("files"), std::vector<std::string>{"a"});
  EXPECT_EQ(resolve(rules, block("{files: [a, b]}"), errors).text_list("files"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(errors.empty());
}

TEST(ParameterValues, RealsAndIntegersReadExactlyWhatTheyShould) {
  EXPECT_EQ(parse_real("1.0e-12"), 1e-12);
  EXPECT_EQ(parse_real("1e-12"), 1e-12);
  EXPECT_EQ(parse_real(".5"), 0.5);
  EXPECT_EQ(parse_real("+.5"), 0.5);
  EXPECT_EQ(parse_real("1"), 1.0);
  EXPECT_EQ(parse_real("-3."), -3.0);
  for (const char* text : {"", "-", "+", ".", "e5", "nan", "inf", "-inf", ".inf", ".nan", "0x10", "1e999", "1,5", "1 ",
                           " 1", "+-1", "1e", "infinity"}) {
    EXPECT_FALSE(parse_real(text)) << text;
  }
  EXPECT_EQ(parse_integer("+12"), 12);
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "-", "1.0", "1e3", "0x10", "9223372036854775808", "+-1", "1 "}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
}

TEST(ParameterValues, EveryDoubleReadsBack) {
  std::mt19937_64 random = testing::fresh_generator();
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int k = 0; k < 1000; ++k) {
    const double value = std::uniform_real_distribution<double>(-1, 1)(random) * std::pow(10, exponent(random));
    EXPECT_EQ(parse_real(real_text(value)), value);
  }
}

TEST(ParameterValues, NearestName) {
  const std::vector<std::string> names = {"tolerance", "max_iterations", "delta", "type"};
  EXPECT_EQ(nearest_name("toleranse", names), "tolerance");
  EXPECT_EQ(nearest_name("maxiterations", names), "max_iterations");
  EXPECT_EQ(nearest_name("Delta", names), "delta");
  EXPECT_EQ(nearest_name("tyep", names), "type");
  EXPECT_EQ(nearest_name("zebra", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'x'), names), "");
}

}  // namespace
}  // namespace quadrille
