//! How a confinement is chosen, refused, explained, and what it leaves behind.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use pi_guard::confine::{
    ConfineError, Confinement, ConfinementLevel, DenialTarget, Machine, Mode, Network,
    explain_denial,
};

use crate::bed::{Bed, TESTBED, confined, levels, text};

fn machine(landlock: u8, bubblewrap: bool) -> Machine {
    Machine {
        landlock,
        user_namespaces: bubblewrap,
        bubblewrap: bubblewrap.then(|| "/usr/bin/bwrap".into()),
        bubblewrap_problem: (!bubblewrap).then(|| "bubblewrap is not installed".to_owned()),
        seatbelt: false,
    }
}

#[test]
fn the_ladder() {
    let read_only = Confinement::new(Mode::ReadOnly, Network::Off);
    let cases = [
        (machine(6, true), ConfinementLevel::Bubblewrap, 0),
        (machine(6, false), ConfinementLevel::Landlock, 0),
        (machine(3, false), ConfinementLevel::Landlock, 1),
        // Bubblewrap without Landlock, or with one that leaks, is not half a confinement.
        (machine(2, true), ConfinementLevel::None, 1),
        (machine(0, false), ConfinementLevel::None, 1),
    ];
    for (machine, offered, limits) in cases {
        for required in
            [ConfinementLevel::None, ConfinementLevel::Landlock, ConfinementLevel::Bubblewrap]
        {
            match read_only.prepare(&machine, required, TESTBED) {
                Ok(confined) => {
                    assert!(required <= offered);
                    assert_eq!(confined.level(), offered);
                    assert_eq!(confined.limits().len(), limits, "{:?}", confined.limits());
                }
                Err(error) => {
                    assert!(required > offered, "{error}");
                    let text = error.to_string();
                    assert!(text.contains(&required.to_string()), "{text}");
                    assert!(text.contains(&offered.to_string()), "{text}");
                    assert!(matches!(error, ConfineError::Unavailable { .. }));
                }
            }
        }
    }
}

#[test]
fn off_is_off_and_never_enough() {
    let off = Confinement::new(Mode::Off, Network::On);
    let confined = off.prepare(&machine(6, true), ConfinementLevel::None, TESTBED).unwrap();
    assert_eq!(confined.level(), ConfinementLevel::None);
    let environment = [(OsString::from("A_KEY"), OsString::from("x"))];
    let command = confined.command(&"true".into(), &["a".into()], Path::new("/"), &environment);
    assert_eq!((command.program, command.arguments), ("true".into(), vec!["a".into()]));
    assert_eq!(command.environment, environment);
    assert!(off.prepare(&machine(6, true), ConfinementLevel::Landlock, TESTBED).is_err());
}

#[test]
fn what_cannot_be_held_is_refused() {
    let bed = Bed::new();
    symlink("src", bed.path("ws/.agents")).unwrap();
    let on = |confinement: &Confinement| {
        confinement.prepare(&machine(6, true), ConfinementLevel::None, TESTBED)
    };
    assert!(matches!(on(&bed.confinement()), Err(ConfineError::ProtectedSymlink(_))));
    let write = |workspace: &Path| {
        let mode = Mode::WorkspaceWrite {
            workspace: workspace.to_owned(),
            extra_roots: Vec::new(),
            private_tmp: None,
        };
        on(&Confinement::new(mode, Network::Off))
    };
    assert!(matches!(write(Path::new("/")), Err(ConfineError::RootTooBroad(_))));
    assert!(matches!(write(Path::new("/etc")), Err(ConfineError::RootTooBroad(_))));
    assert!(matches!(write(&bed.path("nowhere")), Err(ConfineError::InvalidRoot { .. })));
    assert!(matches!(write(&bed.path("outside/file")), Err(ConfineError::InvalidRoot { .. })));
    let mut around = bed.confinement();
    if let Mode::WorkspaceWrite { private_tmp, .. } = &mut around.mode {
        *private_tmp = Some(bed.base.clone());
    }
    assert!(matches!(on(&around), Err(ConfineError::RootTooBroad(_))));
    let hosts = Network::Hosts(vec!["example.com".to_owned()]);
    let mut hosts = Confinement::new(Mode::ReadOnly, hosts);
    let none = on(&hosts).unwrap_err();
    assert!(none.to_string().ends_with("needs a proxy, and none listens at any socket"), "{none}");
    hosts.proxy = Some(bed.path("nowhere"));
    assert!(matches!(on(&hosts), Err(ConfineError::NoProxy(_))));
    // Landlock cannot tell hosts apart, and off is off.
    let refused = hosts.prepare(&machine(6, false), ConfinementLevel::None, TESTBED).unwrap_err();
    assert!(matches!(
        refused,
        ConfineError::HostsUnsupported { offered: ConfinementLevel::Landlock, .. }
    ));
    assert!(refused.to_string().contains("needs bubblewrap"), "{refused}");
    hosts.mode = Mode::Off;
    assert!(matches!(
        on(&hosts),
        Err(ConfineError::HostsUnsupported { offered: ConfinementLevel::None, .. })
    ));
}

