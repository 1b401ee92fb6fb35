//! Attempts to escape from the sandbox: real processes, on every level that the machine offers.
//!
//! A script exits with 0 if it escaped. Each also runs without a sandbox, where it must succeed: an
//! attempt that cannot succeed shows nothing. Attempts that this machine refuses to every process
//! are reported.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread;

use pi_guard::confine::{ConfinementLevel, Mode, Network};

use crate::env::{TestEnv, confined, levels, not_tested, text};

/// The result of an attempt without a sandbox.
#[derive(Clone, Copy, PartialEq)]
enum Unconfined {
    /// The attempt must succeed.
    Succeeds,
    /// The kernel may refuse the attempt, or the user may lack the rights.
    MayFail,
    /// The attempt would change the machine, so it is not made.
    NotRun,
    /// The attempt must succeed, also with Landlock alone (see `Confined::limits`).
    SucceedsWithLandlock,
}
use Unconfined::{MayFail, NotRun, Succeeds, SucceedsWithLandlock};

const ATTEMPTS: &[(&str, Unconfined, &str)] = &[
    // Files outside of the roots, by their path.
    ("create", Succeeds, "echo x > $OUT/new"),
    ("append", Succeeds, "echo x >> $OUT/file"),
    ("overwrite", Succeeds, "echo x > $OUT/file"),
    ("truncate by name", Succeeds, "$A truncate $OUT/file"),
    ("truncate while reading", Succeeds, "$A open-truncate $OUT/file"),
    ("remove", Succeeds, "rm -f $OUT/file && ! test -e $OUT/file"),
    ("rename", Succeeds, "mv $OUT/file $OUT/moved"),
    ("make a directory", Succeeds, "mkdir $OUT/directory"),
    ("remove a directory", Succeeds, "rmdir $OUT/empty"),
    ("make a link", Succeeds, "ln -s x $OUT/link"),
    ("make a fifo", Succeeds, "mkfifo $OUT/fifo"),
    ("make a socket", Succeeds, "$A bind-socket $OUT/s"),
    ("copy out", Succeeds, "cp src/mine $OUT/copy"),
    ("edit in place", Succeeds, "sed -i s/un// $OUT/file"),
    ("lock", Succeeds, "exec 9>>$OUT/file && flock -n 9"),
    ("mode", SucceedsWithLandlock, "chmod 777 $OUT/file"),
    ("times", SucceedsWithLandlock, "touch -d 2001-01-01 $OUT/file"),
    ("owner", SucceedsWithLandlock, "chown $(id -u) $OUT/file"),
    // Files outside of the roots, by other ways.
    ("dots", Succeeds, "echo x > src/../../outside/new"),
    ("link to a file", Succeeds, "ln -s $OUT/file src/l && echo x > src/l"),
    ("link to a directory", Succeeds, "ln -s $OUT src/d && echo x > src/d/new"),
    ("dangling link", Succeeds, "ln -s $OUT/new src/l && echo x > src/l"),
    ("chain of links", Succeeds, "ln -s $OUT src/a && ln -s a src/b && echo x > src/b/new"),
    ("hard link in", Succeeds, "ln $OUT/file src/hard"),
    ("write through a hard link", Succeeds, "ln $OUT/file src/hard && echo x >> src/hard"),
    ("hard link out", Succeeds, "ln src/mine $OUT/hard"),
    ("move out", Succeeds, "mv src/mine $OUT/mine"),
    ("move in", Succeeds, "mv $OUT/file src/file && ! test -e $OUT/file"),
    ("exchange", Succeeds, "$A exchange src/mine $OUT/file"),
    ("white-out", MayFail, "$A whiteout $OUT/file $OUT/other"),
    ("file without a name", Succeeds, "$A unnamed $OUT $OUT/new"),
    ("file without a name from inside", Succeeds, "$A unnamed src $OUT/new"),
    ("descriptor opened again", Succeeds, "$A link-descriptor $OUT/file"),
    ("path descriptor", Succeeds, "$A path-descriptor $OUT/file"),
    ("file handle", MayFail, "$A handle $OUT/file $OUT"),
    ("working directory", Succeeds, "cd $OUT && echo x > new"),
    (
        "archive with dots",
        Succeeds,
        "cd src && tar -cPf a.tar --transform s,mine,../../outside/new, mine && tar -xPf a.tar && test -e $OUT/new",
    ),
    (
        "race of names",
        Succeeds,
        "mkdir src/r; (for i in $(seq 300); do mv src/r src/q; ln -sfn $OUT src/r; rm src/r; mv src/q src/r; done) & \
         for i in $(seq 2000); do echo x > src/r/raced; test -e $OUT/raced && break; done; wait; ln -sfn $OUT src/l; echo x > src/l/raced; test -e $OUT/raced",
    ),
    ("root of another process", Succeeds, "echo x > /proc/$DECOY/root$OUT/new"),
    ("own root directory", Succeeds, "echo x > /proc/self/root$OUT/new"),
    ("own working directory", Succeeds, "echo x > /proc/self/cwd/../outside/new"),
    ("working directory of another process", Succeeds, "echo x > /proc/$DECOY/cwd/new"),
    ("output of another process", Succeeds, "echo x >> /proc/$DECOY/fd/1"),
    ("attributes", MayFail, "$A set-flags $OUT/file"),
    // Protected paths in the roots.
    ("new hook", Succeeds, "echo x > .git/hooks/pre-commit"),
    ("old hook", Succeeds, "echo x >> .git/hooks/old"),
    ("remove a hook", Succeeds, "rm -f .git/hooks/old && ! test -e .git/hooks/old"),
    ("move a file to the hooks", Succeeds, "mv src/mine .git/hooks/pre-push"),
    ("link in the hooks", Succeeds, "ln -s ../../src/mine .git/hooks/pre-push"),
    ("hard link in the hooks", Succeeds, "ln src/mine .git/hooks/pre-push"),
    ("other hooks", Succeeds, "mv .git/hooks .git/hooks2 && mkdir .git/hooks"),
    ("other repository", Succeeds, "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/x"),
    (
        "exchanged repository",
        Succeeds,
        "mkdir -p src/g/hooks && echo x > src/g/hooks/x && $A exchange src/g .git && test -e .git/hooks/x",
    ),
    ("link for a repository", Succeeds, "mv .git old && ln -s src .git"),
    ("configuration", Succeeds, "echo x >> .git/config"),
    ("configuration by git", Succeeds, "git config core.hooksPath /src"),
    ("configuration by renaming", Succeeds, "echo x > src/c && mv -f src/c .git/config"),
    ("remove the configuration", Succeeds, "rm -f .git/config && ! test -e .git/config"),
    ("hard link to the configuration", Succeeds, "ln .git/config src/c && echo x >> src/c"),
    ("included configuration", Succeeds, "echo x >> lead/included"),
    ("included configuration by renaming", Succeeds, "mv -fT src/mine lead/included"),
    ("included configuration removed", Succeeds, "rm -f lead/included && ! test -e lead/included"),
    ("hooks in another directory", Succeeds, "echo x > lead/hooks/pre-commit"),
    (
        "directory above the hooks, renamed",
        Succeeds,
        "mv lead l && mkdir lead && cp -r l/hooks lead/",
    ),
    ("hooks in another directory, renamed", Succeeds, "mv lead/hooks lead/h && mkdir lead/hooks"),
    ("hooks of a submodule", Succeeds, "echo x > .git/modules/sub/hooks/pre-commit"),
    ("configuration of a submodule", Succeeds, "echo x >> .git/modules/sub/config"),
    ("other submodule", Succeeds, "mv .git/modules/sub .git/modules/s2"),
    ("other submodules", Succeeds, "mv .git/modules .git/m2 && mkdir -p .git/modules/sub/hooks"),
    ("repository of a work tree", Succeeds, "echo $OUT > .git/worktrees/tree/commondir"),
    ("own settings", Succeeds, "echo x > .pi/settings.json"),
    ("own extensions", Succeeds, "mkdir .pi/extensions"),
    ("other settings", Succeeds, "mv .pi old && mkdir .pi && echo x > .pi/x"),
    ("settings by a link", Succeeds, "ln .pi/settings.json src/s && echo x > src/s"),
    ("skills that do not exist", Succeeds, "mkdir -p .agents && echo x > .agents/x"),
    (
        "skills by renaming",
        Succeeds,
        "rmdir .agents 2>/dev/null; mv -T src .agents && test -e .agents/mine",
    ),
    ("skills by a link", Succeeds, "rmdir .agents 2>/dev/null; ln -sT src .agents"),
    ("unmount a protected path", MayFail, "$A unmount $WS/.pi"),
    ("start-up file", Succeeds, "echo x >> $HOMEDIR/.bashrc"),
    ("new start-up file", Succeeds, "echo x > $HOMEDIR/.zshenv"),
    (
        "start-up file by renaming",
        Succeeds,
        "echo x > $HOMEDIR/project/x && mv $HOMEDIR/project/x $HOMEDIR/.profile",
    ),
    ("other start-up file", Succeeds, "mv $HOMEDIR/.bashrc $HOMEDIR/project/b"),
    // Hidden paths.
    ("read what is hidden", Succeeds, "cat $HIDDEN/key | grep planted"),
    ("list what is hidden", Succeeds, "ls $HIDDEN | grep key"),
    ("hidden by a link", Succeeds, "ln -s $HIDDEN src/h && grep planted src/h/key"),
    ("hidden by the own root", Succeeds, "grep planted /proc/self/root$HIDDEN/key"),
    (
        "hidden by the root of another process",
        Succeeds,
        "grep planted /proc/$DECOY/root$HIDDEN/key",
    ),
    ("hidden by a hard link", Succeeds, "ln $HIDDEN/key src/k && grep planted src/k"),
    // Other processes.
    ("signal", Succeeds, "$A kill $DECOY"),
    ("signal to a thread", Succeeds, "$A tgkill $DECOY"),
    ("queued signal", Succeeds, "$A queue $DECOY"),
    ("signal to a descriptor", Succeeds, "$A pidfd-signal $DECOY"),
    ("signal to the parent", Succeeds, "kill -0 $TEST"),
    ("trace", MayFail, "$A ptrace-attach $DECOY"),
    ("seize", MayFail, "$A ptrace-seize $DECOY"),
    ("be traced", Succeeds, "$A ptrace-me"),
    ("read memory", MayFail, "$A vm-read $DECOY $(sed -n 's/-.*//p;q' /proc/$DECOY/maps)"),
    (
        "write memory",
        MayFail,
        "$A vm-write $DECOY $(grep -m1 stack /proc/$DECOY/maps | sed 's/-.*//')",
    ),
    ("memory as a file", MayFail, "$A open-read /proc/$DECOY/mem"),
    ("take a descriptor", MayFail, "$A pidfd-getfd $DECOY"),
    ("compare", MayFail, "$A kcmp $DECOY"),
    (
        "environment of another process",
        Succeeds,
        "tr '\\0' '\\n' < /proc/$DECOY/environ | grep planted",
    ),
    ("descriptors of another process", Succeeds, "ls /proc/$DECOY/fd/1"),
    ("limits of another process", Succeeds, "$A limit $DECOY"),
    (
        "score for the killer of processes without memory",
        Succeeds,
        "echo 5 > /proc/$DECOY/oom_score_adj",
    ),
    ("allow every tracer", NotRun, "$A tracer-of $DECOY"),
    ("advice on memory", MayFail, "$A advise $DECOY"),
    ("signal when a pipe is written to", Succeeds, "$A signal-by-pipe $DECOY"),
    ("priority", SucceedsWithLandlock, "renice -n 19 -p $DECOY"),
    ("processor affinity", SucceedsWithLandlock, "taskset -p 1 $DECOY"),
    ("group of another process", MayFail, "$A group $DECOY"),
    ("kernel stack of another process", MayFail, "cat /proc/$DECOY/stack | grep ."),
    ("mapped files of another process", MayFail, "ls /proc/$DECOY/map_files/ | grep ."),
    ("system call of another process", MayFail, "cat /proc/$DECOY/syscall | grep ."),
    ("core dumps", MayFail, "ulimit -c unlimited && ulimit -c | grep unlimited"),
    ("shared memory of others", Succeeds, "test -e $SHM && echo x >> $SHM"),
    ("remove shared memory of others", Succeeds, "test -e $SHM && rm $SHM"),
    ("queue of messages", MayFail, "ls /dev/mqueue/ | grep ."),
    // Privileges.
    ("set-user-id file", Succeeds, "chmod u+s src/mine"),
    ("set-group-id file", Succeeds, "chmod g+s src/mine"),
    ("set-user-id when installing", Succeeds, "install -m 4755 src/mine src/other"),
    ("new privileges", Succeeds, "grep -q 'NoNewPrivs:.0' /proc/self/status"),
    ("no filter", Succeeds, "grep -q 'Seccomp:.0' /proc/self/status"),
    ("capabilities", MayFail, "! grep -q 'CapEff:.0000000000000000' /proc/self/status"),
    ("change of user", MayFail, "$A set-user"),
    ("set-user-id program", MayFail, "su -s /bin/sh daemon -c true"),
    // Namespaces and mounts.
    ("user namespace", MayFail, "$A unshare 10000000"),
    ("mount namespace", MayFail, "$A unshare 20000"),
    ("user and mount namespace", MayFail, "unshare -Urm true"),
    ("network namespace", MayFail, "$A unshare 40000000"),
    ("process namespace", MayFail, "$A unshare 20000000"),
    ("time namespace", MayFail, "$A unshare 80"),
    ("clone with a namespace", MayFail, "$A clone 10000000"),
    ("clone3 with a namespace", MayFail, "$A clone3 10000000"),
    ("enter a namespace", MayFail, "$A setns /proc/self/ns/uts"),
    ("enter the namespace of another process", MayFail, "$A setns /proc/$DECOY/ns/uts"),
    ("mount", NotRun, "$A mount $WS/src"),
    ("bind", NotRun, "$A bind-mount $WS/src $WS/.git/hooks"),
    ("remount", NotRun, "$A remount $WS/.pi"),
    ("chroot", MayFail, "$A chroot $WS/src"),
    ("clone a tree", MayFail, "$A open-tree /"),
    ("new file system", MayFail, "$A fsopen"),
    ("nested bubblewrap", MayFail, "bwrap --ro-bind / / true"),
    // The kernel.
    ("io_uring", MayFail, "$A io-uring"),
    ("bpf", MayFail, "$A bpf"),
    ("perf", MayFail, "$A perf"),
    ("keys", MayFail, "$A keyctl"),
    ("new key", MayFail, "$A add-key"),
    ("page faults", MayFail, "$A userfault"),
    ("kernel's log", MayFail, "$A kernel-log"),
    ("name of the machine", MayFail, "$A hostname"),
    ("watch all files", MayFail, "$A fanotify"),
    ("ports", MayFail, "$A iopl"),
    ("block device", MayFail, "$A mknod-block src/b"),
    ("character device", MayFail, "$A mknod-char src/c"),
    ("disk", MayFail, "$A open-write /dev/$(ls /sys/block | head -1)"),
    ("kernel messages", MayFail, "$A open-write /dev/kmsg"),
    (
        "kernel settings",
        MayFail,
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
    ),
    ("control groups", MayFail, "mkdir /sys/fs/cgroup/pi-test && rmdir /sys/fs/cgroup/pi-test"),
    ("type on a terminal", MayFail, "$A type-on-terminal"),
    // Networks.
    ("loopback service", Succeeds, "$A tcp $TCP"),
    ("loopback service by the shell", Succeeds, "exec 3<>/dev/tcp/127.0.0.1/$TCP"),
    ("loopback datagram", Succeeds, "$A udp $UDP"),
    ("loopback service of IPv6", MayFail, "$A tcp6 $TCP6"),
    ("question to a name server", MayFail, "$A dns"),
    ("network by netlink", NotRun, "ip link set lo down"),
    ("new network device", NotRun, "ip link add pi-test type dummy"),
    ("route", NotRun, "ip route add 192.0.2.0/24 dev lo"),
    ("diagnosis of sockets", MayFail, "$A socket 16 3 4"),
    ("firewall", MayFail, "$A socket 16 3 12"),
    ("generic netlink", MayFail, "$A socket 16 3 16"),
    ("express data path", MayFail, "$A socket 44 3 0"),
    ("bluetooth", MayFail, "$A socket 31 3 1"),
    ("cluster", MayFail, "$A socket 30 1 0"),
    ("reliable datagrams", MayFail, "$A socket 21 5 0"),
    ("raw socket", MayFail, "$A socket 2 3 1"),
    ("raw socket of IPv6", MayFail, "$A socket 10 3 58"),
    ("packet socket", MayFail, "$A socket 17 3 0"),
    ("socket of a host", MayFail, "$A socket 40 1 0"),
    ("socket of the kernel's ciphers", MayFail, "$A socket 38 5 0"),
    ("socket of kernel events", MayFail, "$A socket 16 2 15"),
    ("socket of the audit", MayFail, "$A socket 16 3 9"),
    ("Unix socket", Succeeds, "$A unix $SOCKET"),
    ("Unix socket by a link", Succeeds, "ln -s $SOCKET src/s && $A unix $WS/src/s"),
    (
        "Unix socket by the directory of another process",
        Succeeds,
        "$A unix /proc/$DECOY/cwd/socket",
    ),
    ("abstract socket", Succeeds, "$A abstract $ABSTRACT"),
    ("datagram from a pair", Succeeds, "$A pair-datagram $LOG 2"),
    ("raw from a pair", Succeeds, "$A pair-datagram $LOG 3"),
    ("docker", MayFail, "$A unix /var/run/docker.sock"),
    ("system bus", MayFail, "$A unix /run/dbus/system_bus_socket"),
    ("display", MayFail, "$A unix /tmp/.X11-unix/X0"),
    // Environment variables.
    ("secret by the name of its variable", Succeeds, "env | grep SOME_API_KEY"),
    ("secret by configuration", Succeeds, "env | grep planted"),
    (
        "environment of the helper",
        Succeeds,
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a planted",
    ),
    ("address of the SSH agent", Succeeds, "test -n \"$SSH_AUTH_SOCK\""),
    ("address of docker", Succeeds, "test -n \"$DOCKER_HOST\""),
];

