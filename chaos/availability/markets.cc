// Written by tools/measure-markets from public traces; do not edit. Times are seconds, shares
// millionths.
//
// aws_p3_2021, gcp_a100_2021: traces/p3-trace.csv and traces/gcloud/a100x1-east1b.txt of the public
//   repository uclasystem/bamboo (MIT; Bamboo, NSDI 2023).
// gce_2019: lifetimes of preemptible VMs of the public repository kadupitiya/goog-preemption-data
//   (Apache-2.0; arXiv 1911.05160, HPDC 2020); VMs that their owner stopped are right-censored.
// llm_cluster_2024: fault_trace.json of the public repository stepfun-ai/InfiniteHBD-Trace
//   (Apache-2.0; arXiv 2502.03885, SIGCOMM 2025).
#include <array>

#include "chaos/availability/market.h"

namespace elastic::chaos {
namespace {

using Point = math::QuantileTable::Point;

// p3: between two batches of removals
constexpr std::array<Point, 16> kP3Between{{{0, 60},
                                            {50000, 60},
                                            {100000, 120},
                                            {450000, 120},
                                            {500000, 240},
                                            {550000, 240},
                                            {600000, 360},
                                            {650000, 480},
                                            {700000, 660},
                                            {750000, 840},
                                            {800000, 960},
                                            {850000, 1050},
                                            {900000, 1230},
                                            {950000, 1920},
                                            {990000, 2610},
                                            {1000000, 3180}}};

// p3: machines taken, of those alive
constexpr std::array<Point, 21> kP3Share{
    {{0, 31250},       {100000, 31250},  {150000, 34482},  {200000, 38461},  {250000, 41666},
     {300000, 45454},  {350000, 52631},  {400000, 62500},  {450000, 64516},  {500000, 71428},
     {550000, 81666},  {600000, 93750},  {650000, 101724}, {700000, 113247}, {750000, 115384},
     {800000, 135944}, {850000, 155870}, {900000, 163978}, {950000, 187500}, {990000, 196774},
     {1000000, 200000}}};

// p3: whom it takes: 0 the youngest, 1,000,000 the oldest
constexpr std::array<Point, 23> kP3Age{
    {{0, 0},           {10000, 0},        {50000, 46920},    {100000, 83333},  {150000, 145502},
     {200000, 181302}, {250000, 214285},  {300000, 245370},  {350000, 284161}, {400000, 346153},
     {450000, 385855}, {500000, 434782},  {550000, 500000},  {600000, 580322}, {650000, 645833},
     {700000, 724137}, {750000, 754032},  {800000, 840000},  {850000, 875000}, {900000, 904797},
     {950000, 956521}, {990000, 1000000}, {1000000, 1000000}}};

// p3: from a removal until a machine takes its place
constexpr std::array<Point, 23> kP3Away{
    {{0, 60},        {10000, 60},    {50000, 180},   {100000, 360},  {150000, 540},  {200000, 600},
     {250000, 660},  {300000, 660},  {350000, 720},  {400000, 720},  {450000, 780},  {500000, 840},
     {550000, 960},  {600000, 1020}, {650000, 1200}, {700000, 1380}, {750000, 1560}, {800000, 1980},
     {850000, 2460}, {900000, 3120}, {950000, 3600}, {990000, 5280}, {1000000, 5340}}};

// a100: between two drops
constexpr std::array<Point, 36> kA100Between{
    {{13888, 196},   {41666, 199},   {69444, 222},   {97222, 229},   {125000, 229},
     {152777, 260},  {180555, 305},  {208333, 333},  {236111, 401},  {263888, 449},
     {291666, 592},  {319444, 685},  {347222, 693},  {375000, 780},  {402777, 896},
     {430555, 901},  {458333, 990},  {486111, 1016}, {513888, 1075}, {541666, 1118},
     {569444, 1225}, {597222, 1265}, {625000, 1325}, {652777, 1581}, {680555, 1742},
     {708333, 1750}, {736111, 2110}, {763888, 2220}, {791666, 2236}, {819444, 2442},
     {847222, 3295}, {875000, 3743}, {902777, 3878}, {930555, 7737}, {958333, 9979},
     {986111, 19328}}};

// a100: machines taken, of those alive
constexpr std::array<Point, 32> kA100Share{
    {{13888, 15625},   {125000, 15625},  {152777, 15873},  {180555, 15873},  {208333, 16129},
     {236111, 16949},  {263888, 17241},  {319444, 17241},  {347222, 17857},  {375000, 18181},
     {402777, 31250},  {430555, 31746},  {458333, 33898},  {486111, 34482},  {513888, 34482},
     {541666, 46875},  {569444, 48387},  {597222, 62500},  {625000, 68965},  {652777, 74074},
     {680555, 78125},  {708333, 78125},  {736111, 79365},  {763888, 86206},  {791666, 93750},
     {819444, 93750},  {847222, 101694}, {875000, 126984}, {902777, 126984}, {930555, 156250},
     {958333, 240000}, {986111, 679245}}};

// a100: from a drop until a rise makes up for it
constexpr std::array<Point, 23> kA100Away{
    {{0, 224},        {10000, 224},    {50000, 237},    {100000, 382},  {150000, 436},
     {200000, 456},   {250000, 578},   {300000, 578},   {350000, 813},  {400000, 883},
     {450000, 1090},  {500000, 1475},  {550000, 1896},  {600000, 1896}, {650000, 2067},
     {700000, 2408},  {750000, 2605},  {800000, 2996},  {850000, 5501}, {900000, 7427},
     {950000, 18854}, {990000, 26755}, {1000000, 26755}}};

// gce: life time (Kaplan-Meier); most reach the limit of 24 hours or die soon
constexpr std::array<Point, 23> kGceLife{
    {{0, 56},         {10000, 111},    {50000, 420},    {100000, 1664},  {150000, 3611},
     {200000, 7886},  {250000, 13085}, {300000, 36886}, {350000, 61325}, {400000, 86474},
     {450000, 86535}, {500000, 86633}, {550000, 86726}, {600000, 86848}, {650000, 87073},
     {700000, 87155}, {750000, 87252}, {800000, 87524}, {850000, 87894}, {900000, 88466},
     {950000, 88949}, {990000, 89321}, {1000000, 89398}}};

// llm: servers that fail at the same instant
constexpr std::array<Point, 5> kLlmSizes{
    {{0, 1}, {900000, 1}, {950000, 2}, {990000, 3}, {1000000, 8}}};

// llm: repair time
constexpr std::array<Point, 23> kLlmAway{{{0, 0},
                                          {10000, 0},
                                          {50000, 708},
                                          {100000, 812},
                                          {150000, 1282},
                                          {200000, 3853},
                                          {250000, 7387},
                                          {300000, 11776},
                                          {350000, 21349},
                                          {400000, 41731},
                                          {450000, 59339},
                                          {500000, 73405},
                                          {550000, 99100},
                                          {600000, 134887},
                                          {650000, 178735},
                                          {700000, 214569},
                                          {750000, 273265},
                                          {800000, 396035},
                                          {850000, 719910},
                                          {900000, 1123848},
                                          {950000, 2665474},
                                          {990000, 6658130},
                                          {1000000, 11315255}}};

}  // namespace

std::vector<MarketData> market_data() {
  return {
      {.name = "aws_p3_2021",
       .words = "AWS p3 spot machines, 2021: 167 removals in 11.4 h, "
                "median life 59 min",
       .process = MarketProcess::kBatches,
       .between = kP3Between,
       .sizes = kP3Share,
       .age = kP3Age,
       .away = kP3Away},
      {.name = "gcp_a100_2021",
       .words = "GCP preemptible a100 machines, 2021: 36 drops, the biggest of "
                "36 machines",
       .process = MarketProcess::kBatches,
       .between = kA100Between,
       .sizes = kA100Share,
       .away = kA100Away},
      {.name = "gce_2019",
       .words = "GCE preemptible machines, 2019: many die young, the others reach 24 hours; "
                "replaced as in aws_p3_2021",
       .process = MarketProcess::kLives,
       .life = kGceLife,
       .away = kP3Away},
      {.name = "llm_cluster_2024",
       .words = "an LLM training cluster, 2024: 584 faults of 400 servers in 349 days",
       .process = MarketProcess::kFaults,
       .machine_seconds = 22799134,
       .sizes = kLlmSizes,
       .away = kLlmAway},
  };
}

}  // namespace elastic::chaos
