/* leftovers.h - what must not outlive the service. */
#ifndef ROPEWAY_TOOLS_SERVE_LEFTOVERS_H
#define ROPEWAY_TOOLS_SERVE_LEFTOVERS_H

#include "common/os/config.h"

/* After all children have ended: removes both segments and the runtime directory's
 * sockets and port file, or nothing where another scheduler lives that owns them. Lock
 * files stay: whoever removed one would let two processes hold the same lock. */
void leftovers_remove(const struct config *config);

#endif
