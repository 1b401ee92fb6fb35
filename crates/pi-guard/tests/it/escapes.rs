//! Attempts to get out of a confinement: real processes, every level the machine offers.
//!
//! A script exits with 0 if it got out. Each also runs without confinement, where it must
//! succeed: an attempt that cannot succeed shows nothing. What the machine itself does not let
//! anybody do is named.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Command, Output};
use std::thread;

use pi_guard::confine::{ConfinementLevel, Mode, Network};

use crate::bed::{Bed, confined, levels, text};

/// How an attempt runs.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// It must succeed without confinement.
    Sure,
    /// Without confinement, kernel or user may not be able to.
    Perhaps,
    /// Without confinement it would change the machine.
    Never,
    /// Like `Sure`, but Landlock does not see it (it is named in `limits`).
    View,
}
use Kind::{Never, Perhaps, Sure, View};

const ATTEMPTS: &[(&str, Kind, &str)] = &[
    // Outside, plainly.
    ("create", Sure, "echo x > $OUT/new"),
    ("append", Sure, "echo x >> $OUT/file"),
    ("overwrite", Sure, "echo x > $OUT/file"),
    ("truncate by name", Sure, "$A truncate $OUT/file"),
    ("truncate while reading", Sure, "$A open-truncate $OUT/file"),
    ("remove", Sure, "rm -f $OUT/file && ! test -e $OUT/file"),
    ("rename", Sure, "mv $OUT/file $OUT/moved"),
    ("make a directory", Sure, "mkdir $OUT/directory"),
    ("remove a directory", Sure, "rmdir $OUT/empty"),
    ("make a link", Sure, "ln -s x $OUT/link"),
    ("make a fifo", Sure, "mkfifo $OUT/fifo"),
    ("make a socket", Sure, "$A bind-socket $OUT/s"),
    ("copy out", Sure, "cp src/mine $OUT/copy"),
    ("edit in place", Sure, "sed -i s/un// $OUT/file"),
    ("a database's lock", Sure, "exec 9>>$OUT/file && flock -n 9"),
    ("mode", View, "chmod 777 $OUT/file"),
    ("times", View, "touch -d 2001-01-01 $OUT/file"),
    ("owner", View, "chown $(id -u) $OUT/file"),
    // Outside, by detours.
    ("dots", Sure, "echo x > src/../../outside/new"),
    ("link to a file", Sure, "ln -s $OUT/file src/l && echo x > src/l"),
    ("link to a directory", Sure, "ln -s $OUT src/d && echo x > src/d/new"),
    ("dangling link", Sure, "ln -s $OUT/new src/l && echo x > src/l"),
    ("chain of links", Sure, "ln -s $OUT src/a && ln -s a src/b && echo x > src/b/new"),
    ("hard link in", Sure, "ln $OUT/file src/hard"),
    ("write through a hard link", Sure, "ln $OUT/file src/hard && echo x >> src/hard"),
    ("hard link out", Sure, "ln src/mine $OUT/hard"),
    ("move out", Sure, "mv src/mine $OUT/mine"),
    ("move in", Sure, "mv $OUT/file src/file && ! test -e $OUT/file"),
    ("exchange", Sure, "$A exchange src/mine $OUT/file"),
    ("white-out", Perhaps, "$A whiteout $OUT/file $OUT/other"),
    ("file without a name", Sure, "$A unnamed $OUT $OUT/new"),
    ("file without a name from inside", Sure, "$A unnamed src $OUT/new"),
    ("descriptor opened again", Sure, "$A link-descriptor $OUT/file"),
    ("path descriptor", Sure, "$A path-descriptor $OUT/file"),
    ("file handle", Perhaps, "$A handle $OUT/file $OUT"),
    ("working directory", Sure, "cd $OUT && echo x > new"),
    (
        "archive with dots",
        Sure,
        "cd src && tar -cPf a.tar --transform s,mine,../../outside/new, mine && tar -xPf a.tar && test -e $OUT/new",
    ),
    (
        "race of names",
        Sure,
        "mkdir src/r; (for i in $(seq 300); do mv src/r src/q; ln -sfn $OUT src/r; rm src/r; mv src/q src/r; done) & \
         for i in $(seq 2000); do echo x > src/r/raced; test -e $OUT/raced && break; done; wait; ln -sfn $OUT src/l; echo x > src/l/raced; test -e $OUT/raced",
    ),
    ("another's root", Sure, "echo x > /proc/$DECOY/root$OUT/new"),
    ("own root", Sure, "echo x > /proc/self/root$OUT/new"),
    ("own directory", Sure, "echo x > /proc/self/cwd/../outside/new"),
    ("another's directory", Sure, "echo x > /proc/$DECOY/cwd/new"),
    ("another's output", Sure, "echo x >> /proc/$DECOY/fd/1"),
    ("attributes", Perhaps, "$A set-flags $OUT/file"),
    // Protected, inside.
    ("new hook", Sure, "echo x > .git/hooks/pre-commit"),
    ("old hook", Sure, "echo x >> .git/hooks/old"),
    ("remove a hook", Sure, "rm -f .git/hooks/old && ! test -e .git/hooks/old"),
    ("move a file to the hooks", Sure, "mv src/mine .git/hooks/pre-push"),
    ("link in the hooks", Sure, "ln -s ../../src/mine .git/hooks/pre-push"),
    ("hard link in the hooks", Sure, "ln src/mine .git/hooks/pre-push"),
    ("other hooks", Sure, "mv .git/hooks .git/hooks2 && mkdir .git/hooks"),
    ("other repository", Sure, "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/x"),
    (
        "exchanged repository",
        Sure,
        "mkdir -p src/g/hooks && echo x > src/g/hooks/x && $A exchange src/g .git && test -e .git/hooks/x",
    ),
    ("link for a repository", Sure, "mv .git old && ln -s src .git"),
    ("configuration", Sure, "echo x >> .git/config"),
    ("configuration by git", Sure, "git config core.hooksPath /src"),
    ("configuration by renaming", Sure, "echo x > src/c && mv -f src/c .git/config"),
    ("remove the configuration", Sure, "rm -f .git/config && ! test -e .git/config"),
    ("hard link to the configuration", Sure, "ln .git/config src/c && echo x >> src/c"),
    ("included configuration", Sure, "echo x >> lead/included"),
    ("included configuration by renaming", Sure, "mv -fT src/mine lead/included"),
    ("included configuration removed", Sure, "rm -f lead/included && ! test -e lead/included"),
    ("hooks elsewhere", Sure, "echo x > lead/hooks/pre-commit"),
    ("the way to them, renamed", Sure, "mv lead l && mkdir lead && cp -r l/hooks lead/"),
    ("hooks elsewhere, renamed", Sure, "mv lead/hooks lead/h && mkdir lead/hooks"),
    ("hooks of a submodule", Sure, "echo x > .git/modules/sub/hooks/pre-commit"),
    ("configuration of a submodule", Sure, "echo x >> .git/modules/sub/config"),
    ("other submodule", Sure, "mv .git/modules/sub .git/modules/s2"),
    ("other submodules", Sure, "mv .git/modules .git/m2 && mkdir -p .git/modules/sub/hooks"),
    ("repository of a work tree", Sure, "echo $OUT > .git/worktrees/tree/commondir"),
    ("own settings", Sure, "echo x > .pi/settings.json"),
    ("own extensions", Sure, "mkdir .pi/extensions"),
    ("other settings", Sure, "mv .pi old && mkdir .pi && echo x > .pi/x"),
    ("settings by a link", Sure, "ln .pi/settings.json src/s && echo x > src/s"),
    ("skills that were not there", Sure, "mkdir -p .agents && echo x > .agents/x"),
    (
        "skills by renaming",
        Sure,
        "rmdir .agents 2>/dev/null; mv -T src .agents && test -e .agents/mine",
    ),
    ("skills by a link", Sure, "rmdir .agents 2>/dev/null; ln -sT src .agents"),
    ("unmount a protected path", Perhaps, "$A unmount $WS/.pi"),
    ("start-up file", Sure, "echo x >> $HOMEDIR/.bashrc"),
    ("new start-up file", Sure, "echo x > $HOMEDIR/.zshenv"),
    (
        "start-up file by renaming",
        Sure,
        "echo x > $HOMEDIR/project/x && mv $HOMEDIR/project/x $HOMEDIR/.profile",
    ),
    ("other start-up file", Sure, "mv $HOMEDIR/.bashrc $HOMEDIR/project/b"),
    // Hidden.
    ("read what is hidden", Sure, "cat $HIDDEN/key | grep planted"),
    ("list what is hidden", Sure, "ls $HIDDEN | grep key"),
    ("hidden by a link", Sure, "ln -s $HIDDEN src/h && grep planted src/h/key"),
    ("hidden by a detour", Sure, "grep planted /proc/self/root$HIDDEN/key"),
    ("hidden by another's root", Sure, "grep planted /proc/$DECOY/root$HIDDEN/key"),
    ("hidden by a hard link", Sure, "ln $HIDDEN/key src/k && grep planted src/k"),
    // Other processes.
    ("signal", Sure, "$A kill $DECOY"),
    ("signal to a thread", Sure, "$A tgkill $DECOY"),
    ("queued signal", Sure, "$A queue $DECOY"),
    ("signal to a descriptor", Sure, "$A pidfd-signal $DECOY"),
    ("signal to the parent", Sure, "kill -0 $TEST"),
    ("trace", Perhaps, "$A ptrace-attach $DECOY"),
    ("seize", Perhaps, "$A ptrace-seize $DECOY"),
    ("be traced", Sure, "$A ptrace-me"),
    ("read memory", Perhaps, "$A vm-read $DECOY $(sed -n 's/-.*//p;q' /proc/$DECOY/maps)"),
    (
        "write memory",
        Perhaps,
        "$A vm-write $DECOY $(grep -m1 stack /proc/$DECOY/maps | sed 's/-.*//')",
    ),
    ("memory as a file", Perhaps, "$A open-read /proc/$DECOY/mem"),
    ("take a descriptor", Perhaps, "$A pidfd-getfd $DECOY"),
    ("compare", Perhaps, "$A kcmp $DECOY"),
    ("environment of another", Sure, "tr '\\0' '\\n' < /proc/$DECOY/environ | grep planted"),
    ("descriptors of another", Sure, "ls /proc/$DECOY/fd/1"),
    ("limits of another", Sure, "$A limit $DECOY"),
    ("priority of death", Sure, "echo 5 > /proc/$DECOY/oom_score_adj"),
    ("be traced by anybody", Never, "$A tracer-of $DECOY"),
    ("advice on memory", Perhaps, "$A advise $DECOY"),
    ("signal when a pipe is written to", Sure, "$A signal-by-pipe $DECOY"),
    ("priority", View, "renice -n 1 -p $DECOY"),
    ("processors", View, "taskset -p 1 $DECOY"),
    ("group of another", Perhaps, "$A group $DECOY"),
    ("kernel's stack of another", Perhaps, "cat /proc/$DECOY/stack | grep ."),
    ("map files of another", Perhaps, "ls /proc/$DECOY/map_files/ | grep ."),
    ("calls of another", Perhaps, "cat /proc/$DECOY/syscall | grep ."),
    ("core dumps", Perhaps, "ulimit -c unlimited && ulimit -c | grep unlimited"),
    ("shared memory of others", Sure, "test -e $SHM && echo x >> $SHM"),
    ("remove shared memory of others", Sure, "test -e $SHM && rm $SHM"),
    ("queue of messages", Perhaps, "ls /dev/mqueue/ | grep ."),
    // Rights.
    ("set-user-id file", Sure, "chmod u+s src/mine"),
    ("set-group-id file", Sure, "chmod g+s src/mine"),
    ("set-user-id when installing", Sure, "install -m 4755 src/mine src/other"),
    ("new privileges", Sure, "grep -q 'NoNewPrivs:.0' /proc/self/status"),
    ("no filter", Sure, "grep -q 'Seccomp:.0' /proc/self/status"),
    ("capabilities", Perhaps, "! grep -q 'CapEff:.0000000000000000' /proc/self/status"),
    ("other user", Perhaps, "$A set-user"),
    ("set-user-id program", Perhaps, "su -s /bin/sh nobody -c true"),
    // Views of one's own.
    ("user namespace", Perhaps, "$A unshare 10000000"),
    ("mount namespace", Perhaps, "$A unshare 20000"),
    ("user and mount namespace", Perhaps, "unshare -Urm true"),
    ("network namespace", Perhaps, "$A unshare 40000000"),
    ("process namespace", Perhaps, "$A unshare 20000000"),
    ("time namespace", Perhaps, "$A unshare 80"),
    ("clone with a namespace", Perhaps, "$A clone 10000000"),
    ("clone3 with a namespace", Perhaps, "$A clone3 10000000"),
    ("enter a namespace", Perhaps, "$A setns /proc/self/ns/uts"),
    ("enter another's namespace", Perhaps, "$A setns /proc/$DECOY/ns/uts"),
    ("mount", Never, "$A mount $WS/src"),
    ("bind", Never, "$A bind-mount $WS/src $WS/.git/hooks"),
    ("remount", Never, "$A remount $WS/.pi"),
    ("chroot", Perhaps, "$A chroot $WS/src"),
    ("clone a tree", Perhaps, "$A open-tree /"),
    ("new file system", Perhaps, "$A fsopen"),
    ("bubblewrap in it", Perhaps, "bwrap --ro-bind / / true"),
    // The kernel.
    ("io_uring", Perhaps, "$A io-uring"),
    ("bpf", Perhaps, "$A bpf"),
    ("perf", Perhaps, "$A perf"),
    ("keys", Perhaps, "$A keyctl"),
    ("new key", Perhaps, "$A add-key"),
    ("page faults", Perhaps, "$A userfault"),
    ("kernel's log", Perhaps, "$A kernel-log"),
    ("name of the machine", Perhaps, "$A hostname"),
    ("watch all files", Perhaps, "$A fanotify"),
    ("ports", Perhaps, "$A iopl"),
    ("block device", Perhaps, "$A mknod-block src/b"),
    ("character device", Perhaps, "$A mknod-char src/c"),
    ("disk", Perhaps, "$A open-write /dev/$(ls /sys/block | head -1)"),
    ("kernel messages", Perhaps, "$A open-write /dev/kmsg"),
    (
        "kernel settings",
        Perhaps,
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
    ),
    ("control groups", Perhaps, "mkdir /sys/fs/cgroup/pi-test && rmdir /sys/fs/cgroup/pi-test"),
    ("type on a terminal", Perhaps, "$A type-on-terminal"),
    // Networks.
    ("loopback service", Sure, "$A tcp $TCP"),
    ("loopback service by the shell", Sure, "exec 3<>/dev/tcp/127.0.0.1/$TCP"),
    ("loopback datagram", Sure, "$A udp $UDP"),
    ("loopback service of IPv6", Perhaps, "$A tcp6 $TCP6"),
    ("question to a name server", Perhaps, "$A dns"),
    ("network by netlink", Never, "ip link set lo down"),
    ("new network device", Never, "ip link add pi-test type dummy"),
    ("route", Never, "ip route add 192.0.2.0/24 dev lo"),
    ("diagnosis of sockets", Perhaps, "$A socket 16 3 4"),
    ("firewall", Perhaps, "$A socket 16 3 12"),
    ("generic netlink", Perhaps, "$A socket 16 3 16"),
    ("express data path", Perhaps, "$A socket 44 3 0"),
    ("bluetooth", Perhaps, "$A socket 31 3 1"),
    ("cluster", Perhaps, "$A socket 30 1 0"),
    ("reliable datagrams", Perhaps, "$A socket 21 5 0"),
    ("raw socket", Perhaps, "$A socket 2 3 1"),
    ("raw socket of IPv6", Perhaps, "$A socket 10 3 58"),
    ("packet socket", Perhaps, "$A socket 17 3 0"),
    ("socket of a host", Perhaps, "$A socket 40 1 0"),
    ("socket of the kernel's ciphers", Perhaps, "$A socket 38 5 0"),
    ("socket of kernel events", Perhaps, "$A socket 16 2 15"),
    ("socket of the audit", Perhaps, "$A socket 16 3 9"),
    ("Unix socket", Sure, "$A unix $SOCKET"),
    ("Unix socket by a link", Sure, "ln -s $SOCKET src/s && $A unix $WS/src/s"),
    ("Unix socket by another's root", Sure, "$A unix /proc/$DECOY/cwd/socket"),
    ("abstract socket", Sure, "$A abstract $ABSTRACT"),
    ("datagram from a pair", Sure, "$A pair-datagram $LOG 2"),
    ("raw from a pair", Sure, "$A pair-datagram $LOG 3"),
    ("docker", Perhaps, "$A unix /var/run/docker.sock"),
    ("system bus", Perhaps, "$A unix /run/dbus/system_bus_socket"),
    ("display", Perhaps, "$A unix /tmp/.X11-unix/X0"),
    // What was left lying around.
    ("secrets that look like it", Sure, "env | grep SOME_API_KEY"),
    ("secrets that are named", Sure, "env | grep planted"),
    (
        "secrets of the helper",
        Sure,
        "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a planted",
    ),
    ("address of the agent", Sure, "test -n \"$SSH_AUTH_SOCK\""),
    ("address of docker", Sure, "test -n \"$DOCKER_HOST\""),
];

