/* step_file.h - reads a step file: a JSON object a line, a request each.
 *
 * Keys:    request_id, prompt; max_new_tokens, arrival_step with the step scheduler's
 *          defaults; eos_after, the number of the token that is EOS. Others are refused
 *          by name, as a misspelt one would be ignored else. Empty lines are passed over.
 * Checks:  of the form only; what values mean is step_requests_validate's.
 */
#ifndef ROPEWAY_TOOLS_SIM_STEP_FILE_H
#define ROPEWAY_TOOLS_SIM_STEP_FILE_H

#include "scheduler/core/step_request.h"
#include <jansson.h>
#include <stdio.h>

#define STEP_LINE_BYTES_MAX       (64 * 1024)
#define STEP_FILE_BYTES_MAX       (64 * 1024 * 1024)
#define STEP_REQUEST_ID_BYTES_MAX 256
#define STEP_EOS_NEVER            0

struct step_file {
    struct step_request *requests; /* spans borrow from objects */
    int64_t *eos_after;            /* STEP_EOS_NEVER: not given */
    uint32_t *lines;               /* where each request stands, from 1 */
    json_t **objects;
    uint32_t count;
};

/* A sentence about a line names its number. file needs step_file_fini after an error,
 * too. */
enum status step_file_read(struct step_file *file, FILE *in, struct fault *fault);
void step_file_fini(struct step_file *file);

#endif
