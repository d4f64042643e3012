/* report.h - a run's results, for people or for programs. */
#ifndef ROPEWAY_TOOLS_BENCH_REPORT_H
#define ROPEWAY_TOOLS_BENCH_REPORT_H

#include "tools/bench/results.h"
#include <stdio.h>

void report_text(struct results *results, const struct bench_options *options, FILE *out);

/* One JSON document. What was not measured, and a percentile that lies among failures, is
 * null. */
void report_json(struct results *results, const struct bench_options *options, FILE *out);

#endif
