// SPDX-License-Identifier: BSD-2-Clause
// OpenMetrics and protobuf pages of small prepared snapshots, byte by byte or field by field, and pages made on demand.
#include "daemon/exposition/exposition.h"
#include "daemon/exposition/text_writer.h"
#include "tests/support/page.h"
#include "tests/support/protobuf_page.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat {
namespace {

using enum ExpositionFormat;
using testing::Pair;

constexpr std::int64_t kBoot = 1'700'000'000'250'000'000;  // ns
constexpr std::int64_t kNow = 1'700'000'100'000'000'000;   // ns
constexpr RenderOptions kEverything{.tier = Tier::kFull, .per_cpu = true, .size_classes = true};

class FormatsTest : public testing::Test {
 protected:
  /// One poll of a type with a counter of the kernel, one of ours, and per-CPU figures.
  void poll_sample() {
    StagingBuilder staging(CpuFieldMask(CpuField::kNumFrees), 2);
    staging.type("q\"b\\n\\x0ar\xC3\xA9", {{Field::kNumFrees, 5}, {Field::kCountLimit, 7}}, {{CpuField::kNumFrees, {1, 4}}});
    types_.times = {.boot_ns = kBoot, .now_ns = kNow};
    types_.poll(staging);
  }
  [[nodiscard]] std::string page(ExpositionFormat format, const RenderOptions& options = kEverything) {
    Buffer out;
    series_ = render(format, options, types_.snapshot, out);
    return std::string(out.view());
  }