/// What answers outside, for as long as it lives.
fn services(bed: &Bed) -> Vec<(&'static str, String)> {
    let mut places = vec![("TEST", std::process::id().to_string())];
    for (name, host) in [("TCP", "127.0.0.1:0"), ("TCP6", "[::1]:0")] {
        let Ok(listener) = TcpListener::bind(host) else { continue };
        places.push((name, listener.local_addr().unwrap().port().to_string()));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                let mut byte = [0];
                let _ = stream.read(&mut byte).and_then(|_| stream.write(b"y"));
            }
        });
    }
    let shared = bed.shared_memory();
    std::fs::write(&shared, "planted").unwrap();
    places.push(("SHM", shared.display().to_string()));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    places.push(("UDP", udp.local_addr().unwrap().port().to_string()));
    thread::spawn(move || {
        let mut byte = [0];
        while let Ok((_, from)) = udp.recv_from(&mut byte) {
            let _ = udp.send_to(b"y", from);
        }
    });
    let socket = bed.path("outside/socket");
    let log = bed.path("outside/log-socket");
    let name = format!("pi-test-{}", bed.base.file_name().unwrap().display());
    let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
    // They live as long as this process: nobody need accept.
    std::mem::forget(UnixListener::bind(&socket).unwrap());
    std::mem::forget(UnixDatagram::bind(&log).unwrap());
    std::mem::forget(UnixListener::bind_addr(&abstract_address).unwrap());
    places.push(("SOCKET", socket.display().to_string()));
    places.push(("LOG", log.display().to_string()));
    places.push(("ABSTRACT", name));
    places
}

