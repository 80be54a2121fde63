// YAML text -> a tree of values, each with its file, line and column.
#pragma once

#include "core/parameters/parameters.h"

#include <string>

namespace quadrille {

/// The one document in the file at `path`. Throws ErrorCode::file when it cannot be read, ErrorCode::invalid_input
/// with file:line:column for a syntax error ({b:10} without a space is one), a key given twice (both lines are named),
/// an empty file, more than one document, unknown tags, nesting deeper than 32 levels and aliases that expand to more
/// than 100,000 values.
Value read_yaml_file(const std::string& path);

/// The same for text in memory; `name` stands for the file in places. With `lines` false a place is `name` alone
/// (for a value given on the command line).
Value read_yaml_text(const std::string& text, const std::string& name, bool lines = true);

/// What a comment `# made by: COMMAND` on the line of a value says up to a semicolon, for messages about a file that is
/// not there. Empty where there is none.
std::string made_by(const Location& value);

}  // namespace quadrille
