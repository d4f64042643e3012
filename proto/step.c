#include "proto/step.h"

#include "common/base/invariant.h"

/* Steps of different workers share no cache line. */
#define STEP_ALIGNMENT 64u

#define LOGPROBS_PER_SEQUENCE (1u + TOP_LOGPROBS_MAX)

/* u32 arrays of a step: so many with an element for each sequence, then the rows'. */
#define ARRAYS_PER_SEQUENCE 8u

uint64_t step_bytes(const struct geometry *geometry)
{
    uint64_t sequences = geometry->step_sequences_max;
    uint64_t bytes = sizeof(struct step) +
                     sequences * ARRAYS_PER_SEQUENCE * sizeof(uint32_t) +
                     (uint64_t)geometry->step_rows_max * sizeof(uint32_t) +
                     sequences * LOGPROBS_PER_SEQUENCE * sizeof(struct logprob);
    return (bytes + STEP_ALIGNMENT - 1) / STEP_ALIGNMENT * STEP_ALIGNMENT;
}

struct step_view step_at(const struct control *control, uint32_t index)
{
    const struct control_header *header = control->header;
    INVARIANT(index < header->geometry.steps_count);
    uint32_t sequences = header->geometry.step_sequences_max;
    struct step_view view;
    view.step = (struct step *)(control->steps + index * header->step_bytes);
    view.sequence_record = (uint32_t *)(view.step + 1);
    view.sequence_use = view.sequence_record + sequences;
    view.sequence_row_first = view.sequence_use + sequences;
    view.sequence_rows_count = view.sequence_row_first + sequences;
    view.sequence_position = view.sequence_rows_count + sequences;
    view.sequence_flags = view.sequence_position + sequences;
    view.result_token = view.sequence_flags + sequences;
    view.result_status = view.result_token + sequences;
    view.row_token = view.result_status + sequences;
    view.result_logprobs =
        (struct logprob *)(view.row_token + header->geometry.step_rows_max);
    return view;
}