/// Services outside of the sandbox, and variables with their addresses.
struct Services {
    variables: Vec<(&'static str, String)>,
    // No connection needs to be accepted.
    _sockets: (UnixListener, UnixDatagram, UnixListener),
}

impl Services {
    fn start(env: &TestEnv) -> Self {
        let shared = env.shared_memory();
        std::fs::write(&shared, "planted").unwrap();
        let socket = env.path("outside/socket");
        let log = env.path("outside/log-socket");
        let name = format!("pi-test-{}", env.base.file_name().unwrap().display());
        let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets = (
            UnixListener::bind(&socket).unwrap(),
            UnixDatagram::bind(&log).unwrap(),
            UnixListener::bind_addr(&abstract_address).unwrap(),
        );
        let mut variables = vec![
            ("TEST", std::process::id().to_string()),
            ("SHM", shared.display().to_string()),
            ("SOCKET", socket.display().to_string()),
            ("LOG", log.display().to_string()),
            ("ABSTRACT", name),
        ];
        variables.extend(ports().iter().map(|(name, port)| (*name, port.to_string())));
        Self { variables, _sockets: sockets }
    }
}

/// The ports of servers on the loopback network that answer each byte, started once: a server of
/// each test would need more open files than a process may have.
fn ports() -> &'static [(&'static str, u16)] {
    static PORTS: OnceLock<Vec<(&str, u16)>> = OnceLock::new();
    PORTS.get_or_init(|| {
        let mut ports = Vec::new();
        for (name, host) in [("TCP", "127.0.0.1:0"), ("TCP6", "[::1]:0")] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            ports.push((name, listener.local_addr().unwrap().port()));
            thread::spawn(move || {
                for mut stream in listener.incoming().flatten() {
                    thread::spawn(move || {
                        let _ = stream.read(&mut [0]).and_then(|_| stream.write(b"y"));
                    });
                }
            });
        }
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        ports.push(("UDP", udp.local_addr().unwrap().port()));
        thread::spawn(move || {
            while let Ok((_, from)) = udp.recv_from(&mut [0]) {
                let _ = udp.send_to(b"y", from);
            }
        });
        ports
    })
}

