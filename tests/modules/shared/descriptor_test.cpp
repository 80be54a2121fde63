// The descriptors of modules: their layout is pinned, what makes no sense in one is refused by name, and the schema of
// a task says all that tables of parameters can say.
#include "modules/shared/plugin/loader.h"
#include "modules/shared/plugin/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace quadrille {
namespace {

using ::testing::HasSubstr;

// Modules are compiled with these numbers: one that changes is another QUADRILLE_MODULE_ABI. Members are added at the
// end.
#define AT(type, member, offset) EXPECT_EQ(offsetof(type, member), std::size_t(offset)) << #type "." #member

TEST(Descriptor, LayoutOfVersionOne) {
  EXPECT_EQ(QUADRILLE_MODULE_ABI, 1u);
  AT(quadrille_module, abi_version, 0);
  AT(quadrille_module, struct_size, 4);
  AT(quadrille_module, task_size, 8);
  AT(quadrille_module, parameter_size, 12);
  AT(quadrille_module, name, 16);
  AT(quadrille_module, version, 24);
  AT(quadrille_module, build_id, 32);
  AT(quadrille_module, tasks, 40);
  AT(quadrille_module, task_count, 48);
  AT(quadrille_module, blocks, 56);
  AT(quadrille_module, cpp_build, 64);
  EXPECT_EQ(sizeof(quadrille_module), 72u);
  AT(quadrille_task, name, 0);
  AT(quadrille_task, help, 8);
  AT(quadrille_task, parameters, 16);
  AT(quadrille_task, parameter_count, 24);
  AT(quadrille_task, flags, 32);
  AT(quadrille_task, exactly_one_of, 40);
  AT(quadrille_task, check, 48);
  AT(quadrille_task, run, 56);
  AT(quadrille_task, outputs, 64);
  EXPECT_EQ(sizeof(quadrille_task), 72u);
  AT(quadrille_parameter, name, 0);
  AT(quadrille_parameter, type, 8);
  AT(quadrille_parameter, help, 16);
  AT(quadrille_parameter, unit, 24);
  AT(quadrille_parameter, default_text, 32);
  AT(quadrille_parameter, flags, 40);
  AT(quadrille_parameter, minimum, 48);
  AT(quadrille_parameter, maximum, 56);
  AT(quadrille_parameter, choices, 64);
  AT(quadrille_parameter, excludes, 72);
  AT(quadrille_parameter, members, 80);
  AT(quadrille_parameter, member_count, 88);
  AT(quadrille_parameter, shorthand, 96);
  AT(quadrille_parameter, only_if, 104);
  AT(quadrille_parameter, exactly_one_of, 112);
  AT(quadrille_parameter, selector, 120);
  AT(quadrille_parameter, fewest, 128);
  AT(quadrille_parameter, most, 136);
  EXPECT_EQ(sizeof(quadrille_parameter), 144u);
  AT(quadrille_condition, parameter, 0);
  AT(quadrille_condition, values, 8);
  EXPECT_EQ(sizeof(quadrille_condition), 16u);
  EXPECT_EQ(sizeof(quadrille_parameter_type), 4u);
}

TEST(Descriptor, LayoutOfTheHost) {
  AT(quadrille_host, abi_version, 0);
  AT(quadrille_host, struct_size, 4);
  AT(quadrille_host, has, 8);
  AT(quadrille_host, count, 16);
  AT(quadrille_host, boolean, 24);
  AT(quadrille_host, integer, 32);
  AT(quadrille_host, real, 40);
  AT(quadrille_host, text, 48);
  AT(quadrille_host, input_file, 56);
  AT(quadrille_host, output_file, 64);
  AT(quadrille_host, output_named, 72);
  AT(quadrille_host, task_name, 80);
  AT(quadrille_host, backend, 88);
  AT(quadrille_host, threads, 96);
  AT(quadrille_host, result, 104);
  AT(quadrille_host, warn, 112);
  AT(quadrille_host, progress, 120);
  AT(quadrille_host, fail, 128);
  AT(quadrille_host, functions, 136);
  AT(quadrille_host, context, 144);
  AT(quadrille_host, gauge, 152);
  AT(quadrille_host, dirac_operator, 160);
  AT(quadrille_host, solver, 168);
  AT(quadrille_host, propagator, 176);
  AT(quadrille_host, object, 184);
  AT(quadrille_host, handle_of_gauge, 192);
  AT(quadrille_host, write_gauge, 200);
  AT(quadrille_host, device, 208);
  AT(quadrille_host, allocate, 216);
  AT(quadrille_host, release, 224);
  AT(quadrille_host, put_state, 232);
  AT(quadrille_host, put_state_gauge, 240);
  AT(quadrille_host, keep_state, 248);
  AT(quadrille_host, state, 256);
  AT(quadrille_host, get_state, 264);
  AT(quadrille_host, get_state_gauge, 272);
  AT(quadrille_host, links_file, 280);
  AT(quadrille_host, should_stop, 288);
  AT(quadrille_host, stopped, 296);
  AT(quadrille_host, rank_grid, 304);
  AT(quadrille_host, sum, 312);
  AT(quadrille_host, gather, 320);
  AT(quadrille_host, broadcast, 328);
  AT(quadrille_host, exchange, 336);
  AT(quadrille_host, log, 344);
  AT(quadrille_host, finishing, 352);
  AT(quadrille_host, set_links, 360);
  AT(quadrille_host, describe_links, 368);
  AT(quadrille_host, links_origin, 376);
  AT(quadrille_host, scratch_file, 384);
  EXPECT_EQ(sizeof(quadrille_host), 392u);
}

TEST(Descriptor, LayoutOfFunctions) {
  AT(quadrille_functions, struct_size, 0);
  AT(quadrille_functions, message, 8);
  AT(quadrille_functions, gauge_create, 16);
  AT(quadrille_functions, gauge_from_memory, 24);
  AT(quadrille_functions, gauge_update, 32);
  AT(quadrille_functions, gauge_to_memory, 40);
  AT(quadrille_functions, gauge_dims, 48);
  AT(quadrille_functions, gauge_plaquettes, 56);
  AT(quadrille_functions, gauge_json, 64);
  AT(quadrille_functions, gauge_destroy, 72);
  AT(quadrille_functions, operator_create, 80);
  AT(quadrille_functions, operator_apply, 88);
  AT(quadrille_functions, operator_destroy, 96);
  AT(quadrille_functions, solver_create, 104);
  AT(quadrille_functions, solver_solve, 112);
  AT(quadrille_functions, solver_json, 120);
  AT(quadrille_functions, solver_destroy, 128);
  AT(quadrille_functions, propagator_to_memory, 136);
  AT(quadrille_functions, gauge_part, 144);
  AT(quadrille_functions, help, 152);
  AT(quadrille_functions, schema, 160);
  EXPECT_EQ(sizeof(quadrille_functions), 168u);
}

TEST(Descriptor, ValuesOfVersionOne) {
  const int types[] = {QUADRILLE_BOOLEAN, QUADRILLE_INTEGER,        QUADRILLE_REAL,     QUADRILLE_TEXT,
                       QUADRILLE_CHOICE,  QUADRILLE_FILE_IN,        QUADRILLE_FILE_OUT, QUADRILLE_GROUP,
                       QUADRILLE_LIST,    QUADRILLE_NUMBER_OR_WORD, QUADRILLE_INTEGER4, QUADRILLE_BOUNDARY,
                       QUADRILLE_VARIANT, QUADRILLE_EARLIER_TASK};
  for (int k = 0; k < 14; ++k) EXPECT_EQ(types[k], k);
  const unsigned flags[] = {QUADRILLE_REQUIRED,     QUADRILLE_HAS_MINIMUM,  QUADRILLE_HAS_MAXIMUM,
                            QUADRILLE_MINIMUM_OPEN, QUADRILLE_MAXIMUM_OPEN, QUADRILLE_EVEN,
                            QUADRILLE_EXTENDS};
  for (unsigned k = 0; k < 7; ++k) EXPECT_EQ(flags[k], 1u << k);
  EXPECT_EQ(QUADRILLE_NEEDS_LINKS, 1u);
  EXPECT_EQ(QUADRILLE_MAKES_LINKS, 2u);
  EXPECT_EQ(QUADRILLE_NEEDS_OPERATOR, 4u);
  EXPECT_EQ(QUADRILLE_NEEDS_SOLVER, 8u);
  EXPECT_EQ(QUADRILLE_ON_RANKS, 16u);
}

quadrille_status do_nothing(const quadrille_host*, quadrille_run*) { return QUADRILLE_DONE; }

constexpr const char* words[] = {"auto", "none", nullptr};
constexpr const char* twins[] = {"auto", "auto", nullptr};
constexpr const char* kinds[] = {"propagator", nullptr};
constexpr const char* first_or_second[] = {"first", "second", nullptr};
constexpr const char* const* one_of[] = {first_or_second, nullptr};
constexpr const char* stranger[] = {"stranger", nullptr};
constexpr const char* const* one_of_strangers[] = {stranger, nullptr};
constexpr const char* on[] = {"auto", nullptr};

/// Parameter `number` of a task beside `first` and `second`, changed by `change`; the descriptor is read.
Module read(const std::function<void(quadrille_parameter&)>& change,
            const std::function<void(quadrille_task&, quadrille_module&)>& more = {}) {
  quadrille_parameter parameters[] = {{.name = "first", .type = QUADRILLE_CHOICE, .choices = words},
                                      {.name = "second", .type = QUADRILLE_REAL},
                                      {.name = "third", .type = QUADRILLE_REAL}};
  change(parameters[2]);
  quadrille_task tasks[] = {{.name = "job", .parameters = parameters, .parameter_count = 3, .run = do_nothing}};
  quadrille_module module = module_of("mine", "1", tasks);
  if (more) more(tasks[0], module);
  return read_descriptor(&module, "mine.so");
}

void expect_refused(const std::string& said, const std::function<void(quadrille_parameter&)>& change,
                    const std::function<void(quadrille_task&, quadrille_module&)>& more = {}) {
  try {
    (void)read(change, more);
    ADD_FAILURE() << "not refused: " << said;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.message(), HasSubstr(said));
  }
}

