// Reads measured figures from the JSON documents that `protocols`, `htm` and `heap` write. Formats
// the figures as Markdown, either for a separate page or for the marked sections of a document.
// Thread safety: all threads may call all functions, but only one thread at a time may use a file.
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
// The key is the figure's name. If several documents contain a figure, the last document is used.
using Measured = std::map<std::string, MeasuredFigure>;

// Returns the string under this key, or "" if the key is missing or its value is not a string.
std::string text_in(const tools::Json& figure, const char* key);

// Reads the figures of all given files. kIoError: a file cannot be read. kInvalidArgument: a file
// is not a document of figures.
Result<Measured> read_documents(const std::vector<std::string>& files);

// Formats the figure as tables, followed by a line with the unit, the command, the machine and the
// commit. A table has one row per series, with the first and the last value of the series. Series
// with different x values are in separate tables.
std::string markdown_of(const MeasuredFigure& measured, const std::string& command);

// Replaces the text between the markers `<!-- measured NAME -->` and `<!-- end of NAME -->` in a
// Markdown file with markdown_of(), for each of `figures` that was measured. Ignores figures for
// which the file does not have markers.
// kInvalidArgument  the file does not have markers for any measured figure, or an end marker is
//                   missing; the file is unchanged
// kIoError          the file cannot be read or written
Status merge_into(const std::string& file, const std::vector<const papers::PaperFigure*>& figures, const Measured& measured);

}  // namespace elider::bench
