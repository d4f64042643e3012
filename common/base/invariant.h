/* invariant.h - what must be true of the program itself, checked in every build.
 *
 * The world may fail and clients may be wrong: those are status codes. A broken invariant
 * means that the program is wrong, and going on would corrupt what others rely on, so the
 * process names the place and aborts; its peers survive and it is started again.
 */
#ifndef ROPEWAY_COMMON_BASE_INVARIANT_H
#define ROPEWAY_COMMON_BASE_INVARIANT_H

_Noreturn void invariant_failed(const char *condition, const char *file, int line);

#define INVARIANT(condition)                                                             \
    ((condition) ? (void)0 : invariant_failed(#condition, __FILE__, __LINE__))

#endif