void unchanged(quadrille_parameter&) {}

TEST(Descriptor, ParametersThatMakeNoSenseAreRefusedByName) {
  using P = quadrille_parameter;
  expect_refused("parameter 2 of task job has no valid name", [](P& p) { p.name = "a b"; });
  expect_refused("parameter 2 of task job has no valid name", [](P& p) { p.name = nullptr; });
  expect_refused("task job has 'first' twice", [](P& p) { p.name = "first"; });
  expect_refused("'third' of task job has the unknown type 99", [](P& p) { p.type = quadrille_parameter_type(99); });
  expect_refused("'third' of task job has the unknown flags 0x80", [](P& p) { p.flags = 128 | QUADRILLE_REQUIRED; });
  expect_refused("'third' of task job has QUADRILLE_EXTENDS but is not an integer",
                 [](P& p) { p.flags = QUADRILLE_EXTENDS; });
  static const P inner[] = {{.name = "count", .type = QUADRILLE_INTEGER, .flags = QUADRILLE_EXTENDS}};
  expect_refused("task job has QUADRILLE_EXTENDS inside a map", [](P& p) {
    p.type = QUADRILLE_GROUP;
    p.members = inner;
    p.member_count = 1;
  });
  expect_refused("'third' of task job has 'auto' twice", [](P& p) { p.choices = twins; });
  expect_refused("'third' of task job is a choice without choices", [](P& p) { p.type = QUADRILLE_CHOICE; });
  expect_refused("'third' of task job is a choice without choices", [](P& p) { p.type = QUADRILLE_NUMBER_OR_WORD; });
  expect_refused("'third' of task job has a range that contains no number", [](P& p) {
    p.flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_HAS_MAXIMUM;
    p.minimum = 1;
  });
  expect_refused("'third' of task job has 3 to 2 entries", [](P& p) { p.fewest = 3, p.most = 2; });
  expect_refused("'third' of task job excludes 'stranger', which is not a parameter",
                 [](P& p) { p.excludes = stranger; });
  expect_refused("the default of 'third' of task job: 'third' must be > 2, got 1", [](P& p) {
    p.flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN;
    p.minimum = 2;
    p.default_text = "1";
  });
  expect_refused("the default of 'third' of task job: ", [](P& p) { p.default_text = "[1"; });
  static const quadrille_condition unknown[] = {{.parameter = "stranger"}, {}};
  expect_refused("'third' of task job depends on 'stranger', which must come before it",
                 [](P& p) { p.only_if = unknown; });
  static const quadrille_condition itself[] = {{.parameter = "third"}, {}};
  expect_refused("'third' of task job depends on 'third'", [](P& p) { p.only_if = itself; });
}

