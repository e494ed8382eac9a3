"""The system calls that a child can make, and those that the zygote needs, by number on x86-64 and ARM64.

A call that is missing from these tables is refused, so that calls of future Linux versions are refused too. `seccomp`
makes a filter of the tables. Test a change with every kind of bot: `tests/referee/children/sandbox/test_runtimes.py`.
"""

# fmt: off
Numbers = tuple[int | None, int | None]
"""Numbers of a call on x86-64 and on ARM64; None if it does not exist there."""

ALLOWED: dict[str, Numbers] = {
    # Files, which Landlock limits.
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70), "preadv2": (327, 286), "pwritev2": (328, 287),
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "creat": (85, None), "close": (3, 57),
    "lseek": (8, 62), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "pipe": (22, None), "pipe2": (293, 59), "stat": (4, None), "fstat": (5, 80), "lstat": (6, None),
    "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78), "getdents": (78, None),
    "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "mkdir": (83, None),
    "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None), "linkat": (265, 37), "symlink": (88, None),
    "symlinkat": (266, 36), "truncate": (76, 45), "ftruncate": (77, 46), "fsync": (74, 82), "fdatasync": (75, 83),
    "sync_file_range": (277, 84), "umask": (95, 166), "statfs": (137, 43), "fstatfs": (138, 44),
    "sendfile": (40, 71), "copy_file_range": (326, 285), "splice": (275, 76), "tee": (276, 77),
    # Waiting.
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441), "eventfd": (284, None), "eventfd2": (290, 19), "futex": (202, 98),
    "futex_waitv": (449, 449), "futex_wake": (454, 454), "futex_wait": (455, 455), "futex_requeue": (456, 456),
    # Connected pairs of sockets, and TCP for a child that may use it.
    "connect": (42, 203), "getsockname": (51, 204), "getpeername": (52, 205), "getsockopt": (55, 209),
    "recvfrom": (45, 207), "recvmsg": (47, 212), "recvmmsg": (299, 243), "shutdown": (48, 210),
    # The child's memory. mincore reports only files that the child can write.
    "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "brk": (12, 214),
    "mlock": (149, 228), "mlock2": (325, 284), "munlock": (150, 229), "mincore": (27, 232), "msync": (26, 227),
    "membarrier": (324, 283), "get_mempolicy": (239, 236), "map_shadow_stack": (453, None), "mseal": (462, 462),
    # The child's signals.
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigsuspend": (130, 133),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132), "pause": (34, None),
    "signalfd": (282, None), "signalfd4": (289, 74), "alarm": (37, None), "getitimer": (36, 102),
    "setitimer": (38, 103), "restart_syscall": (219, 128),
    # Time.
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
    "timer_settime": (223, 110), "timer_gettime": (224, 108), "timer_getoverrun": (225, 109),
    "timer_delete": (226, 111), "timerfd_create": (283, 85), "timerfd_settime": (286, 86),
    "timerfd_gettime": (287, 87),
    # The process itself.
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getresuid": (118, 148), "getresgid": (120, 150),
    "getgroups": (115, 158), "getpgrp": (111, None), "setpgid": (109, 154), "setsid": (112, 157), "exit": (60, 93),
    "exit_group": (231, 94), "wait4": (61, 260), "waitid": (247, 95), "set_tid_address": (218, 96),
    "set_robust_list": (273, 99), "rseq": (334, 293), "arch_prctl": (158, None), "getrandom": (318, 278),
    "uname": (63, 160), "sysinfo": (99, 179), "getrusage": (98, 165), "getrlimit": (97, 163),
    "setrlimit": (160, 164), "getcpu": (309, 168), "sched_yield": (24, 124), "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
}
"""Calls that every child can make without a condition."""

STARTING: dict[str, Numbers] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
}
"""Calls that start processes and programs."""

SIGNALLING: dict[str, Numbers] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
"""Calls that signal the process of their first argument."""

DESCRIBING: dict[str, Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88),
}
"""Calls that change the mode, owner and times of files, which Landlock does not cover."""

OF_A_PROCESS: dict[str, Numbers] = {
    "getpgid": (121, 155), "getsid": (124, 156),
}
"""Calls that return properties of the process of their first argument."""

OF_A_THREAD: dict[str, Numbers] = {
    "sched_getscheduler": (145, 120), "sched_getparam": (143, 121),
}
"""Calls with which libraries ask for the priority of own threads, by number. The answer is the usual priority, 0."""

PASSING: dict[str, Numbers] = {
    "sendmsg": (46, 211), "sendmmsg": (307, 269),
}
"""Calls that can pass open files to another socket, where no limit counts them."""

ADVISING: dict[str, Numbers] = {
    "fadvise64": (221, 223), "readahead": (187, 213),
}
"""Advice about the cache of files, which all children share. It is ignored."""

UNSUPPORTED: dict[str, Numbers] = {
    "fallocate": (285, 47), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "setxattrat": (463, 463), "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10),
    "getxattrat": (464, 464), "listxattr": (194, 11), "llistxattr": (195, 12), "flistxattr": (196, 13),
    "listxattrat": (465, 465), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
}
"""Calls that fail as on a file system without them. Programs can handle this."""

OF_A_CLOCK: dict[str, Numbers] = {
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "timer_create": (222, 107),
}
"""Calls whose first argument is a clock."""

ZYGOTE: dict[str, Numbers] = {
    "setpriority": (141, 140), "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159),
    "capget": (125, 90), "capset": (126, 91), "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446), "seccomp": (317, 277), "mount": (165, 40), "umount2": (166, 39),
    "getpriority": (140, 141),
}
"""Calls that only the zygote needs, before it or its child gives them up."""

# Calls with a condition of their own.
CLONE: Numbers = (56, 220)
CLONE3: Numbers = (435, 435)
CLOSE_RANGE: Numbers = (436, 436)
SOCKET: Numbers = (41, 198)
SOCKETPAIR: Numbers = (53, 199)
PRCTL: Numbers = (157, 167)
PRLIMIT64: Numbers = (302, 261)
SCHED_GETAFFINITY: Numbers = (204, 123)
SCHED_SETAFFINITY: Numbers = (203, 122)
IOCTL: Numbers = (16, 29)
FCNTL: Numbers = (72, 25)
FLOCK: Numbers = (73, 32)
MMAP: Numbers = (9, 222)
MADVISE: Numbers = (28, 233)
SETSOCKOPT: Numbers = (54, 208)
SENDTO: Numbers = (44, 206)
SENDING: tuple[tuple[Numbers, int], ...] = ((SENDTO, 3), (PASSING["sendmsg"], 2), (PASSING["sendmmsg"], 3))
"""`sendto`, `sendmsg` and `sendmmsg`, each with the index of the argument that has the flags."""
