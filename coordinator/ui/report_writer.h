#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/record.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// --format. `plain` prints record lines only and no summary; `records` coloured record lines and
// then the pretty summary. FORMAT=result means json.
enum class ReportFormat { kPretty, kJson, kCsv, kPlain, kRecords };

// Empty for a word that is none.
std::optional<ReportFormat> ParseReportFormat(std::string_view word);

// The summary as printed on standard output, newline at the end; empty for kPlain.
std::string RenderSummary(const Summary& summary, ReportFormat format, const TextStyle& style);

// The parts (also for summary.json, which always has the JSON form).
std::string RenderJson(const Summary& summary);  // one object, indented by two, newline at the end
std::string RenderCsv(const Summary& summary);   // header line and one row
std::string RenderPretty(const Summary& summary, const TextStyle& style);

// One record for --format records: the plain line's fields, coloured by class when style.colour,
// URL and error text made harmless and the URL's password hidden; newline at the end. Not cut to a
// width.
void AppendRecordLine(std::string& out, std::string_view url, const Record& record,
                      const TextStyle& style);

}  // namespace fetchbench::coordinator