#[test]
fn attempts_succeed_without_a_sandbox() {
    for (name, unconfined, script) in ATTEMPTS {
        if *unconfined == NotRun {
            continue;
        }
        let env = TestEnv::new();
        let services = Services::start(&env);
        let output = env.run_with(None, "ws", script, &services.variables);
        if *unconfined == MayFail {
            if !output.status.success() {
                not_tested(&format!(
                    "{name:?}, which fails without a sandbox: {}",
                    text(&output).trim()
                ));
            }
            continue;
        }
        assert!(output.status.success(), "{name}: {}", text(&output));
    }
}

#[test]
fn attempts_fail_in_the_sandbox() {
    for (level, machine) in levels() {
        let mut tried = 0;
        let mut out = Vec::new();
        for (name, unconfined, script) in ATTEMPTS {
            if *unconfined == SucceedsWithLandlock && level != ConfinementLevel::Bubblewrap {
                continue;
            }
            let mut env = TestEnv::new();
            let services = Services::start(&env);
            let confined = confined(&env.confinement(), &machine);
            let before = env.evidence();
            let output = env.run_with(Some(&confined), "ws", script, &services.variables);
            let said = text(&output);
            assert!(!said.contains("the command was not run"), "{level}, {name}: {said}");
            let intact = before == env.evidence() && env.decoy_lives();
            if output.status.success() || !intact {
                out.push(format!(
                    "{name} (exit {:?}, intact {intact}): {said}",
                    output.status.code()
                ));
            }
            tried += 1;
        }
        assert!(out.is_empty(), "{level}: {} got out:\n{}", out.len(), out.join("\n"));
        assert!(tried >= 60, "only {tried} attempts");
    }
}

