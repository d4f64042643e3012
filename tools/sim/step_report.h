/* step_report.h - a run of the step engine, for people or for programs.
 *
 * Names:   the course's, in the summary and in a step's record (docs/COURSE.md).
 */
#ifndef ROPEWAY_TOOLS_SIM_STEP_REPORT_H
#define ROPEWAY_TOOLS_SIM_STEP_REPORT_H

#include "scheduler/core/step_summary.h"
#include <stdio.h>

/* A run that has ended; all borrowed. */
struct step_report {
    const struct step_scheduler *scheduler;
    const struct step_result *results; /* [requests] */
    double total_seconds;
};

/* The step table, then the summary. */
void step_report_text(const struct step_report *report, FILE *out);

/* One JSON document {"requests": [...], "steps": [...], "summary": {...}}. False when
 * memory is out; then nothing was written. */
bool step_report_json(const struct step_report *report, FILE *out);

#endif
