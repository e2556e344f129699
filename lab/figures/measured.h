// Reads measured figures from the JSON documents that `protocols`, `htm` and `heap` write. Formats
// them as Markdown, either for a page of their own or for marked places in a document.
// Thread safety: pure functions, except for the files that they read and write.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/figures/papers.h"
#include "elider/status.h"
#include "tools/common/json.h"

namespace elider::bench {

struct MeasuredFigure {
  tools::Json figure;
  bool quick = false;  // measured with --quick
  std::string commit;  // commit of the program that measured the figure
};
// The key is the figure's name. If several documents have a figure, the last one is used.
using Measured = std::map<std::string, MeasuredFigure>;

// The text under this key; "" if the key is missing or its value is not a text.
std::string text_in(const tools::Json& figure, const char* key);

// kIoError: a file cannot be read. kInvalidArgument: a file is not a document of figures.
Result<Measured> read_documents(const std::vector<std::string>& files);

// Formats the figure's tables, and a line with the unit, the command, the machine and the commit. A
// table has one row per series of the figure, with the first and the last value. Series with
// different x values are in separate tables.
std::string markdown_of(const MeasuredFigure& measured, const std::string& command);

// Replaces the text between the lines `<!-- measured NAME -->` and `<!-- end of NAME -->` of a
// Markdown file by markdown_of(), for each of `figures` that was measured. Ignores figures that
// are not marked in the file.
// kInvalidArgument  no figure is marked, or an end line is missing; the file is unchanged
// kIoError          the file cannot be read or written
Status merge_into(const std::string& file, const std::vector<const papers::PaperFigure*>& figures, const Measured& measured);

}  // namespace elider::bench