TEST(Descriptor, MapsAndListsThatMakeNoSenseAreRefusedByName) {
  using P = quadrille_parameter;
  static const P number[] = {{.name = "number", .type = QUADRILLE_REAL}, {.name = "other", .type = QUADRILLE_REAL}};
  static const P list[] = {{.name = "list", .type = QUADRILLE_LIST, .members = number, .member_count = 1}};
  static const P of_task[] = {{.name = "from", .type = QUADRILLE_EARLIER_TASK, .choices = kinds}};
  const auto with = [](quadrille_parameter_type type, const P* members, std::size_t count) {
    return [=](P& p) { p.type = type, p.members = members, p.member_count = count; };
  };
  expect_refused("'third' of task job has members but is neither a map nor a list", with(QUADRILLE_REAL, number, 1));
  expect_refused("has 2 parameters but no array of them", with(QUADRILLE_GROUP, nullptr, 2));
  expect_refused("is a list: it must have one member, which describes an entry and is not a list",
                 with(QUADRILLE_LIST, number, 2));
  expect_refused("is a list: it must have one member, which describes an entry and is not a list",
                 with(QUADRILLE_LIST, list, 1));
  static const P choice[] = {{.name = "word", .type = QUADRILLE_CHOICE}};
  expect_refused("'word' of 'third' of task job is a choice without choices", with(QUADRILLE_LIST, choice, 1));
  expect_refused("'third' of task job is a variant without members", with(QUADRILLE_VARIANT, nullptr, 0));
  expect_refused("is a variant: its member 'number' must be a group", with(QUADRILLE_VARIANT, number, 1));
  expect_refused("'third' of task job names 'stranger', which is not one of its parameters", [&](P& p) {
    with(QUADRILLE_GROUP, number, 2)(p);
    p.shorthand = "stranger";
  });
  expect_refused("'third' of task job names 'stranger', which is not one of its parameters", [&](P& p) {
    with(QUADRILLE_GROUP, number, 2)(p);
    p.exactly_one_of = one_of_strangers;
  });
  expect_refused("'third' of task job is an earlier task: its only choice must be the kind of that task", [](P& p) {
    p.type = QUADRILLE_EARLIER_TASK;
    p.choices = words;
  });
  expect_refused("task job has an earlier task inside a map", with(QUADRILLE_GROUP, of_task, 1));
  static const P map[] = {{.name = "type", .type = QUADRILLE_GROUP, .members = number, .member_count = 1}};
  static const P selector[] = {{.name = "kind", .type = QUADRILLE_GROUP, .members = map, .member_count = 1}};
  expect_refused("'kind' of 'third' of task job has its selector as a member", with(QUADRILLE_VARIANT, selector, 1));
}

