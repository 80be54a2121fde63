#include "input/run/task_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace quadrille {
namespace {

using Json = nlohmann::ordered_json;

/// What a value of restart.json must be.
struct Shape {
  const char* key;
  bool (*fits)(const Json& value);
  const char* text;
};

bool is_text(const Json& value) { return value.is_string(); }
bool is_count(const Json& value) { return value.is_number_integer() && value.get<double>() >= 0; }
bool is_map(const Json& value) { return value.is_object(); }
bool is_tree(const Json& value) { return value.is_structured(); }
bool is_map_or_null(const Json& value) { return value.is_object() || value.is_null(); }
bool is_solves(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& solve) {
           return solve.is_object() && solve.contains("converged") && solve["converged"].is_boolean();
         });
}

/// "key' must be ..." for the first that does not fit; empty when all do.
std::string problem_of(const Json& value, std::initializer_list<Shape> shapes) {
  for (const Shape& shape : shapes) {
    if (!value.is_object() || !value.contains(shape.key)) return fmt::format("{}' is missing", shape.key);
    if (!shape.fits(value[shape.key])) return fmt::format("{}' must be {}", shape.key, shape.text);
  }
  return {};
}

}  // namespace

bool is_texts(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
}

std::string record_problem(const Json& record) {
  return problem_of(record, {{"key", is_text, "a string"},
                             {"isa", is_text, "a string"},
                             {"threads", is_count, "a whole number"},
                             {"solves", is_solves, "a list of solves"},
                             {"correlators", is_map_or_null, "a map"},
                             {"blocks", is_map, "a map"},
                             {"result", is_map_or_null, "a map"},
                             {"warnings", is_texts, "a list of strings"},
                             {"files", is_texts, "a list of names"},
                             {"data_hash", is_text, "a string"}});
}

std::string unfinished_problem(const Json& kept) {
  const std::string problem = problem_of(kept, {{"key", is_text, "a string"}, {"so_far", is_map, "a map"}});
  if (!problem.empty()) return problem;
  const std::string inside = problem_of(
      kept["so_far"],
      {{"isa", is_text, "a string"}, {"threads", is_count, "a whole number"}, {"so_far", is_tree, "a map or a list"}});
  return inside.empty() ? inside : "so_far." + inside;
}

TaskRecord record_of(const Json& json) {
  TaskRecord record;
  json.at("key").get_to(record.key);
  record.solves = json.at("solves");
  record.correlators = json.at("correlators");
  record.blocks = json.at("blocks");
  record.result = json.at("result");
  json.at("warnings").get_to(record.warnings);
  json.at("files").get_to(record.files);
  json.at("data_hash").get_to(record.data_hash);
  json.at("isa").get_to(record.isa);
  json.at("threads").get_to(record.threads);
  return record;
}

Json to_json(const TaskRecord& record) {
  return {{"key", record.key},
          {"isa", record.isa},
          {"threads", record.threads},
          {"solves", record.solves},
          {"correlators", record.correlators},
          {"blocks", record.blocks},
          {"result", record.result},
          {"warnings", record.warnings},
          {"files", record.files},
          {"data_hash", record.data_hash}};
}

}  // namespace quadrille
