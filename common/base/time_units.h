/* time_units.h - how many of a smaller unit of time a larger one has. */
#ifndef ROPEWAY_COMMON_BASE_TIME_UNITS_H
#define ROPEWAY_COMMON_BASE_TIME_UNITS_H

#include <stdint.h>

#define MS_PER_S  UINT64_C(1000)
#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

#endif
