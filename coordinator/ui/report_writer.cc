#include "coordinator/ui/report_writer.h"

#include "common/record_line.h"
#include "coordinator/ui/paint.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

std::string PaintByClass(const Record& record, std::string_view text, const Paint& paint) {
  if (record.outcome != Outcome::kStatus) return paint.Red(text);
  switch (record.status / 100) {
    case 2:
      return paint.Green(text);
    case 3:
      return paint.Cyan(text);
    case 4:
      return paint.Yellow(text);
    default:
      return paint.Magenta(text);
  }
}

}  // namespace

std::optional<ReportFormat> ParseReportFormat(std::string_view word) {
  if (word == "pretty") return ReportFormat::kPretty;
  if (word == "json" || word == "result") return ReportFormat::kJson;
  if (word == "csv") return ReportFormat::kCsv;
  if (word == "plain") return ReportFormat::kPlain;
  if (word == "records") return ReportFormat::kRecords;
  return std::nullopt;
}

std::string RenderSummary(const Summary& summary, ReportFormat format, const TextStyle& style) {
  switch (format) {
    case ReportFormat::kPretty:
    case ReportFormat::kRecords:
      return RenderPretty(summary, style);
    case ReportFormat::kJson:
      return RenderJson(summary);
    case ReportFormat::kCsv:
      return RenderCsv(summary);
    case ReportFormat::kPlain:
      return "";
  }
  return "";
}

void AppendRecordLine(std::string& out, std::string_view url, const Record& record,
                      const TextStyle& style) {
  std::string line;
  AppendPlainLine(line, HidePassword(url), record);
  line.pop_back();
  out += PaintByClass(record, Harmless(line, !style.utf8), Paint(style.colour));
  out += '\n';
}

}  // namespace fetchbench::coordinator