TEST(Descriptor, TasksAndModulesThatMakeNoSenseAreRefusedByName) {
  using T = quadrille_task;
  using M = quadrille_module;
  expect_refused("task job has the unknown flags 0x8000", unchanged, [](T& t, M&) { t.flags = 0x8000; });
  expect_refused("task propagator has the name of a task of the program", unchanged,
                 [](T& t, M&) { t.name = "propagator"; });
  static const T two[] = {{.name = "job", .run = do_nothing}, {.name = "job", .run = do_nothing}};
  expect_refused("two tasks 'job'", unchanged, [](T&, M& m) { m.tasks = two, m.task_count = 2; });
  expect_refused("task job has no function 'run'", unchanged, [](T& t, M&) { t.run = nullptr; });
  expect_refused("task job names 'stranger'", unchanged, [](T& t, M&) { t.exactly_one_of = one_of_strangers; });
  expect_refused("task job has a parameter 'task' or 'name'", [](quadrille_parameter& p) { p.name = "name"; });
  expect_refused("needs an operator but no links", unchanged, [](T& t, M&) { t.flags = QUADRILLE_NEEDS_OPERATOR; });
  expect_refused("needs a solver but no operator", unchanged,
                 [](T& t, M&) { t.flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_NEEDS_SOLVER; });
  expect_refused(
      "task job has a parameter 'operator', which comes with its flags",
      [](quadrille_parameter& p) { p.name = "operator"; },
      [](T& t, M&) { t.flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_NEEDS_OPERATOR; });
  expect_refused("it offers no task to run", unchanged, [](T&, M& m) { m.task_count = 0; });
  expect_refused("the module needs a name", unchanged, [](T&, M& m) { m.name = ""; });
  expect_refused("it gives no version or no build id", unchanged, [](T&, M& m) { m.version = nullptr; });
  expect_refused("the list of its blocks has 'auto' twice", unchanged, [](T&, M& m) { m.blocks = twins; });
  static const char* const of_program[] = {"solves", nullptr};
  expect_refused("its block 'solves' of results.json belongs to the program", unchanged,
                 [](T&, M& m) { m.blocks = of_program; });
  for (const char* said : {"its structs are smaller than those of version 1"}) {
    expect_refused(said, unchanged, [](T&, M& m) { m.struct_size = 71; });
    expect_refused(said, unchanged, [](T&, M& m) { m.task_size = 71; });
    expect_refused(said, unchanged, [](T&, M& m) { m.parameter_size = 143; });
  }
}

