/* What a process sees of a disk that the kernel makes read-only while it is in use, for example after an error of the disk: no write
   succeeds, and nothing opens for writing. `mount -o remount,ro` refuses that as long as a database is open ("mount point is busy").
   Load it with LD_PRELOAD; the disk is READ_ONLY_FOLDER, and it is read-only while the file READ_ONLY_FLAG exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int frozen_path(const char *path) {
    const char *folder = getenv("READ_ONLY_FOLDER"), *flag = getenv("READ_ONLY_FLAG");
    return folder && flag && path && strncmp(path, folder, strlen(folder)) == 0 && access(flag, F_OK) == 0;
}

static int frozen(int fd) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return frozen_path(path);
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
#define REFUSE(condition) if (condition) { errno = EROFS; return -1; }

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REFUSE(frozen(fd));
    return NEXT(ssize_t (*)(int, const void *, size_t, off64_t), "pwrite64")(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size) {
    REFUSE(frozen(fd));
    return NEXT(ssize_t (*)(int, const void *, size_t), "write")(fd, data, size);
}
int ftruncate64(int fd, off64_t size) {
    REFUSE(frozen(fd));
    return NEXT(int (*)(int, off64_t), "ftruncate64")(fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
int unlink(const char *path) {
    REFUSE(frozen_path(path));
    return NEXT(int (*)(const char *), "unlink")(path);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    REFUSE((flags & (O_WRONLY | O_RDWR | O_CREAT)) && frozen_path(path));
    return NEXT(int (*)(const char *, int, ...), "open64")(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open64(path, flags, mode);
}