#[test]
fn a_root_that_became_a_link_is_refused_when_the_command_starts() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        let confined = confined(&bed.confinement(), &machine);
        fs::rename(bed.path("home"), bed.path("moved")).unwrap();
        symlink(bed.path("outside"), bed.path("home")).unwrap();
        let output = bed.run(Some(&confined), "ws", "echo x > $HOMEDIR/new", None, &[]);
        assert_eq!(output.status.code(), Some(125), "{level}: {}", text(&output));
        assert!(!bed.path("outside/new").exists());
    }
}

#[test]
fn exit_codes_and_streams_pass() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        let confined = confined(&bed.confinement(), &machine);
        let output = bed.run(Some(&confined), "ws", "echo out; echo err >&2; exit 42", None, &[]);
        assert_eq!(output.status.code(), Some(42), "{level}");
        assert_eq!(output.stdout, b"out\n", "{level}");
        assert_eq!(output.stderr, b"err\n", "{level}");
        let missing = confined.command(&"no-such-program".into(), &[], &bed.path("ws"), &[]);
        let mut command = Command::new(missing.program);
        let output = command.args(missing.arguments).current_dir(bed.path("ws")).output().unwrap();
        assert_eq!(output.status.code(), Some(127), "{level}: {}", text(&output));
        assert!(text(&output).contains("no-such-program cannot be started"), "{level}");
    }
}

#[test]
fn a_helper_that_is_told_nonsense_runs_nothing() {
    for arguments in [&["--pi-confine"][..], &["--pi-confine", "{}", "/", "true"]] {
        let output = Command::new(TESTBED).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
    }
    assert_eq!(Command::new(TESTBED).status().unwrap().code(), Some(99));
}

#[test]
fn covers_leave_empty_directories_and_say_which() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        // A workspace inside another root is protected like any other.
        let mut confinement = bed.confinement();
        if let Mode::WorkspaceWrite { extra_roots, .. } = &mut confinement.mode {
            extra_roots.push(bed.path("home/project"));
        }
        let confined = confined(&confinement, &machine);
        let masks = confined.covered_paths().unwrap();
        let inner = bed.run(Some(&confined), "home/project", "echo x > new", None, &[]);
        assert_eq!(
            inner.status.success(),
            level == ConfinementLevel::Bubblewrap,
            "{}",
            text(&inner)
        );
        let inner = bed.run(Some(&confined), "home/project", "mkdir -p .pi/x", None, &[]);
        assert!(!inner.status.success(), "{level}");
        bed.run(Some(&confined), "ws", "true", None, &[]);
        // What is left does not change what holds.
        let again = bed.run(Some(&confined), "ws", "echo x > .agents/x", None, &[]);
        assert!(!again.status.success(), "{level}");
        if level == ConfinementLevel::Bubblewrap {
            let project = bed.path("home/project");
            let names = [".agents", ".git", ".pi"].map(|name| project.join(name));
            let (of_project, others): (Vec<_>, Vec<_>) =
                masks.iter().cloned().partition(|mask| mask.starts_with(&project));
            assert_eq!(of_project, names);
            assert_eq!(others, [bed.path("ws/.agents")]);
        } else {
            assert!(masks.is_empty());
        }
        // What somebody filled meanwhile is somebody's.
        if level == ConfinementLevel::Bubblewrap {
            fs::write(bed.path("home/project/.pi/mine"), "x").unwrap();
        }
        let removed = confined.remove_covers();
        let left: Vec<_> = masks.iter().filter(|mask| mask.exists()).cloned().collect();
        assert_eq!(removed.len() + left.len(), masks.len(), "{level}");
        assert!(left.iter().all(|left| left.ends_with("home/project/.pi")), "{level}: {left:?}");
        assert!(!bed.path("ws/.agents").exists(), "{level}");
        assert!(confined.remove_covers().is_empty());
    }
}

