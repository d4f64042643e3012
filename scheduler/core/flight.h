/* flight.h - the recorder of scheduling decisions: a ring in the control segment.
 *
 * Layer:   scheduler/core (pure). The cursor is stored, with release order, after the
 *          event; a reader that finds it more than the ring's size ahead has lost events.
 *
 *   kind                    record   a                       b
 *   FLIGHT_SUBMIT           its      prompt tokens           max_tokens
 *   FLIGHT_ADMIT            its      blocks reserved         first chunk's tokens
 *   FLIGHT_BLOCKED          head's   enum block_reason       waiting requests
 *   FLIGHT_STEP             -        rows                    sequences
 *   FLIGHT_COMMIT           -        worker                  attempt
 *   FLIGHT_FINISH           its      enum finish_reason      generated tokens
 *   FLIGHT_WORKER_ATTACHED  -        worker                  pid
 *   FLIGHT_WORKER_DIED      -        worker                  pid
 *   FLIGHT_RERUN            -        sequences of the lost   worker that lost it
 */
#ifndef ROPEWAY_SCHEDULER_CORE_FLIGHT_H
#define ROPEWAY_SCHEDULER_CORE_FLIGHT_H

#include "proto/kv_layout.h"

void flight_record(const struct control *control, struct flight_event event);

#endif