#[test]
fn read_only_mode_refuses_every_change() {
    let scripts = [
        "echo x > src/new",
        "echo x >> src/mine",
        "rm -f src/mine && ! test -e src/mine",
        "chmod 777 src/mine",
        "touch -d 2001-01-01 src/mine",
        "mkdir src/new",
        "ln -s x src/new",
        "mv src/mine src/other",
        "$A truncate src/mine",
        "$A open-truncate src/mine",
    ];
    for script in scripts {
        let env = TestEnv::new();
        let output = env.run(None, "ws", script);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let env = TestEnv::new();
            let mut confinement = env.confinement();
            confinement.mode = Mode::ReadOnly;
            let confined = confined(&confinement, &machine);
            let output = env.run(Some(&confined), "ws", script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert_eq!(std::fs::read(env.path("ws/src/mine")).unwrap(), b"mine\n");
            let reads = env.run(Some(&confined), "ws", "cat src/mine | grep mine");
            assert!(reads.status.success(), "{level}: {}", text(&reads));
        }
    }
}

#[test]
fn descriptors_are_not_inherited() {
    let cases = [
        ("exec 7>>$OUT/file; exec \"$@\"", "echo x >&7"),
        ("exec 23>>$OUT/file; exec \"$@\"", "$A inherited-write 23"),
        ("exec 8<$OUT; exec \"$@\"", "$A inherited-directory 8"),
        ("exec 5<$OUT 6<$OUT 150<$OUT; exec \"$@\"", "$A inherited-directory 150"),
    ];
    for (parent, script) in cases {
        let env = TestEnv::new();
        let output = env.run_from(parent, None, "ws", script);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let env = TestEnv::new();
            let confined = confined(&env.confinement(), &machine);
            let evidence = env.evidence();
            let output = env.run_from(parent, Some(&confined), "ws", script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}, {script}: {}", text(&output));
            assert_eq!(evidence, env.evidence(), "{level}, {script}");
        }
    }
}

