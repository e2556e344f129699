// Measured figures: reads them from the JSON documents that protocols, htm and heap write,
// and formats them as Markdown, for a page of their own or for the places of a document.
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
  std::string commit;  // of the program that measured it
};
// The key is the figure's name. If several documents have a figure, the last one is used.
using Measured = std::map<std::string, MeasuredFigure>;

// The text of a key; "" if it is missing or is not a text.
std::string text_in(const tools::Json& figure, const char* key);

// kIoError: a file cannot be read. kInvalidArgument: it is not a document of figures.
Result<Measured> read_documents(const std::vector<std::string>& files);

// The figure's tables, and a line with the unit, the command, the machine and the commit. A table
// has a row for each line of the figure, with its first and its last value. Lines whose x values
// differ get a table of their own.
std::string markdown_of(const MeasuredFigure& measured, const std::string& command);

// Replaces what a Markdown file has between the lines `<!-- measured NAME -->` and
// `<!-- end of NAME -->` by markdown_of(), for each of `figures` that was measured. Figures without
// such a place are ignored.
// kInvalidArgument: no figure has a place, or a place does not end; the file is unchanged.
// kIoError: the file cannot be read or written.
Status merge_into(const std::string& file, const std::vector<const papers::PaperFigure*>& figures, const Measured& measured);

}  // namespace elider::bench
