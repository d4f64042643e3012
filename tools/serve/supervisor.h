/* supervisor.h - the lives of scheduler, worker and frontend, from start to end.
 *
 *            all started                 /health is 200
 *   STARTING ----------> (the same phase) -------------> SERVING
 *      |  a signal, or a child that ends by itself           | a signal, or exit code 2
 *      v                                                     v
 *   STOPPING: frontend (drains) -> worker -> scheduler, each by SIGTERM, after its bound
 * by SIGKILL; then the segments, sockets and the port's file go.
 *
 * Restart: a child that dies while SERVING, or while a child that stops earlier still
 *          drains, is started again. Before the first readiness nothing is: what failed
 *          once would fail again, and its own sentence says why.
 * Wait:    one thread sleeps in ppoll on a signalfd; SIGCHLD tells of deaths.
 * Lock:    <runtime dir>/serve.lock, held for as long as this process lives.
 */
#ifndef ROPEWAY_TOOLS_SERVE_SUPERVISOR_H
#define ROPEWAY_TOOLS_SERVE_SUPERVISOR_H

#include "common/os/config.h"

/* Blocks the signals that supervise() waits for. Before anything else, so that one which
 * comes early is kept and not lost. */
void supervisor_block_signals(void);

/* Runs the service until a signal; returns the process's exit code. */
int supervise(const struct config *config);

#endif
