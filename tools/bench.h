/* bench.h - `ropeway bench URL`: loads a server and measures what its clients would see.
 *
 * Closed loop: --concurrency users each send a request, read its stream to the end and
 *          send the next. So the load follows the server, and a server that stalls is
 *          asked less: latencies tell of this load, not of one that goes on regardless.
 * Tokens:  counted by the server's usage, never by chunks.
 * Success: a stream of at least one token that came to its [DONE]. All else is a failure
 *          of a named class, and no part of the throughput. Nothing is tried again.
 */
#ifndef ROPEWAY_TOOLS_BENCH_H
#define ROPEWAY_TOOLS_BENCH_H

/* Exit code: 0 when every request succeeded, 2 when options are wrong, else 1. */
int bench_main(int argc, char **argv);

#endif
