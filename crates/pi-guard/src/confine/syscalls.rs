//! The system calls that a confined command cannot make.
//!
//! The list names what is denied and not what is allowed, because programs of developers use nearly
//! everything, and files are protected by other means. The denied calls reach other processes,
//! internals of the kernel, or new namespaces with new privileges. Calls of other architectures
//! (32-bit programs) end the program; those of x32 fail as unsupported.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{self, Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    sock_filter,
};

use super::{ConfinementLevel, Mode, Network};

/// Not in the crate `libc` for musl on aarch64.
#[cfg(target_arch = "x86_64")]
const SYS_KEXEC_FILE_LOAD: libc::c_long = 320;
#[cfg(target_arch = "aarch64")]
const SYS_KEXEC_FILE_LOAD: libc::c_long = 294;

/// Calls that only programs of the system need.
const DENIED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Another way to make every system call.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_fanotify_init,
    // Keys, which all processes of a user share.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    SYS_KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Shared memory and queues, which all processes of a user share without a namespace for them.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Changes of metadata of files, which Landlock does not control.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

// Numbers that are the same on all architectures and that `libc` does not define everywhere yet.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// All kinds of namespaces (`CLONE_NEW*`), except for that of time, which only `unshare` creates.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
const CLONE_NEWTIME: i32 = 0x80;

/// Requests of `ioctl` that insert input into a terminal or change attributes of files.
const REQUESTS: [u64; 4] = [0x5412, 0x541C, 0x4008_6602, 0x401C_5820];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Failure = seccompiler::BackendError;

/// Returns the filters for a command.
pub(super) fn filters(
    level: ConfinementLevel,
    mode: &Mode,
    network: &Network,
) -> Result<Vec<BpfProgram>, Failure> {
    let mut rules = Rules::new();
    let mut denied = DENIED.to_vec();
    if level != ConfinementLevel::Bubblewrap {
        denied.extend(SHARED);
        if *mode == Mode::ReadOnly {
            denied.extend(METADATA);
        }
        if *network == Network::Off {
            denied.push(libc::SYS_socket);
        }
    }
    namespaces(&mut rules)?;
    sockets(&mut rules)?;
    set_id(&mut rules)?;
    for request in REQUESTS {
        when(&mut rules, libc::SYS_ioctl, &[(1, Eq, request)])?;
    }
    // Limits could end another process.
    when(&mut rules, libc::SYS_prlimit64, &[(0, Ne, 0)])?;
    compile_all(rules, &denied)
}

/// Returns the filters for the bridge, which needs only Unix sockets and starts no programs.
pub(super) fn filters_of_the_bridge() -> Result<Vec<BpfProgram>, Failure> {
    let mut rules = Rules::new();
    namespaces(&mut rules)?;
    when(&mut rules, libc::SYS_socket, &[(0, Ne, libc::AF_UNIX as u64)])?;
    when(&mut rules, libc::SYS_socket, &[(1, MaskedEq(0xF), libc::SOCK_DGRAM as u64)])?;
    let others = [libc::SYS_execve, libc::SYS_execveat, libc::SYS_socketpair, libc::SYS_bind];
    compile_all(rules, &[DENIED, SHARED, METADATA, &others].concat())
}

/// Returns the filters for the rules, and for calls that are always denied.
fn compile_all(mut rules: Rules, denied: &[i64]) -> Result<Vec<BpfProgram>, Failure> {
    // A call without rules is always denied.
    for call in denied {
        rules.insert(*call, Vec::new());
    }
    // Filters cannot read the arguments of these in memory; programs then use `clone` and `openat`.
    let unknown = Rules::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())]);
    let mut filters = vec![compile(rules, libc::EPERM)?, compile(unknown, libc::ENOSYS)?];
    filters.extend(no_x32());
    Ok(filters)
}