#[test]
fn services_of_the_machine_are_unreachable_with_the_network_on() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let services = Services::start(&env);
        let mut confinement = env.confinement();
        confinement.network = Network::On;
        let confined = confined(&confinement, &machine);
        let run = |script: &str| env.run_with(Some(&confined), "ws", script, &services.variables);
        for script in ["$A tcp $TCP", "$A udp $UDP", "$A pair"] {
            let output = run(script);
            assert!(output.status.success(), "{level}, {script}: {}", text(&output));
        }
        for script in [
            "$A unix $SOCKET",
            "$A abstract $ABSTRACT",
            "$A pair-datagram $LOG 2",
            "$A socket 2 3 1",
            "$A socket 17 3 0",
        ] {
            let output = run(script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
        }
    }
}

#[test]
fn system_v_shared_memory_is_unreachable() {
    let made = Command::new("ipcmk").args(["-M", "64"]).output();
    let made = made.ok().filter(|made| made.status.success());
    let number = made.and_then(|made| {
        let output = String::from_utf8(made.stdout).unwrap();
        Some(output.rsplit_once(' ')?.1.trim().to_owned())
    });
    let Some(number) = number else {
        not_tested("System V shared memory, which `ipcmk` cannot create");
        return;
    };
    let env = TestEnv::new();
    let variables = [("NUMBER", number.clone())];
    let reached = |output: &Output| output.status.success();
    let plain = reached(&env.run_with(None, "ws", "$A attach $NUMBER", &variables));
    let confined: Vec<_> = levels()
        .iter()
        .map(|(level, machine)| {
            let confined = confined(&env.confinement(), machine);
            (*level, reached(&env.run_with(Some(&confined), "ws", "$A attach $NUMBER", &variables)))
        })
        .collect();
    Command::new("ipcrm").args(["-m", &number]).status().unwrap();
    assert!(plain);
    assert!(confined.iter().all(|(_, reached)| !reached), "{confined:?}");
}

#[test]
fn the_git_file_of_a_work_tree_is_protected() {
    let scripts = [
        "echo gitdir: src > .git",
        "rm -f .git && ! test -e .git",
        "mv -fT src/mine .git",
        "mv .git old && mkdir .git",
        "$A exchange src/mine .git",
        "ln -f src/mine .git",
    ];
    let env = || {
        let env = TestEnv::new();
        std::fs::remove_dir_all(env.path("ws/.git")).unwrap();
        std::fs::write(env.path("ws/.git"), "gitdir: elsewhere\n").unwrap();
        env
    };
    for script in scripts {
        let output = env().run(None, "ws", script);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let env = env();
            let confined = confined(&env.confinement(), &machine);
            let output = env.run(Some(&confined), "ws", script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            let kept = std::fs::read(env.path("ws/.git")).unwrap();
            assert_eq!(kept, b"gitdir: elsewhere\n", "{level}, {script}");
        }
    }
}
