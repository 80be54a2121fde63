// `quadrille report`: tables and figures of a results.json, made by the Python scripts of input/report and of modules.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

namespace quadrille {

struct ReportOptions {
  std::string results;         ///< results.json, or the output folder that holds it
  std::string out;             ///< empty: the folder `report` beside the results
  std::string format = "svg";  ///< of the figures: svg or png
};

/// Runs report.py, whose output is the program's. Gives its exit status. Errors: ErrorCode::file when the results, the
/// scripts or Python 3 cannot be found.
int report(const ReportOptions& options);

/// Where the scripts are: share/quadrille/report in the folder of the program (a build tree) or beside that folder (an
/// installation). ErrorCode::file naming both places when they are in neither. Those of the library's modules are in
/// `module_reports` beside it, those of other modules in the folder `report` of their own.
std::filesystem::path report_folder(const std::filesystem::path& program);

}  // namespace quadrille