/// Returns a filter that denies the calls of x32, which have other numbers, as unsupported.
/// Otherwise every rule would be needed twice, and long filters take long to install.
fn no_x32() -> Option<BpfProgram> {
    const X32: u32 = 0x4000_0000;
    const LOAD: u16 = 0x20;
    const AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let denied = ERRNO | libc::ENOSYS.cast_unsigned();
    // The number of the call is the first word of the data of a filter.
    let program = vec![
        step(LOAD, 0, 0),
        step(AT_LEAST, 1, X32),
        step(RETURN, 0, ALLOW),
        step(RETURN, 0, denied),
    ];
    cfg!(target_arch = "x86_64").then_some(program)
}

fn namespaces(rules: &mut Rules) -> Result<(), Failure> {
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        when(rules, libc::SYS_clone, &[(0, MaskedEq(flag), flag)])?;
        when(rules, libc::SYS_unshare, &[(0, MaskedEq(flag), flag)])?;
    }
    let time = u64::from(CLONE_NEWTIME.cast_unsigned());
    when(rules, libc::SYS_unshare, &[(0, MaskedEq(time), time)])
}

/// Allows Internet sockets, and netlink sockets for information about the network. The other end of
/// a Unix socket cannot be told from the call, so none are allowed; a datagram pair could send to
/// other sockets by their name.
fn sockets(rules: &mut Rules) -> Result<(), Failure> {
    const UNIX: u64 = libc::AF_UNIX as u64;
    const NETLINK: u64 = libc::AF_NETLINK as u64;
    const KIND: SeccompCmpOp = MaskedEq(0xF);
    const DATAGRAM: u64 = libc::SOCK_DGRAM as u64;
    const RAW: u64 = libc::SOCK_RAW as u64;
    let internet = [(0, Ne, libc::AF_INET as u64), (0, Ne, libc::AF_INET6 as u64)];
    when(rules, libc::SYS_socket, &[internet[0].clone(), internet[1].clone(), (0, Ne, NETLINK)])?;
    when(rules, libc::SYS_socket, &[(0, Ne, NETLINK), (1, KIND, RAW)])?;
    when(rules, libc::SYS_socket, &[(0, Eq, NETLINK), (2, Ne, libc::NETLINK_ROUTE as u64)])?;
    when(rules, libc::SYS_socketpair, &[(0, Ne, UNIX)])?;
    when(rules, libc::SYS_socketpair, &[(1, KIND, DATAGRAM)])?;
    when(rules, libc::SYS_socketpair, &[(1, KIND, RAW)])
}

/// Denies programs that other users would run with the privileges of this user.
fn set_id(rules: &mut Rules) -> Result<(), Failure> {
    let changes = [
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_mknodat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, 1),
    ];
    // The mode of a new file; a call that creates none may have anything in its place.
    let opens = [
        (libc::SYS_openat, 2, 3),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1, 2),
    ];
    const UNNAMED: u64 = 0o20_000_000;
    for bit in [0o4000, 0o2000] {
        for (call, argument) in changes {
            when(rules, call, &[(argument, MaskedEq(bit), bit)])?;
        }
        for (call, flags, mode) in opens {
            for creates in [libc::O_CREAT as u64, UNNAMED] {
                let creates = (flags, MaskedEq(creates), creates);
                when(rules, call, &[creates, (mode, MaskedEq(bit), bit)])?;
            }
        }
    }
    Ok(())
}

/// Denies `call` if all conditions (argument, comparison, value) hold. All compared arguments are
/// 32-bit values, whose upper half the kernel ignores.
fn when(rules: &mut Rules, call: i64, all: &[(u8, SeccompCmpOp, u64)]) -> Result<(), Failure> {
    let condition = |(argument, compare, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*argument, Dword, compare.clone(), *value)
    };
    let rule = SeccompRule::new(all.iter().map(condition).collect::<Result<_, _>>()?)?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}

fn compile(rules: Rules, error: i32) -> Result<BpfProgram, Failure> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let denied = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, denied, arch)?.try_into()
}
