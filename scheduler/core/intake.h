/* intake.h - whether a request's fields are in order, before anything is taken for it.
 *
 * Layer:   scheduler/core (pure).
 */
#ifndef ROPEWAY_SCHEDULER_CORE_INTAKE_H
#define ROPEWAY_SCHEDULER_CORE_INTAKE_H

#include "proto/message.h"

/* STATUS_INVALID names the field; STATUS_CONTEXT_LENGTH tells the numbers of a request
 * that could not finish even alone: in the context or in the whole pool. */
enum status intake_check(const struct submit_request *submit,
                         const struct geometry *geometry, struct fault *fault);

/* Fills a record's identity, parameters and capacities. Its extent is the caller's to
 * find. */
void intake_describe(struct request_record *record, const struct submit_request *submit,
                     uint32_t block_size);

/* Copies the variable parts into the record's extent. */
void intake_fill(const struct control *control, struct request_record *record,
                 const struct submit_request *submit);

#endif
