#include "input/tasks/propagator/unfinished_propagator.h"

#include "core/field/convert.h"
#include "core/system/log.h"
#include "input/files/propagator_file.h"
#include "input/run/outputs.h"

#include <fmt/format.h>

namespace quadrille {

namespace {

std::string file_of(const TaskSpec& task) { return unfinished_prefix(task) + "0.lime"; }

}  // namespace

int continue_components(JobRun& job, const TaskSpec& task, Propagator& out, std::map<int, std::string>& failures) {
  const nlohmann::ordered_json kept = job.unfinished(task, JobRun::Threads::any);
  if (kept.is_null()) return 0;
  const int done = kept.at("done");
  const std::string hash = kept.at("data_hash");
  const nlohmann::ordered_json& solves = kept.at("solves");
  if (done < 0 || done > Propagator::size || solves.size() != std::size_t(done)) {
    throw job.folder().damaged(
        fmt::format("'unfinished.{}' has {} solves for {} components", task.name, solves.size(), done));
  }
  const std::string path = job.folder().path(file_of(task)).string();
  try {
    PropagatorFile file = read_propagator_file(path, job.lattice(), job.backend());
    if (to_string(file.info.checksum.computed) != hash) {
      job.start_over(task, fmt::format("{} is not what the interrupted run wrote", path));
      return 0;
    }
    out = std::move(file.propagator);
  } catch (const Error& error) {
    job.start_over(task, fmt::format("the state of the interrupted run cannot be read: {}", error.what()));
    return 0;
  }
  while (out.columns.size() > std::size_t(done)) out.columns.pop_back();
  job.record().solves = solves;
  job.record().continued_solves = done;
  kept.at("warnings").get_to(job.record().warnings);
  kept.at("failures").get_to(failures);
  log().info("{}: continuing an interrupted run at component {} of {}", task.name, done + 1, Propagator::size);
  return done;
}

void keep_components(JobRun& job, const TaskSpec& task, Propagator& out, const std::map<int, std::string>& failures) {
  const std::size_t done = out.columns.size();
  if (done == 0) return;
  while (out.columns.size() < std::size_t(Propagator::size)) {  // a file has all of them: any numbers will do
    Field filler(out.desc());
    convert(filler, out.columns.front());
    out.columns.push_back(std::move(filler));
  }
  const std::string path = job.folder().prepare(file_of(task)).string();
  const std::string checksum = to_string(write_propagator_file(path, out, {}));
  job.keep_unfinished(task, {{"done", done},
                             {"file", file_of(task)},
                             {"data_hash", checksum},
                             {"solves", job.record().solves},
                             {"failures", failures},
                             {"warnings", job.record().warnings}});
}

}  // namespace quadrille
