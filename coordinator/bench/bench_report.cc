#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "coordinator/bench/bench_table.h"
#include "coordinator/ui/box_table.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

using Texts = std::vector<std::string>;

// Columns that say which row it is; repeated where a table is cut.
constexpr size_t kNaming = 4;

Texts Header() {
  Texts header{"#", "language", "method", "concurrency", "spread"};
  for (const BenchFigure& figure : BenchFigures()) header.push_back(figure.name);
  return header;
}

bool IsLeft(size_t column) { return column == 1 || column == 2; }

// "=2": shares its place.
std::string PlaceText(const std::vector<size_t>& places, size_t i) {
  if (places[i] == 0) return "-";
  const bool shared = (i > 0 && places[i - 1] == places[i]) ||
                      (i + 1 < places.size() && places[i + 1] == places[i]);
  return fmt::format("{}{}", shared ? "=" : "", places[i]);
}

Texts RowCells(const BenchRow& row, std::string place) {
  Texts cells{std::move(place), row.target.language, row.target.method,
              fmt::format("{}", row.target.concurrency)};
  const std::vector<Spread> spreads = row.Spreads();
  size_t i = 0;
  for (const BenchFigure& figure : BenchFigures()) {
    if (figure.name == "time") {
      cells.insert(cells.begin() + kNaming,
                   row.Counted() > 1 ? fmt::format("±{:.1f}%", spreads[i].Relative() * 100) : "-");
    }
    cells.push_back(
        row.Counted() == 0 ? "-" : fmt::format("{:.{}f}", spreads[i].median, figure.decimals));
    ++i;
  }
  return cells;
}

std::vector<Texts> AllRows(const BenchResult& result) {
  const std::vector<size_t> places = result.Places();
  std::vector<Texts> rows;
  for (size_t i = 0; i < result.rows.size(); ++i) {
    rows.push_back(RowCells(result.rows[i], PlaceText(places, i)));
  }
  return rows;
}

BoxTable TableOf(const Texts& header, const std::vector<Texts>& rows,
                 const std::vector<size_t>& columns, bool utf8) {
  std::vector<BoxTable::Column> heads;
  for (const size_t c : columns) {
    heads.push_back({header[c], IsLeft(c) ? Align::kLeft : Align::kRight});
  }
  BoxTable table(std::move(heads));
  for (const Texts& row : rows) {
    Texts cells;
    for (const size_t c : columns) cells.push_back(Harmless(row[c], !utf8));
    table.AddRow(std::move(cells));
  }
  return table;
}

