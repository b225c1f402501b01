#include "coordinator/bench/bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace fetchbench::coordinator {
namespace {

size_t ColumnOf(std::string_view figure) {
  const auto& figures = BenchFigures();
  return static_cast<size_t>(std::ranges::find(figures, figure, &BenchFigure::name) -
                             figures.begin());
}

// Smaller is better: the class of a row (finished, cut short, failed), then what is compared in it.
std::pair<int, double> Rank(const BenchRow& row) {
  if (row.Counted() == 0) return {2, 0};
  const std::vector<Spread> spreads = row.Spreads();
  if (row.CutShort()) return {1, -spreads[ColumnOf("totalUrls")].median};
  return {0, spreads[ColumnOf("time")].median};
}

// Texts in the order they came first, with how often.
std::vector<std::string> Counted(const std::vector<std::string>& texts, size_t rounds) {
  std::vector<std::string> order;
  std::map<std::string, size_t> times;
  for (const std::string& text : texts) {
    if (times[text]++ == 0) order.push_back(text);
  }
  if (rounds > 1) {
    for (std::string& text : order) {
      text = fmt::format("{} (in {} of {} rounds)", text, times[text], rounds);
    }
  }
  return order;
}

}  // namespace

std::vector<Spread> BenchRow::Spreads() const {
  std::vector<Spread> spreads;
  for (const BenchFigure& figure : BenchFigures()) {
    std::vector<double> values;
    for (const BenchRound& round : rounds) {
      if (round.summary) values.push_back(figure.of(*round.summary));
    }
    spreads.push_back(SpreadOf(std::move(values)));
  }
  return spreads;
}

size_t BenchRow::Counted() const {
  return static_cast<size_t>(
      std::ranges::count_if(rounds, [](const BenchRound& r) { return r.summary.has_value(); }));
}

bool BenchRow::CutShort() const {
  return std::ranges::any_of(
      rounds, [](const BenchRound& r) { return r.summary && r.summary->end == RunEnd::kDuration; });
}

std::vector<std::string> BenchRow::Marks() const {
  // By name: their texts hold figures, which differ from round to round.
  std::vector<std::string> names;
  std::map<std::string, std::string> texts;
  for (const BenchRound& round : rounds) {
    if (!round.summary) continue;
    for (const Mark& mark : round.summary->marks) {
      names.push_back(mark.name);
      texts.try_emplace(mark.name, mark.text);
    }
  }
  std::vector<std::string> marks = coordinator::Counted(names, rounds.size());
  for (std::string& mark : marks) {
    mark += ": " + texts[mark.substr(0, mark.find(' '))];
  }
  return marks;
}

std::vector<std::string> BenchRow::Failures() const {
  std::vector<std::string> texts;
  for (const BenchRound& round : rounds) {
    if (!round.failure.empty()) texts.push_back(round.failure);
  }
  return coordinator::Counted(texts, rounds.size());
}

void BenchResult::Sort() {
  std::ranges::stable_sort(rows,
                           [](const BenchRow& a, const BenchRow& b) { return Rank(a) < Rank(b); });
}

std::vector<size_t> BenchResult::Places() const {
  const size_t time = ColumnOf("time");
  std::vector<size_t> places;
  Spread first;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].Counted() == 0 || rows[i].CutShort()) {
      places.push_back(0);
      continue;
    }
    const Spread spread = rows[i].Spreads()[time];
    const bool tie = i > 0 && rows[i].Counted() > 1 && spread.Overlaps(first);
    places.push_back(tie ? places.back() : i + 1);
    if (!tie) first = spread;
  }
  return places;
}

bool BenchResult::AnyFailed() const {
  return std::ranges::any_of(rows, [](const BenchRow& row) { return !row.Failures().empty(); });
}

}  // namespace fetchbench::coordinator