#[test]
fn without_confinement_they_get_out() {
    for (name, kind, script) in ATTEMPTS {
        if *kind == Never {
            continue;
        }
        let bed = Bed::new();
        let output = bed.run(None, "ws", script, None, &services(&bed));
        if *kind == Perhaps {
            if !output.status.success() {
                eprintln!("NOT SHOWN that {name:?} can succeed here: {}", text(&output));
            }
            continue;
        }
        assert!(output.status.success(), "{name}: {}", text(&output));
    }
}

#[test]
fn confined_they_do_not() {
    for (level, machine) in levels() {
        let mut tried = 0;
        let mut out = Vec::new();
        for (name, kind, script) in ATTEMPTS {
            if *kind == View && level != ConfinementLevel::Bubblewrap {
                continue;
            }
            let mut bed = Bed::new();
            let services = services(&bed);
            let confined = confined(&bed.confinement(), &machine);
            let before = bed.evidence();
            let output = bed.run(Some(&confined), "ws", script, None, &services);
            let said = text(&output);
            assert!(!said.contains("the command was not run"), "{level}, {name}: {said}");
            let intact = before == bed.evidence() && bed.decoy_lives();
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
fn nothing_can_be_written_when_reading_only() {
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
        let bed = Bed::new();
        let output = bed.run(None, "ws", script, None, &[]);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let bed = Bed::new();
            let mut confinement = bed.confinement();
            confinement.mode = Mode::ReadOnly;
            let confined = confined(&confinement, &machine);
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert_eq!(std::fs::read(bed.path("ws/src/mine")).unwrap(), b"mine\n");
            let reads = bed.run(Some(&confined), "ws", "cat src/mine | grep mine", None, &[]);
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
    for (before, script) in cases {
        let bed = Bed::new();
        let output = bed.run(None, "ws", script, Some(before), &[]);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let bed = Bed::new();
            let confined = confined(&bed.confinement(), &machine);
            let evidence = bed.evidence();
            let output = bed.run(Some(&confined), "ws", script, Some(before), &[]);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}, {script}: {}", text(&output));
            assert_eq!(evidence, bed.evidence(), "{level}, {script}");
        }
    }
}

#[test]
fn with_the_network_on_services_of_the_host_stay_out_of_reach() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        let services = services(&bed);
        let mut confinement = bed.confinement();
        confinement.network = Network::On;
        let confined = confined(&confinement, &machine);
        let run = |script: &str| bed.run(Some(&confined), "ws", script, None, &services);
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
fn memory_that_is_shared_by_number_is_out_of_reach() {
    let made = Command::new("ipcmk").args(["-M", "64"]).output();
    let made = made.ok().filter(|made| made.status.success());
    let number = made.and_then(|made| {
        let said = String::from_utf8(made.stdout).unwrap();
        Some(said.rsplit_once(' ')?.1.trim().to_owned())
    });
    let Some(number) = number else {
        eprintln!("NOT TESTED: no memory can be shared by number here");
        return;
    };
    let bed = Bed::new();
    let place = [("NUMBER", number.clone())];
    let reached = |output: &Output| output.status.success();
    let plain = reached(&bed.run(None, "ws", "$A attach $NUMBER", None, &place));
    let confined: Vec<_> = levels()
        .iter()
        .map(|(level, machine)| {
            let confined = confined(&bed.confinement(), machine);
            (*level, reached(&bed.run(Some(&confined), "ws", "$A attach $NUMBER", None, &place)))
        })
        .collect();
    Command::new("ipcrm").args(["-m", &number]).status().unwrap();
    assert!(plain);
    assert!(confined.iter().all(|(_, reached)| !reached), "{confined:?}");
}

#[test]
fn the_file_of_a_work_tree_is_kept() {
    let scripts = [
        "echo gitdir: src > .git",
        "rm -f .git && ! test -e .git",
        "mv -fT src/mine .git",
        "mv .git old && mkdir .git",
        "$A exchange src/mine .git",
        "ln -f src/mine .git",
    ];
    let bed = || {
        let bed = Bed::new();
        std::fs::remove_dir_all(bed.path("ws/.git")).unwrap();
        std::fs::write(bed.path("ws/.git"), "gitdir: elsewhere\n").unwrap();
        bed
    };
    for script in scripts {
        let output = bed().run(None, "ws", script, None, &[]);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let bed = bed();
            let confined = confined(&bed.confinement(), &machine);
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            let kept = std::fs::read(bed.path("ws/.git")).unwrap();
            assert_eq!(kept, b"gitdir: elsewhere\n", "{level}, {script}");
        }
    }
}
