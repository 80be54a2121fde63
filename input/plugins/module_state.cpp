#include "input/plugins/module_state.h"

#include "core/backend/backend.h"
#include "core/comm/agreement.h"
#include "input/files/checksum.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/run/outputs.h"

#include <algorithm>
#include <cctype>

namespace quadrille {
namespace {

constexpr const char* of_links = ".lime";

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '_');
  });
}

/// What was said earlier, then what is new.
std::vector<std::string> joined(std::vector<std::string> earlier, const std::vector<std::string>& now) {
  for (const std::string& text : now) {
    if (std::find(earlier.begin(), earlier.end(), text) == earlier.end()) earlier.push_back(text);
  }
  return earlier;
}

}  // namespace

ModuleState::ModuleState(JobRun& job, const TaskSpec& task) : job_(job), task_(task) {
  const Json found = job.unfinished(task, JobRun::Threads::any);
  if (found.is_null()) return;
  Json parts;
  std::vector<std::string> files, warnings;
  std::uint64_t generation = 0;
  try {
    generation = found.at("generation");
    parts = found.at("parts");
    files = found.at("files");
    warnings = found.at("warnings");
    for (const auto& [name, part] : parts.items()) {
      if (!is_name(name) || !part.at("file").is_string() || !part.at("hash").is_string()) throw std::out_of_range("");
    }
  } catch (const std::exception&) {
    throw job.folder().damaged(fmt::format("'unfinished.{}' is not a state of this task", task.name));
  }
  if (const std::string damage = job.folder().damage(files); !damage.empty()) {
    throw Error(
        ErrorCode::file,
        fmt::format("{}: {}: the interrupted run cannot be continued without it; put it back, or use --force to "
                    "start from scratch",
                    task.name, damage),
        {.file = job.folder().path("restart.json").string()});
  }
  const auto start_over = [&](const char* why) {
    bytes_.clear();
    links_.clear();
    job.start_over(task, fmt::format("the state of the interrupted run cannot be read: {}", why));
  };
  try {
    read(parts);
  } catch (const Error& error) {
    start_over(error.what());
    return;
  } catch (const FailedElsewhere& error) {
    start_over(error.what());
    return;
  }
  generation_ = generation;
  hash_ = json_hash(parts);
  job.record().files = files;
  job.record().warnings = joined(warnings, job.record().warnings);
}

void ModuleState::read(const Json& parts) {
  for (const auto& [name, part] : parts.items()) read_part(name, part.at("file"), part.at("hash"));
}

void ModuleState::read_part(const std::string& name, const std::string& file, const std::string& hash) {
  const std::string path = job_.folder().path(file).string();
  std::string found;
  if (file.ends_with(of_links)) {
    all_or_none(job_.communicator(), [&] { (void)locate_gauge_field(LimeInput(path)); });
    GaugeFile& links = links_[name] =
        read_gauge_file(path, {.backend = &job_.backend(), .communicator = job_.shared_communicator()});
    found = to_string(links.info.checksum.computed);
  } else {
    std::string& bytes = bytes_[name] = job_.folder().read(file);
    found = text_hash(bytes);
  }
  if (found != hash) throw Error(ErrorCode::file, path + ": not what the interrupted run wrote");
}

std::string ModuleState::next_file(const std::string& name, const char* ending) const {
  if (!is_name(name)) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a valid name for a part of a state: use at most 64 letters, digits and '_'", name));
  }
  if (put_.contains(name)) throw std::invalid_argument(fmt::format("it puts the part '{}' twice into one state", name));
  const std::string prefix = job_.is_finishing() ? finished_prefix(task_) : unfinished_prefix(task_);
  return fmt::format("{}{}.{}{}", prefix, (generation_ + 1) % 2, name, ending);
}

void ModuleState::put(const std::string& name, const void* bytes, std::size_t size) {
  const std::string file = next_file(name, "");
  const std::string text = share(
      job_.communicator(), {size == 0 ? "" : static_cast<const char*>(given(bytes, "the bytes of a state")), size});
  job_.folder().write(file, text);
  put_[name] = {{"file", file}, {"hash", text_hash(text)}};
}

void ModuleState::put(const std::string& name, const GaugeStore& links, int bits, const WrittenLinks& written) {
  const std::string file = next_file(name, of_links);
  if (bits != 32 && bits != 64)
    throw std::invalid_argument(fmt::format("a state holds links in 32 or 64 bits, not {}", bits));
  if (!written.of(bits).empty()) {
    const std::string sum = to_string(checksum_of(links, bits));
    const auto same = written.of(bits).find(sum);
    if (same != written.of(bits).end() && same->second.ends_with(of_links)) {
      put_[name] = {{"file", same->second}, {"hash", sum}};
      return;
    }
  }
  const Checksum sum = write_gauge_file(job_.folder().prepare(file).string(), links, {.precision = bits});
  put_[name] = {{"file", file}, {"hash", to_string(sum)}};
}

void ModuleState::keep() {
  if (put_.empty()) throw std::invalid_argument("it keeps a state without parts");
  ++generation_;
  hash_ = json_hash(put_);
  job_.keep_unfinished(task_, {{"generation", generation_},
                               {"parts", std::exchange(put_, Json::object())},
                               {"files", job_.record().files},
                               {"warnings", job_.record().warnings}});
}

const std::string* ModuleState::bytes(const std::string& name) const {
  const auto found = bytes_.find(name);
  return found == bytes_.end() ? nullptr : &found->second;
}

const GaugeFile* ModuleState::links(const std::string& name) const {
  const auto found = links_.find(name);
  return found == links_.end() ? nullptr : &found->second;
}

ModuleState& state_of(quadrille_run* run) {
  if (!run->state) run->state = std::make_shared<ModuleState>(*run->job, run->task);
  return *run->state;
}

}  // namespace quadrille