// As many columns a table as fit into `width`, at least one beside those that name the row.
std::vector<std::string> Tables(const Texts& header, const std::vector<Texts>& rows,
                                const TextStyle& style) {
  std::vector<std::string> lines;
  size_t next = kNaming;
  while (next < header.size()) {
    std::vector<size_t> columns{0, 1, 2};
    if (next == kNaming) columns.push_back(3);
    const size_t begin = next;
    while (next < header.size()) {
      columns.push_back(next);
      const bool fits = TableOf(header, rows, columns, style.utf8).Width() <= style.width;
      if (!fits && next > begin) {
        columns.pop_back();
        break;
      }
      ++next;
    }
    for (std::string& line : TableOf(header, rows, columns, style.utf8).Lines(style.utf8)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// Where CPU s and peak MiB come from: native's are not what a container's are.
std::vector<std::string> CostLines(const std::vector<BenchRow>& rows) {
  std::vector<std::pair<std::string, Texts>> lines;  // basis, targets
  for (const BenchRow& row : rows) {
    for (const BenchRound& round : row.rounds) {
      if (!round.summary || round.summary->cost.basis.empty()) continue;
      const std::string& basis = round.summary->cost.basis;
      auto it = std::ranges::find(lines, basis, &decltype(lines)::value_type::first);
      if (it == lines.end()) it = lines.insert(it, {basis, {}});
      if (it->second.empty() || it->second.back() != row.target.name) {
        it->second.push_back(row.target.name);
      }
    }
  }
  Texts texts;
  for (const auto& [basis, targets] : lines) {
    texts.push_back(fmt::format("CPU s and peak MiB of {}: {}", fmt::join(targets, ", "), basis));
  }
  return texts;
}

std::vector<std::string> FactsLines(const BenchResult& result) {
  const BenchFacts& f = result.facts;
  std::vector<std::string> lines{
      fmt::format("{} round{} of {} on {}; web {}; medians, spread: half the range of time; same "
                  "place: a tie within the spread",
                  f.rounds, f.rounds == 1 ? "" : "s", f.list, f.host, f.web),
      fmt::format("fetchbench {}, {}, order seed {}", f.version, f.started_at, f.order_seed)};
  if (std::ranges::any_of(result.rows, &BenchRow::CutShort)) {
    lines.emplace_back(
        "without a place: cut short by DURATION, so that `time` tells nothing; those are sorted by "
        "totalUrls");
  }
  for (std::string& line : CostLines(result.rows)) lines.push_back(std::move(line));
  return lines;
}

std::string RuntimeOf(const BenchRow& row) {
  for (const BenchRound& round : row.rounds) {
    if (!round.summary) continue;
    const RunFacts& facts = round.summary->facts;
    std::string text = RuntimeInWords(facts);
    if (!facts.image_digest.empty()) text += ", image " + facts.image_digest.substr(0, 19);
    return text;
  }
  return "";
}

// What belongs below the table: who ran what, and what is wrong with whom.
std::vector<std::string> Remarks(const BenchResult& result) {
  std::vector<std::string> remarks;
  if (result.facts.partial) remarks.emplace_back("PARTIAL: stopped by the user");
  for (const BenchRow& row : result.rows) {
    const std::string runtime = RuntimeOf(row);
    if (!runtime.empty()) remarks.push_back(fmt::format("{}: {}", row.target.name, runtime));
    for (const std::string& failure : row.Failures()) {
      remarks.push_back(fmt::format("{} FAILED: {}", row.target.name, failure));
    }
    for (const std::string& mark : row.Marks()) {
      remarks.push_back(fmt::format("{} marked: {}", row.target.name, mark));
    }
  }
  return remarks;
}

std::string ForCsv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

json::object SpreadsJson(const BenchRow& row) {
  json::object figures;
  const std::vector<Spread> spreads = row.Spreads();
  for (size_t i = 0; i < spreads.size(); ++i) {
    figures[BenchFigures()[i].name] = json::object{
        {"median", spreads[i].median}, {"min", spreads[i].min}, {"max", spreads[i].max}};
  }
  return figures;
}

json::array RoundsJson(const BenchRow& row) {
  json::array rounds;
  for (const BenchRound& round : row.rounds) {
    json::object object{{"round", round.round}, {"folder", round.folder}};
    if (!round.failure.empty()) object["failure"] = round.failure;
    if (round.summary) object["summary"] = json::parse(RenderJson(*round.summary));
    rounds.push_back(std::move(object));
  }
  return rounds;
}

}  // namespace

std::string BenchText(const BenchResult& result, const TextStyle& style) {
  std::string text;
  for (const std::string& line : Tables(Header(), AllRows(result), style)) text += line + "\n";
  std::vector<std::string> below = FactsLines(result);
  for (std::string& remark : Remarks(result)) below.push_back(std::move(remark));
  for (const std::string& remark : below) {
    for (const std::string& line : WrapWords(Harmless(remark, !style.utf8), style.width)) {
      text += line + "\n";
    }
  }
  return text;
}

std::string BenchMarkdown(const BenchResult& result) {
  const Texts header = Header();
  std::string text = "|";
  std::string rule = "|";
  for (size_t i = 0; i < header.size(); ++i) {
    text += fmt::format(" {} |", header[i]);
    rule += IsLeft(i) ? "---|" : "---:|";
  }
  text += "\n" + rule + "\n";
  for (const Texts& row : AllRows(result)) {
    text += "|";
    for (const std::string& cell : row) text += fmt::format(" {} |", MarkdownText(cell));
    text += "\n";
  }
  text += "\n";
  for (const std::string& line : FactsLines(result)) text += "- " + MarkdownText(line) + "\n";
  text += "\n";
  for (const std::string& remark : Remarks(result)) text += "- " + MarkdownText(remark) + "\n";
  return text;
}

std::string BenchCsv(const BenchResult& result) {
  std::string text = "place,target,language,method,concurrency,rounds,failed,marks";
  for (const BenchFigure& figure : BenchFigures()) {
    text += fmt::format(",{0},{0} min,{0} max", figure.name);
  }
  text += "\n";
  const std::vector<size_t> places = result.Places();
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const BenchRow& row = result.rows[i];
    std::string marks;
    for (const std::string& mark : row.Marks()) {
      marks += (marks.empty() ? "" : " ") + mark.substr(0, mark.find_first_of(" :"));
    }
    text +=
        fmt::format("{},{},{},{},{},{},{},{}", places[i], row.target.name,
                    ForCsv(row.target.language), ForCsv(row.target.method), row.target.concurrency,
                    row.Counted(), row.rounds.size() - row.Counted(), marks);
    for (const Spread& spread : row.Spreads()) {
      // A target without a counted round has no figures, which is not the same as zeros.
      text += row.Counted() == 0 ? ",,,"
                                 : fmt::format(",{},{},{}", spread.median, spread.min, spread.max);
    }
    text += "\n";
  }
  return text;
}

std::string BenchJson(const BenchResult& result) {
  const BenchFacts& f = result.facts;
  json::array rows;
  const std::vector<size_t> places = result.Places();
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const BenchRow& row = result.rows[i];
    json::array marks;
    for (const std::string& mark : row.Marks()) marks.emplace_back(mark);
    json::object object{{"place", places[i]},
                        {"target", row.target.name},
                        {"language", row.target.language},
                        {"method", row.target.method},
                        {"concurrency", row.target.concurrency},
                        {"marks", marks},
                        {"rounds", RoundsJson(row)}};
    if (row.Counted() > 0) object["figures"] = SpreadsJson(row);
    rows.push_back(std::move(object));
  }
  return json::serialize(json::object{{"version", f.version},
                                      {"started_at", f.started_at},
                                      {"host", f.host},
                                      {"web", f.web},
                                      {"list", f.list},
                                      {"rounds", f.rounds},
                                      {"order_seed", f.order_seed},
                                      {"partial", f.partial},
                                      {"targets", rows}}) +
         "\n";
}

}  // namespace fetchbench::coordinator