  TrackedList types_{{.limit_of = {}, .wants_cpus = [](const MemoryType&) { return true; }}};
  std::size_t series_ = 0;
};

TEST_F(FormatsTest, AnEmptySnapshotIsAnEmptyPageInEveryFormat) {
  types_.poll(StagingBuilder());
  for (const ExpositionFormat format : {kText, kOpenMetrics, kProtobuf}) {
    EXPECT_EQ(page(format), "");
    EXPECT_EQ(series_, 0U);
  }
}

TEST_F(FormatsTest, OpenMetricsNamesFamiliesOfCountersWithoutTotalAndHasUnits) {
  types_.poll(StagingBuilder().type("b", {{Field::kBytes, 4096}, {Field::kMemFreed, 7}}));
  EXPECT_EQ(page(kOpenMetrics, {.tier = Tier::kFull}),
            "# HELP memstat_type_bytes Bytes in use now, as of the last poll.\n"
            "# TYPE memstat_type_bytes gauge\n"
            "# UNIT memstat_type_bytes bytes\n"
            "memstat_type_bytes{allocator=\"uma\",type=\"b\"} 4096\n"
            "# HELP memstat_type_freed_bytes Bytes freed since boot, rounded up to size classes, or, for slab caches, since "
            "memstatd attached to their events.\n"
            "# TYPE memstat_type_freed_bytes counter\n"
            "# UNIT memstat_type_freed_bytes bytes\n"
            "memstat_type_freed_bytes_total{allocator=\"uma\",type=\"b\"} 7\n"
            "# HELP memstat_type_peak_bytes Maximum bytes in use at any poll since memstatd first saw the type.\n"
            "# TYPE memstat_type_peak_bytes gauge\n"
            "# UNIT memstat_type_peak_bytes bytes\n"
            "memstat_type_peak_bytes{allocator=\"uma\",type=\"b\"} 4096\n"
            "# HELP memstat_type_resets Counter resets of the type since memstatd started: drops too large to come from "
            "unlocked reading.\n"
            "# TYPE memstat_type_resets counter\n"
            "memstat_type_resets_total{allocator=\"uma\",type=\"b\"} 0\n");
  EXPECT_EQ(series_, 4U);
}

TEST_F(FormatsTest, OpenMetricsHasBeginningsOnlyOnRequest) {
  poll_sample();
  const std::string labels = "{allocator=\"uma\",type=\"q\\\"b\\\\n\\\\x0ar\xC3\xA9\"";
  EXPECT_THAT(page(kOpenMetrics), Not(HasSubstr("_created")));
  RenderOptions options = kEverything;
  const std::size_t without = series_;
  options.created = true;
  const std::string all = page(kOpenMetrics, options);
  EXPECT_EQ(series_, without);
  EXPECT_EQ(page(kText, options), page(kText)) << "the text format has none";
  EXPECT_THAT(
      all, HasSubstr("memstat_type_frees_total" + labels + "} 5\nmemstat_type_frees_created" + labels + "} 1700000000.25\n"))
      << "the kernel's counters began at boot";
  EXPECT_THAT(all, HasSubstr("memstat_type_limit_hits_total" + labels + "} 0\nmemstat_type_limit_hits_created" + labels +
                             "} 1700000100\n"))
      << "ours at first sight";
  EXPECT_THAT(all, HasSubstr("memstat_cpu_frees_total" + labels + ",cpu=\"1\"} 4\nmemstat_cpu_frees_created" + labels +
                             ",cpu=\"1\"} 1700000000.25\n"));
  EXPECT_THAT(all, Not(HasSubstr("limit_objects_created"))) << "a gauge has no beginning";
}

TEST_F(FormatsTest, AnUnknownBeginningIsOmitted) {
  types_.poll(StagingBuilder().type("a", {{Field::kNumFrees, 5}}));
  RenderOptions options = kEverything;
  options.created = true;
  EXPECT_THAT(page(kOpenMetrics, options), Not(HasSubstr("_created")));
  for (const ProtobufFamily& family : read_protobuf_page(page(kProtobuf))) {
    for (const ProtobufMetric& metric : family.metrics) EXPECT_FALSE(metric.created_ns) << family.name;
  }
}

TEST_F(FormatsTest, FirstSightIsKeptWhenLaterSnapshotsAreMade) {
  poll_sample();
  types_.builder.build(types_.list, types_.live, types_.live_cpu, types_.generation, {}, types_.snapshot,
                       {.boot_ns = kBoot, .now_ns = kNow + 10'000'000'000});
  ASSERT_EQ(types_.snapshot.rows().size(), 1U);
  EXPECT_EQ(types_.snapshot.rows()[0].first_seen_ns, kNow);
}

TEST_F(FormatsTest, ProtobufHasTheCataloguesTextUnescapedLabelsAndStartTimes) {
  poll_sample();
  const std::vector<ProtobufFamily> families = read_protobuf_page(page(kProtobuf));
  std::vector<std::string> names;
  std::size_t series = 0;
  for (const ProtobufFamily& family : families) {
    names.push_back(family.name);
    for (const ProtobufMetric& metric : family.metrics) {
      ++series;
      ASSERT_GE(metric.labels.size(), 2U);
      EXPECT_THAT(metric.labels[0], Pair("allocator", "uma"));
      EXPECT_THAT(metric.labels[1], Pair("type", "q\"b\\n\\x0ar\xC3\xA9"));
      EXPECT_EQ(metric.gauge.has_value(), family.type == 1);
      EXPECT_EQ(metric.counter.has_value(), family.type == 0);
    }
  }
  EXPECT_EQ(series, series_);
  EXPECT_THAT(names, ElementsAre("memstat_type_limit_objects", "memstat_type_limit_hits_total", "memstat_type_frees_total",
                                 "memstat_type_resets_total", "memstat_cpu_frees_total"));
  EXPECT_EQ(families[0].metrics[0].gauge, 7);
  EXPECT_FALSE(families[0].metrics[0].created_ns);
  EXPECT_EQ(families[1].metrics[0].created_ns, kNow);
  EXPECT_EQ(families[2].help,
            "Objects freed since boot, or, for slab caches counted by events, since memstatd attached to these.");
  EXPECT_EQ(families[2].metrics[0].counter, 5);
  EXPECT_EQ(families[2].metrics[0].created_ns, kBoot);
  ASSERT_EQ(families[4].metrics.size(), 2U);
  EXPECT_THAT(families[4].metrics[1].labels[2], Pair("cpu", "1"));
  EXPECT_EQ(families[4].metrics[1].counter, 4);
}

TEST_F(FormatsTest, FiguresOfTheMachineAndOfNodesAndDetailsAreTheSameInProtobuf) {
  const std::string odd = "q\"b\\n\\x0ar\xC3\xA9";
  StagingBuilder staging;
  staging.nodes(NodeFieldMask(NodeField::kTotalObjects), 2);
  staging.type(odd, {{Field::kBytes, 1}}).node(NodeField::kTotalObjects, {8, 9}).detail(odd);
  staging.statistic(kAccountedBytes, 11, {odd})
      .statistic(kAccountedBytes, 12, {""})
      .statistic(kUnaccountedBytes, static_cast<std::uint64_t>(-5));
  types_.poll(staging);
  std::map<std::string, ProtobufFamily> families;
  for (const ProtobufFamily& family : read_protobuf_page(page(kProtobuf))) families[family.name] = family;
  const auto& parts = families["memstat_accounted_bytes"].metrics;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_THAT(parts[0].labels, ElementsAre(Pair("part", odd)));
  EXPECT_EQ(parts[0].gauge, 11);
  EXPECT_THAT(parts[1].labels, ElementsAre(Pair("part", "")));
  ASSERT_EQ(families["memstat_unaccounted_bytes"].metrics.size(), 1U);
  EXPECT_THAT(families["memstat_unaccounted_bytes"].metrics[0].labels, testing::IsEmpty());
  EXPECT_EQ(families["memstat_unaccounted_bytes"].metrics[0].gauge, -5);
  EXPECT_EQ(families["memstat_unaccounted_bytes"].unit, "bytes");
  const auto& slots = families["memstat_node_capacity_objects"].metrics;
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_THAT(slots[1].labels, ElementsAre(Pair("allocator", "uma"), Pair("type", odd), Pair("node", "1")));
  EXPECT_EQ(slots[1].gauge, 9);
  const auto& details = families["memstat_type_detail"].metrics;
  ASSERT_EQ(details.size(), 1U);
  EXPECT_THAT(details[0].labels, ElementsAre(Pair("allocator", "uma"), Pair("type", odd), Pair("detail", odd)));
  EXPECT_THAT(page(kOpenMetrics), HasSubstr("# UNIT memstat_accounted_bytes bytes\nmemstat_accounted_bytes{part=\"q"));
}

TEST_F(FormatsTest, ProtobufFamiliesOfEverySizeHaveTheirLengthBeforeThem) {
  // The room left for the length is a guess; sizes around each power of 128 make it too small and too large.
  for (const std::size_t types : {1U, 2U, 3U, 30U, 200U, 300U, 400U, 30'000U}) {
    for (const std::size_t name_size : {0U, 1U, 40U, 127U, 128U, 200U}) {
      if (types > 1000 && name_size > 40) continue;
      TrackedList list;
      StagingBuilder staging;
      for (std::size_t i = 0; i < types; ++i) {
        const std::string name = std::string(name_size, '"') + std::to_string(i);
        if (i == 0) {
          staging.type(name, {{Field::kNumFrees, 1}, {Field::kBytes, 3}});
        } else {
          staging.type(name, {{Field::kBytes, i}});
        }
      }
      list.poll(staging);
      Buffer out;
      const std::size_t series = render(kProtobuf, kEverything, list.snapshot, out);
      std::size_t read = 0;
      for (const ProtobufFamily& family : read_protobuf_page(out.view())) read += family.metrics.size();
      ASSERT_EQ(read, series) << types << " types with names of " << name_size;
    }
  }
}

TEST_F(FormatsTest, NumbersBeyondADoublesPrecisionAreTheNearestDouble) {
  types_.poll(StagingBuilder().type("a", {{Field::kNumFrees, ~std::uint64_t{0}}}));
  const auto families = read_protobuf_page(page(kProtobuf));
  EXPECT_EQ(families[0].metrics[0].counter, 0x1p64);
  EXPECT_THAT(page(kOpenMetrics), HasSubstr("} 18446744073709551615\n"));
}

TEST_F(FormatsTest, LabelsOfAnyLengthAreWholeInEveryFormat) {
  StagingBuilder staging;
  for (std::size_t length = 0; length < 150; ++length) staging.type(std::string(length, 'n'), {{Field::kBytes, length}});
  staging.type(std::string(100'000, '\\'), {{Field::kBytes, 7}});
  types_.poll(staging);
  const auto families = read_protobuf_page(page(kProtobuf, {.tier = Tier::kMinimal}));
  ASSERT_EQ(families.size(), 1U);
  ASSERT_EQ(families[0].metrics.size(), 151U);
  for (const ProtobufMetric& metric : families[0].metrics) {
    const std::string& name = metric.labels[1].second;
    if (name.starts_with('\\')) {
      EXPECT_EQ(name, std::string(100'000, '\\'));
    } else {
      EXPECT_EQ(name, std::string(static_cast<std::size_t>(*metric.gauge), 'n'));
    }
  }
  const std::string text = page(kOpenMetrics, {.tier = Tier::kMinimal});
  EXPECT_EQ(value_of(text, "memstat_type_bytes{allocator=\"uma\",type=\"" + std::string(200'000, '\\') + "\"}"), "7");
}

TEST_F(FormatsTest, APageHasTheOptionsOfItsSnapshot) {
  poll_sample();
  prepare_pages(kEverything, types_.snapshot);
  EXPECT_EQ(page_of(types_.snapshot, kProtobuf), page(kProtobuf));
  EXPECT_EQ(page_of(types_.snapshot, kOpenMetrics), page(kOpenMetrics));
  EXPECT_EQ(page_of(types_.snapshot, kText), page(kText));
  types_.poll(StagingBuilder());  // the snapshot is used again
  prepare_pages(kEverything, types_.snapshot);
  EXPECT_EQ(page_of(types_.snapshot, kProtobuf), "");
}

TEST(LazyPage, IsMadeForTheFirstRequestAndAgainAfterAFailure) {
  LazyPage page;
  std::atomic<int> made{0};
  EXPECT_THROW(page.of([](Buffer&) { throw std::runtime_error("no memory"); }), std::runtime_error);
  const auto make = [&](Buffer& out) { out.assign(std::to_string(++made)); };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(page.of(make), "1"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  page.forget();
  EXPECT_EQ(page.of(make), "2");
}

TEST(OwnMetrics, AreWrittenInEveryFormat) {
  prometheus::MetricFamily counter;
  counter.name = "own_seconds_total";
  counter.help = "Help with \"quotes\", \\ and\na line.";
  counter.type = prometheus::MetricType::Counter;
  prometheus::ClientMetric sample;
  sample.label = {{"source", "a\"\\\n"}};
  sample.counter.value = 1.5;
  counter.metric = {sample};
  HistogramFamily family("own_read_seconds", "Read times.", {0.001, 1});
  NativeHistogram& histogram = family.add({{"source", "s"}}, kNow);
  for (const double seconds : {0.0005, 0.5, 0.5, 8.0}) histogram.observe(seconds);
  const OwnMetrics own{.families = {counter, {}}, .histograms = {family.data()}, .created_ns = kBoot};
  Buffer out;
  render_own(kText, {}, own, out);
  EXPECT_EQ(out.view(),
            "# HELP own_seconds_total Help with \"quotes\", \\\\ and\\na line.\n"
            "# TYPE own_seconds_total counter\n"
            "own_seconds_total{source=\"a\\\"\\\\\\n\"} 1.5\n"
            "# HELP own_read_seconds Read times.\n"
            "# TYPE own_read_seconds histogram\n"
            "own_read_seconds_bucket{source=\"s\",le=\"0.001\"} 1\n"
            "own_read_seconds_bucket{source=\"s\",le=\"1\"} 3\n"
            "own_read_seconds_bucket{source=\"s\",le=\"+Inf\"} 4\n"
            "own_read_seconds_sum{source=\"s\"} 9.0005\n"
            "own_read_seconds_count{source=\"s\"} 4\n");
  render_own(kOpenMetrics, {.created = true}, own, out);
  EXPECT_EQ(out.view(),
            "# HELP own_seconds Help with \\\"quotes\\\", \\\\ and\\na line.\n"
            "# TYPE own_seconds counter\n"
            "# UNIT own_seconds seconds\n"
            "own_seconds_total{source=\"a\\\"\\\\\\n\"} 1.5\n"
            "own_seconds_created{source=\"a\\\"\\\\\\n\"} 1700000000.25\n"
            "# HELP own_read_seconds Read times.\n"
            "# TYPE own_read_seconds histogram\n"
            "# UNIT own_read_seconds seconds\n"
            "own_read_seconds_bucket{source=\"s\",le=\"0.001\"} 1\n"
            "own_read_seconds_bucket{source=\"s\",le=\"1.0\"} 3\n"
            "own_read_seconds_bucket{source=\"s\",le=\"+Inf\"} 4\n"
            "own_read_seconds_sum{source=\"s\"} 9.0005\n"
            "own_read_seconds_count{source=\"s\"} 4\n"
            "own_read_seconds_created{source=\"s\"} 1700000100\n");
  render_own(kProtobuf, {}, own, out);
  const auto families = read_protobuf_page(out.view());
  ASSERT_EQ(families.size(), 2U);
  EXPECT_EQ(families[0].name, "own_seconds_total");
  EXPECT_EQ(families[0].help, counter.help);
  EXPECT_EQ(families[0].unit, "seconds");
  EXPECT_EQ(families[0].type, 0U);
  EXPECT_EQ(families[0].metrics[0].counter, 1.5);
  EXPECT_EQ(families[0].metrics[0].created_ns, kBoot);
  EXPECT_THAT(families[0].metrics[0].labels, ElementsAre(Pair("source", "a\"\\\n")));
  EXPECT_EQ(families[1].type, 4U);
  const ProtobufMetric& metric = families[1].metrics[0];
  EXPECT_EQ(metric.created_ns, kNow);
  ASSERT_TRUE(metric.histogram);
  EXPECT_EQ(metric.histogram->sample_count, 4U);
  EXPECT_EQ(metric.histogram->sample_sum, 9.0005);
  EXPECT_THAT(metric.histogram->buckets,
              ElementsAre(Pair(0.001, 1), Pair(1, 3), Pair(std::numeric_limits<double>::infinity(), 4)));
  EXPECT_EQ(metric.histogram->schema, 3);
  EXPECT_EQ(metric.histogram->zero_threshold, NativeHistogram::kZeroThreshold);
  // 0.0005 s is in bucket ceil(8 log2 0.0005) = -87, 0.5 s in -8, 8 s in 24.
  EXPECT_THAT(metric.histogram->spans, ElementsAre(Pair(-87, 1), Pair(78, 1), Pair(31, 1)));
  EXPECT_THAT(metric.histogram->deltas, ElementsAre(1, 1, -1));
}

TEST(Formats, OfWhichClientsAskSoHaveNoMoreParametersThanNegotiationHasRoomFor) {
  for (const ExpositionFormat format : kExpositionFormats) {
    int weights = 0;
    for (const MediaParameter& parameter : descriptor_of(format).media.parameters) weights += parameter.weight;
    EXPECT_LT(weights, 16) << to_string(format) << ": parameters never outweigh the type itself";
  }
}

TEST(Formats, FrameAGaugeJustAsTheyRenderIt) {
  for (const ExpositionFormat format : kExpositionFormats) {
    for (const char* name : {"a_gauge", "a_gauge_seconds"}) {
      for (const std::string& help : {std::string("Help, \"quoted\"."), std::string(200, 'h')}) {
        for (const double value : {0.0, 2.5, -1e300, 987654321.0}) {
          prometheus::MetricFamily family;
          family.name = name;
          family.help = help;
          family.type = prometheus::MetricType::Gauge;
          family.metric.emplace_back().gauge.value = value;
          Buffer rendered;
          render_own(format, {}, {.families = {family}, .histograms = {}, .created_ns = 0}, rendered);
          const GaugeFrame frame = descriptor_of(format).frame_gauge(name, help);
          std::array<char, kMaxGaugeValue> room{};
          const char* const end = descriptor_of(format).write_gauge_value(room.data(), value);
          const std::string text(room.data(), static_cast<std::size_t>(end - room.data()));
          EXPECT_EQ(frame.before + text + frame.after, rendered.view()) << to_string(format) << name << value;
        }
      }
    }
  }
}

/// A histogram of waits by zone in log2 buckets of microseconds: at most 2^-19, 2^-18, 2^-17 s, and above.
class HistogramsTest : public FormatsTest {
 protected:
  static constexpr std::array<double, 3> kBounds{0x1p-19, 0x1p-18, 0x1p-17};
  static constexpr HistogramBuckets kBuckets{.bounds = kBounds, .is_native = true, .schema = 0, .first_index = -19};
  static constexpr HistogramBuckets kClassic{.bounds = kBounds};

  void SetUp() override {
    StagingBuilder staging;
    const std::array<std::uint64_t, 4> normal{5, 0, 2, 1};
    const std::array<std::uint64_t, 4> quoted{0, 0, 0, 0};
    const std::array<std::uint64_t, 2> of_other_buckets{1, 2};
    staging.statistic(metric_named("memstat_oom_kills_total"), 3);
    staging.histogram(metric_named("memstat_page_allocations_total"), {.counts = normal, .sum = 0.5}, {"Normal"});
    staging.histogram(metric_named("memstat_page_allocations_total"), {.counts = normal, .sum = 9}, {"Normal"});
    staging.histogram(metric_named("memstat_page_allocations_total"), {.counts = of_other_buckets, .sum = 1}, {"other"});
    staging.histogram(metric_named("memstat_page_allocations_total"), {.counts = quoted, .sum = 0}, {"q\"z"});
    types_.times = {.boot_ns = kBoot, .now_ns = kNow};
    types_.poll(staging);
  }
  std::string page_with(ExpositionFormat format, const HistogramBuckets& buckets,
                        const RenderOptions& options = kEverything) {
    const std::array catalogue{metric(buckets)};
    Buffer out;
    series_ = render(format, options, types_.snapshot, out, catalogue);
    return std::string(out.view());
  }
  static MetricDescriptor metric(const HistogramBuckets& buckets) {
    return {{.name = "memstat_wait_seconds",
             .kind = MetricKind::kHistogram,
             .tier = Tier::kDefault,
             .help = "Waits.",
             .unit = "seconds"},
            MetricScope::kSystem,
            static_cast<std::uint16_t>(number_of(metric_named("memstat_page_allocations_total"))),
            CountedSince::kBoot,
            &buckets};
  }
};

TEST_F(HistogramsTest, OfASnapshotAreCumulativeInText) {
  EXPECT_EQ(page_with(kText, kBuckets),
            "# HELP memstat_wait_seconds Waits.\n"
            "# TYPE memstat_wait_seconds histogram\n"
            "memstat_wait_seconds_bucket{zone=\"Normal\",le=\"1.9073486328125e-06\"} 5\n"
            "memstat_wait_seconds_bucket{zone=\"Normal\",le=\"3.814697265625e-06\"} 5\n"
            "memstat_wait_seconds_bucket{zone=\"Normal\",le=\"7.62939453125e-06\"} 7\n"
            "memstat_wait_seconds_bucket{zone=\"Normal\",le=\"+Inf\"} 8\n"
            "memstat_wait_seconds_sum{zone=\"Normal\"} 0.5\n"
            "memstat_wait_seconds_count{zone=\"Normal\"} 8\n"
            "memstat_wait_seconds_bucket{zone=\"q\\\"z\",le=\"1.9073486328125e-06\"} 0\n"
            "memstat_wait_seconds_bucket{zone=\"q\\\"z\",le=\"3.814697265625e-06\"} 0\n"
            "memstat_wait_seconds_bucket{zone=\"q\\\"z\",le=\"7.62939453125e-06\"} 0\n"
            "memstat_wait_seconds_bucket{zone=\"q\\\"z\",le=\"+Inf\"} 0\n"
            "memstat_wait_seconds_sum{zone=\"q\\\"z\"} 0\n"
            "memstat_wait_seconds_count{zone=\"q\\\"z\"} 0\n")
      << "the second of the same labels, and the one with other buckets, are left out";
  EXPECT_EQ(series_, 12U);
  EXPECT_EQ(series_per_sample(metric(kBuckets)), 6U);
  EXPECT_EQ(page_with(kText, kClassic), page_with(kText, kBuckets)) << "text has no native histograms";
}

TEST_F(HistogramsTest, OfASnapshotAreNativeInProtobufWhereTheirBucketsAre) {
  for (const HistogramBuckets* buckets : {&kBuckets, &kClassic}) {
    const auto families = read_protobuf_page(page_with(kProtobuf, *buckets));
    ASSERT_EQ(families.size(), 1U);
    EXPECT_EQ(families[0].type, 4U);
    EXPECT_EQ(families[0].unit, "seconds");
    ASSERT_EQ(families[0].metrics.size(), 2U);
    EXPECT_THAT(families[0].metrics[0].labels, ElementsAre(Pair("zone", "Normal")));
    EXPECT_THAT(families[0].metrics[1].labels, ElementsAre(Pair("zone", "q\"z")));
    EXPECT_EQ(families[0].metrics[0].created_ns, kBoot);
    ASSERT_TRUE(families[0].metrics[0].histogram);
    const ProtobufHistogram& histogram = *families[0].metrics[0].histogram;
    EXPECT_EQ(histogram.sample_count, 8U);
    EXPECT_EQ(histogram.sample_sum, 0.5);
    EXPECT_THAT(histogram.buckets, ElementsAre(Pair(0x1p-19, 5), Pair(0x1p-18, 5), Pair(0x1p-17, 7),
                                               Pair(std::numeric_limits<double>::infinity(), 8)));
    if (buckets == &kClassic) {
      EXPECT_FALSE(histogram.schema);
      continue;
    }
    EXPECT_EQ(histogram.schema, 0);
    EXPECT_EQ(histogram.zero_threshold, 0x1p-19);
    EXPECT_EQ(histogram.zero_count, 5U);
    // 2 in the bucket that ends at 2^-17, and 1 above, in the next.
    EXPECT_THAT(histogram.spans, ElementsAre(Pair(-17, 2)));
    EXPECT_THAT(histogram.deltas, ElementsAre(2, -1));
  }
}

}  // namespace
}  // namespace memstat
