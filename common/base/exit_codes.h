/* exit_codes.h - what a program's end says to who started it, beside stdlib.h's codes. */
#ifndef ROPEWAY_COMMON_BASE_EXIT_CODES_H
#define ROPEWAY_COMMON_BASE_EXIT_CODES_H

/* These options or this model will not do: starting again would not help. */
#define EXIT_OPTIONS 2

#endif