TEST(Descriptor, ASchemaSaysWhatTablesCanSay) {
  static const quadrille_parameter number[] = {{.name = "number", .type = QUADRILLE_REAL},
                                               {.name = "other", .type = QUADRILLE_REAL}};
  static const quadrille_parameter kinds_of_source[] = {
      {.name = "point", .type = QUADRILLE_GROUP, .help = "one site", .members = number, .member_count = 1},
      {.name = "wall", .type = QUADRILLE_GROUP, .help = "one slice", .members = number, .member_count = 2}};
  static const quadrille_condition beside_auto[] = {{.parameter = "delta", .values = on}, {}};
  static const quadrille_parameter map[] = {
      {.name = "entry", .type = QUADRILLE_GROUP, .members = number, .member_count = 2}};
  static const quadrille_parameter method[] = {{.name = "method", .type = QUADRILLE_CHOICE, .choices = words}};
  static const quadrille_parameter earlier[] = {{.name = "task", .type = QUADRILLE_EARLIER_TASK, .choices = kinds}};
  static const quadrille_parameter parameters[] = {
      {.name = "dims", .type = QUADRILLE_INTEGER4, .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_EVEN, .minimum = 2},
      {.name = "boundary", .type = QUADRILLE_BOUNDARY, .default_text = "[periodic, periodic, periodic, {phase: 0.5}]"},
      {.name = "delta",
       .type = QUADRILLE_NUMBER_OR_WORD,
       .default_text = "auto",
       .flags = QUADRILLE_HAS_MINIMUM,
       .choices = words},
      {.name = "target", .type = QUADRILLE_REAL, .flags = QUADRILLE_REQUIRED, .only_if = beside_auto},
      {.name = "source", .type = QUADRILLE_VARIANT, .members = kinds_of_source, .member_count = 2, .selector = "kind"},
      {.name = "rows", .type = QUADRILLE_LIST, .members = map, .member_count = 1, .fewest = 2, .most = 3},
      {.name = "from", .type = QUADRILLE_LIST, .members = earlier, .member_count = 1},
      {.name = "methods", .type = QUADRILLE_LIST, .default_text = "[none, auto]", .members = method, .member_count = 1},
      {.name = "first", .type = QUADRILLE_REAL},
      {.name = "second", .type = QUADRILLE_REAL}};
  const Module module = read(unchanged, [&](quadrille_task& task, quadrille_module&) {
    task.parameters = parameters;
    task.parameter_count = std::size(parameters);
    task.exactly_one_of = one_of;
  });
  const ModuleTask& task = module.tasks.at(0);
  ASSERT_EQ(task.earlier.size(), 1u);
  EXPECT_EQ(task.earlier[0].name, "from");
  EXPECT_EQ(task.earlier[0].kind, "propagator");
  const std::vector<Parameter>& table = task.table.parameters;
  EXPECT_TRUE(table[0].even);
  EXPECT_EQ(table[2].type, ParameterType::number_or_word);
  EXPECT_EQ(table[4].selector, "kind");
  ASSERT_EQ(table[4].entries.size(), 2u);
  EXPECT_EQ(table[4].entries[1].table.parameters.size(), 2u);
  EXPECT_EQ(std::pair(table[5].fewest, table[5].most), std::pair(std::size_t(2), std::size_t(3)));
  std::vector<Error> errors;
  const auto scalar = [](const char* text) { return Value{Value::Scalar{text, false}, {}}; };
  const auto list = [](std::vector<Value> values) { return Value{std::move(values), {}}; };
  (void)resolve(task.table, Value{Value::Map{{"first", {}, scalar("1")}, {"target", {}, scalar("1e-3")}}, {}}, errors);
  EXPECT_TRUE(errors.empty()) << errors[0].message();
  (void)resolve(task.table,
                Value{Value::Map{{"dims", {}, list({scalar("4"), scalar("4"), scalar("4"), scalar("3")})},
                                 {"delta", {}, scalar("0.5")},
                                 {"target", {}, scalar("1e-3")},
                                 {"source", {}, Value{Value::Map{{"kind", {}, scalar("line")}}, {}}},
                                 {"rows", {}, list({Value{Value::Map{}, {}}})},
                                 {"methods", {}, list({scalar("none"), scalar("some")})}},
                      {}},
                errors);
  std::string all;
  for (const Error& error : errors) all += error.message() + "\n";
  EXPECT_EQ(errors.size(), 6u) << all;
  for (const char* said :
       {"'dims[3]' must be even and >= 2, got 3", "'target' is used only with delta: auto",
        "'kind' must be one of point, wall", "'rows' must be a list [...] of 2 to 3 entries",
        "'methods[1]' must be one of auto, none, got 'some'", "needs exactly one of 'first', 'second'"}) {
    EXPECT_THAT(all, HasSubstr(said));
  }
}

}  // namespace
}  // namespace quadrille
