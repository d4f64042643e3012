/* serve.h - `ropeway serve`: the service as one command. */
#ifndef ROPEWAY_TOOLS_SERVE_H
#define ROPEWAY_TOOLS_SERVE_H

/* Exit code: 0 after a signal, 2 when options or the model are wrong, else 1. */
int serve_main(int argc, char **argv);

#endif
