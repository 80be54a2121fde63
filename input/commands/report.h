// `quadrille report`: tables and figures of results, made by the Python scripts of input/report and of modules.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace quadrille {

struct ReportOptions {
  /// results.json, or the output folders that hold them; several: of the same solver studies on other configurations
  std::vector<std::string> results;
  std::string out;             ///< empty: the folder `report` beside the results, of which there is one then
  std::string format = "svg";  ///< of the figures: svg or png
  std::string memory;          ///< JSON file of `bench memory` on the machine of the results; empty: no percentages
};

/// Runs report.py, whose output is the program's. Gives its exit status. Errors: ErrorCode::file when the results, the
/// scripts or Python 3 cannot be found; ErrorCode::invalid_input for several results without `out`.
int report(const ReportOptions& options);

/// Where the scripts are: share/quadrille/report in the folder of the program (a build tree) or beside that folder (an
/// installation). ErrorCode::file naming both places when they are in neither. Those of the library's modules are in
/// `module_reports` beside it, those of other modules in the folder `report` of their own.
std::filesystem::path report_folder(const std::filesystem::path& program);

}  // namespace quadrille
