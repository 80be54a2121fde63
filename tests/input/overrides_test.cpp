// --set: paths into a job, and what a wrong one is called.
#include "input/job/overrides.h"
#include "input/job/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille {
namespace {

using testing::HasSubstr;

Value job() {
  return read_yaml_text(
      "operator: {kappa: 0.1}\nrun:\n  - task: propagator\n    source: {site: [0, 0, 0, 0]}\n"
      "  - task: mesons\n",
      "job.yaml");
}

const Value* find(const Value& value, const std::string& key) {
  const auto* map = std::get_if<Value::Map>(&value.data);
  for (std::size_t k = 0; map && k < map->size(); ++k) {
    if ((*map)[k].key == key) return &(*map)[k].value;
  }
  return nullptr;
}

std::string text(const Value& value) { return std::get<Value::Scalar>(value.data).text; }

std::string error_of(const std::string& assignment, Value root = job()) {
  try {
    apply_override(root, assignment);
  } catch (const WrongCall& error) {
    return error.what();
  }
  return "";
}

TEST(Overrides, SetsValuesThatAreThere) {
  Value root = job();
  apply_override(root, "run[0].source.site=[1,2,3,5]");
  apply_override(root, "operator.kappa=0.125");
  const auto& run = std::get<Value::List>(find(root, "run")->data);
  const auto& site = std::get<Value::List>(find(*find(run[0], "source"), "site")->data);
  EXPECT_EQ(text(site[3]), "5");
  EXPECT_EQ(to_string(site[3].where), "--set run[0].source.site");
  EXPECT_EQ(text(*find(*find(root, "operator"), "kappa")), "0.125");
  apply_override(root, "run[0].source.site[1]=7");
  EXPECT_EQ(text(std::get<Value::List>(find(*find(run[0], "source"), "site")->data)[1]), "7");
}

TEST(Overrides, MakesMissingKeysAndRemovesWithNull) {
  Value root = job();
  apply_override(root, "solver.sloppy.precision=half");
  EXPECT_EQ(text(*find(*find(*find(root, "solver"), "sloppy"), "precision")), "half");
  apply_override(root, "operator.kappa=null");
  EXPECT_EQ(find(*find(root, "operator"), "kappa"), nullptr);
  apply_override(root, "run[1]=~");
  EXPECT_EQ(std::get<Value::List>(find(root, "run")->data).size(), 1u);
}

TEST(Overrides, WrongPathsAndValuesSayWhere) {
  EXPECT_EQ(error_of("run[2].name=x"), "--set run[2].name: 'run' has 2 entries; its last index is 1");
  Value empty = job();
  apply_override(empty, "run=[]");
  EXPECT_EQ(error_of("run[0]=x", empty), "--set run[0]: 'run' is empty");
  EXPECT_THAT(error_of("operator.kappa.x=1"), HasSubstr("'operator.kappa' is a single value and has no key 'x'"));
  EXPECT_THAT(error_of("run.name=x"), HasSubstr("'run' is a list; choose an entry as run[0]"));
  EXPECT_THAT(error_of("operator[0]=x"), HasSubstr("'operator' is not a list"));
  EXPECT_THAT(error_of("operator.kappa"), HasSubstr("write KEY=VALUE"));
  EXPECT_THAT(error_of("operator.kappa="), HasSubstr("no value after '='"));
  EXPECT_THAT(error_of("operator.kappa=[1"), HasSubstr("--set operator.kappa: not valid YAML"));
  for (const char* path : {"a..b=1", ".a=1", "a.=1", "[0]=1", "run[x]=1", "run[-1]=1", "run[+1]=1", "run[0=1",
                           "run[0]x=1", "run]=1", "run[99999999999999999999]=1"}) {
    EXPECT_NE(error_of(path), "") << path;
  }
  EXPECT_THAT(error_of("=1"), HasSubstr("write KEY=VALUE"));
  EXPECT_EQ(error_of("operator={kappa:0.12}"),
            "--set operator: a space is missing after the colon in 'kappa:0.12': write 'kappa: 0.12'");
}

}  // namespace
}  // namespace quadrille
