#include "scheduler/core/flight.h"

void flight_record(const struct control *control, struct flight_event event)
{
    struct control_header *header = control->header;
    uint64_t cursor = atomic_load_explicit(&header->flight_cursor, memory_order_relaxed);
    control->flight[cursor & (header->geometry.flight_events_count - 1)] = event;
    atomic_store_explicit(&header->flight_cursor, cursor + 1, memory_order_release);
}