#[test]
fn only_ones_own_covers_are_removed_and_only_when_nobody_needs_them() {
    let Some((_, machine)) =
        levels().into_iter().find(|(level, _)| *level == ConfinementLevel::Bubblewrap)
    else {
        return;
    };
    let bed = Bed::new();
    let first = confined(&bed.confinement(), &machine);
    let shell = OsString::from("bash");
    let script = ["-c".into(), "echo ready; read go; ! mkdir -p .agents/x".into()];
    let command = first.command(&shell, &script, &bed.path("ws"), &bed.environment(&[]));
    let mut running = Command::new(command.program)
        .args(command.arguments)
        .env_clear()
        .envs(command.environment)
        .current_dir(bed.path("ws"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    running.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    // Somebody else was here before, and a command still runs.
    let second = confined(&bed.confinement(), &machine);
    assert!(second.remove_covers().is_empty() && first.remove_covers().is_empty());
    running.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(running.wait().unwrap().success());
    assert!(second.remove_covers().is_empty());
    assert_eq!(first.remove_covers(), [bed.path("ws/.agents")]);
}

#[test]
fn temporary_files_are_private() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        let confined = confined(&bed.confinement(), &machine);
        let script = "echo x > $TMPDIR/mine && mktemp";
        let output = bed.run(Some(&confined), "ws", script, None, &[]);
        assert!(output.status.success(), "{level}: {}", text(&output));
        assert_eq!(fs::read(bed.path("tmp/mine")).unwrap(), b"x\n", "{level}");
    }
}

#[test]
fn denials_are_explained() {
    let bed = Bed::new();
    let ws = bed.path("ws");
    let out = bed.path("outside/new");
    let cases: &[(&str, Option<&str>, &str)] = &[
        ("echo x > $OUT/new", Some("outside/new"), "only the workspace"),
        ("touch $OUT/new", Some("outside/new"), "only the workspace"),
        ("cp src/mine ../outside/new", Some("outside/new"), "only the workspace"),
        ("echo x > .git/hooks/pre-commit", Some("ws/.git/hooks/pre-commit"), "hooks is protected"),
        ("rm -f .git/config", Some("ws/.git/config"), "config is protected"),
        ("mkdir .pi/extensions", Some("ws/.pi/extensions"), ".pi is protected"),
        ("cat $HIDDEN/key", Some("hidden/key"), "hidden"),
        ("python3 -c 'open(\"../outside/new\", \"w\")'", Some("outside/new"), "only the"),
        ("echo 1; ls /nowhere", None, ""),
        ("cat src/none", None, ""),
    ];
    for (level, machine) in levels() {
        let confined = confined(&bed.confinement(), &machine);
        for (script, path, rule) in cases {
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            let denial = explain_denial(&confined, &ws, &text(&output));
            let Some(path) = path else {
                assert_eq!(denial, None, "{level}, {script}");
                continue;
            };
            let denial = denial.unwrap_or_else(|| panic!("{level}, {script}: {}", text(&output)));
            assert_eq!(denial.target, DenialTarget::Path(bed.path(path)), "{level}, {script}");
            assert!(denial.rule.contains(rule), "{level}, {script}: {}", denial.rule);
        }
        assert!(!out.exists());
        let said = "curl: (6) Could not resolve host: example.com";
        let denial = explain_denial(&confined, &ws, said).unwrap();
        assert_eq!(denial.target, DenialTarget::Host(Some("example.com".to_owned())));
        let output = bed.run(Some(&confined), "ws", "unshare -Ur true", None, &[]);
        let denial = explain_denial(&confined, &ws, &text(&output)).unwrap();
        assert_eq!(denial.target, DenialTarget::Operation, "{level}");
        if level == ConfinementLevel::Landlock {
            let output = bed.run(Some(&confined), "ws", "touch beside", None, &[]);
            let denial = explain_denial(&confined, &ws, &text(&output)).unwrap();
            assert!(denial.rule.contains("only Landlock"), "{}", denial.rule);
        }
    }
}
