#include "common/base/invariant.h"

#include <stdio.h>
#include <stdlib.h>

void invariant_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "<0>invariant broken: %s at %s:%d\n", condition, file, line);
    abort();
}
