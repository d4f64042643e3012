/* loop.h - the scheduler's one thread.
 *
 *   turn:  the dead looked for and the old forgotten (each 100 ms) -> messages, a bounded
 *          number -> done steps settled, next ones posted -> held polls answered
 *          -> heartbeat -> sleep on the scheduler's bell
 *
 * The bell is rung by workers whose step is done, by messages that came in, and by the
 * signal that ends the loop. It is read before the turn begins, so that what rings it
 * during the turn ends the sleep at once.
 */
#ifndef ROPEWAY_SCHEDULER_LOOP_H
#define ROPEWAY_SCHEDULER_LOOP_H

#include "scheduler/service.h"
#include <signal.h>

/* Turns until *stop is set (and the bell rung). */
void loop_run(struct service *service, const volatile sig_atomic_t *stop);

#endif
