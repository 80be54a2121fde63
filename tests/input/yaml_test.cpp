// YAML with places: every value knows its line and column, and every mistake is told with them.
#include "input/job/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace quadrille {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::string& text) {
  try {
    read_yaml_text(text, "a.yaml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const Value& at(const Value& map, const std::string& key) {
  for (const auto& entry : std::get<Value::Map>(map.data)) {
    if (entry.key == key) return entry.value;
  }
  throw std::runtime_error("no key " + key);
}

std::string text_at(const Value& map, const std::string& key) {
  return std::get<Value::Scalar>(at(map, key).data).text;
}

TEST(Yaml, PlacesCountFromOne) {
  const Value root = read_yaml_text("gauge:\n  file: a.lime\nrun:\n  - task: x\n  - [1, 2]\n", "a.yaml");
  const Value& file = at(at(root, "gauge"), "file");
  EXPECT_EQ(to_string(file.where), "a.yaml:2:9");
  EXPECT_EQ(to_string(std::get<Value::Map>(root.data)[1].where), "a.yaml:3:1");
  const auto& list = std::get<Value::List>(at(root, "run").data);
  EXPECT_EQ(to_string(std::get<Value::List>(list[1].data)[1].where), "a.yaml:5:9");
}

TEST(Yaml, ScalarsKeepTheirTextAndQuotes) {
  const Value root = read_yaml_text("a: 1.0e-12\nb: '5'\nc: \"x\"\nd: ~\ne:\nf: !!str 7\n", "a.yaml");
  EXPECT_EQ(text_at(root, "a"), "1.0e-12");
  EXPECT_FALSE(std::get<Value::Scalar>(at(root, "a").data).quoted);
  EXPECT_TRUE(std::get<Value::Scalar>(at(root, "b").data).quoted);
  EXPECT_TRUE(std::get<Value::Scalar>(at(root, "c").data).quoted);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(at(root, "d").data));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(at(root, "e").data));
  EXPECT_TRUE(std::get<Value::Scalar>(at(root, "f").data).quoted);
}

TEST(Yaml, AColonNeedsASpace) {
  EXPECT_EQ(error_of("operator: {type: wilson, kappa:0.12}\n"),
            "a.yaml:1:26: a space is missing after the colon in 'kappa:0.12': write 'kappa: 0.12'");
  EXPECT_EQ(error_of("a: {b: 'x:1', 'c:d': }\n"), "") << "quoted";
  EXPECT_EQ(error_of("a: {b: x:1}\n"), "") << "a value";
}

TEST(Yaml, DuplicateKeysNameBothLines) {
  EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"),
            "a.yaml:3:1: key 'a' is given twice (first on line 1, again on line 3); keep one");
  EXPECT_THAT(error_of("o:\n  kappa: 1\n  kappa: 2\n"), HasSubstr("first on line 2, again on line 3"));
  EXPECT_THAT(error_of("o: {k: 1, k: 2}"), StartsWith("a.yaml:1:11: key 'k' is given twice"));
  EXPECT_THAT(error_of("a: 1\n'a': 2\n"), HasSubstr("given twice"));
}

TEST(Yaml, SyntaxErrorsHaveAPlace) {
  EXPECT_THAT(error_of("a: [1, 2\nb: 3\n"), StartsWith("a.yaml:2:"));
  EXPECT_THAT(error_of("a: {b: 1\n"), StartsWith("a.yaml:"));
  EXPECT_THAT(error_of("a: 1\n b: 2\n"), StartsWith("a.yaml:2:"));
  EXPECT_THAT(error_of("a: \"open\n"), HasSubstr("not valid YAML"));
  for (const char* tab : {"a:\n\tb: 1\n", "a:\n \tb: 1\n"}) {
    EXPECT_THAT(error_of(tab), StartsWith("a.yaml:2:"));
    EXPECT_THAT(error_of(tab), HasSubstr("a tab indents this line; use spaces")) << tab;
  }
  EXPECT_THAT(error_of("a: !foo 1\n"), HasSubstr("unknown tag"));
  EXPECT_THAT(error_of("[1, 2]: 3\n"), HasSubstr("a key must be a plain word"));
  EXPECT_THAT(error_of(std::string("a: 1\nb: \0", 9)), StartsWith("a.yaml:2: a NUL byte"));
  EXPECT_THAT(error_of("a: \xff\n"), StartsWith("a.yaml:1: a byte that is not UTF-8"));
}

TEST(Yaml, OneDocumentNoMoreNoLess) {
  EXPECT_THAT(error_of(""), HasSubstr("a.yaml: the file is empty"));
  EXPECT_THAT(error_of("# only a comment\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"), HasSubstr("a second document starts here"));
  EXPECT_EQ(error_of("---\na: 1\n...\n"), "");
}

TEST(Yaml, ByteOrderMarkTabsAndCarriageReturns) {
  const Value root = read_yaml_text(
      "\xef\xbb\xbf"
      "a:\t1\t# tab\r\nb:\r\n  c: [1,\t2]\r\n",
      "a.yaml");
  EXPECT_EQ(text_at(root, "a"), "1");
  EXPECT_EQ(at(root, "a").where.line, 1);
  EXPECT_EQ(at(at(root, "b"), "c").where.line, 3);
}

TEST(Yaml, AnchorsWorkAndCannotExplode) {
  const Value root = read_yaml_text("a: &x {k: 5}\nb: *x\n", "a.yaml");
  EXPECT_EQ(text_at(at(root, "b"), "k"), "5");
  EXPECT_EQ(at(at(root, "b"), "k").where.line, 1);
  EXPECT_NE(error_of("a: *nothing\n"), "");
  EXPECT_NE(error_of("a: &x [*x]\n"), "");
  std::string bomb = "l0: &l0 [1, 1]\n";
  for (int k = 1; k < 25; ++k) bomb += fmt::format("l{}: &l{} [*l{}, *l{}]\n", k, k, k - 1, k - 1);
  EXPECT_THAT(error_of(bomb), testing::AnyOf(HasSubstr("more than 100000 values"), HasSubstr("nested deeper")));
  EXPECT_THAT(error_of("a: &x 1\nb: {<<: *x}\n"), HasSubstr("merge keys"));
}

TEST(Yaml, NestingHasALimit) {
  EXPECT_THAT(error_of(std::string(100000, '[')), HasSubstr("nested deeper than 32"));
  std::string maps;
  for (int k = 0; k < 1000; ++k) maps += "{a: ";
  EXPECT_THAT(error_of(maps), HasSubstr("nested deeper than 32"));
}

TEST(Yaml, FilesThatCannotBeRead) {
  const auto message = [](const std::string& path) {
    try {
      read_yaml_file(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::file);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("/no/such/job.yaml"), "/no/such/job.yaml: no such file");
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_THAT(message(folder), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace quadrille
