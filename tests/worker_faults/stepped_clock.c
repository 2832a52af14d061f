/* Preloaded into a process: its clock on the wall can be stepped, for all of its libraries; no other clock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static _Atomic long offset_seconds;

void step(double seconds) { offset_seconds += (long)seconds; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += offset_seconds;
    return result;
}

time_t time(time_t *given) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (given) *given = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *given, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    given->tv_sec = now.tv_sec;
    given->tv_usec = now.tv_nsec / 1000;
    return 0;
}
