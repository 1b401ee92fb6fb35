//! Choosing, refusing and explaining a confinement, and cleaning up after it.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use pi_guard::confine::{
    ConfineError, Confinement, ConfinementLevel, DenialTarget, Machine, Mode, Network,
    explain_denial,
};

use crate::env::{TESTBED, TestEnv, confined, levels, text, with_bubblewrap};

fn machine(landlock: u8, bubblewrap: bool) -> Machine {
    let mut machine = Machine::default();
    machine.landlock = landlock;
    if bubblewrap {
        machine.user_namespaces = true;
        machine.bubblewrap = Some("/usr/bin/bwrap".into());
    } else {
        machine.bubblewrap_problem = Some("bubblewrap is not installed".to_owned());
    }
    machine
}

#[test]
fn the_highest_level_of_the_machine_is_chosen_and_less_than_required_is_refused() {
    let read_only = Confinement::new(Mode::ReadOnly, Network::Off);
    let cases = [
        (machine(6, true), ConfinementLevel::Bubblewrap, 0),
        (machine(6, false), ConfinementLevel::Landlock, 0),
        (machine(3, false), ConfinementLevel::Landlock, 1),
        // Bubblewrap needs Landlock, in a version without holes.
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
fn off_changes_no_command_and_never_meets_a_requirement() {
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
fn unenforceable_confinements_are_refused() {
    let env = TestEnv::new();
    symlink("src", env.path("ws/.agents")).unwrap();
    let prepare = |confinement: &Confinement| {
        confinement.prepare(&machine(6, true), ConfinementLevel::None, TESTBED)
    };
    assert!(matches!(prepare(&env.confinement()), Err(ConfineError::ProtectedSymlink(_))));
    let write = |workspace: &Path| {
        let mode = Mode::WorkspaceWrite {
            workspace: workspace.to_owned(),
            extra_roots: Vec::new(),
            private_tmp: None,
        };
        prepare(&Confinement::new(mode, Network::Off))
    };
    assert!(matches!(write(Path::new("/")), Err(ConfineError::RootTooBroad(_))));
    assert!(matches!(write(Path::new("/etc")), Err(ConfineError::RootTooBroad(_))));
    assert!(matches!(write(&env.path("nowhere")), Err(ConfineError::InvalidRoot { .. })));
    assert!(matches!(write(&env.path("outside/file")), Err(ConfineError::InvalidRoot { .. })));
    let mut around = env.confinement();
    if let Mode::WorkspaceWrite { private_tmp, .. } = &mut around.mode {
        *private_tmp = Some(env.base.clone());
    }
    assert!(matches!(prepare(&around), Err(ConfineError::RootTooBroad(_))));
    let hosts = Network::Hosts(vec!["example.com".to_owned()]);
    let mut hosts = Confinement::new(Mode::ReadOnly, hosts);
    assert!(matches!(prepare(&hosts), Err(ConfineError::NoProxy)));
    hosts.proxy = Some(env.path("nowhere"));
    assert!(matches!(prepare(&hosts), Err(ConfineError::ProxySocket { .. })));
    // Landlock cannot tell hosts apart.
    let refused = hosts.prepare(&machine(6, false), ConfinementLevel::None, TESTBED).unwrap_err();
    assert!(matches!(
        refused,
        ConfineError::HostsUnsupported { offered: ConfinementLevel::Landlock, .. }
    ));
    assert!(refused.to_string().contains("needs bubblewrap"), "{refused}");
    hosts.mode = Mode::Off;
    assert!(matches!(
        prepare(&hosts),
        Err(ConfineError::HostsUnsupported { offered: ConfinementLevel::None, .. })
    ));
}

#[test]
fn a_root_that_became_a_link_is_refused_when_the_command_starts() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let confined = confined(&env.confinement(), &machine);
        fs::rename(env.path("home"), env.path("moved")).unwrap();
        symlink(env.path("outside"), env.path("home")).unwrap();
        let output = env.run(Some(&confined), "ws", "echo x > $HOMEDIR/new");
        assert_eq!(output.status.code(), Some(125), "{level}: {}", text(&output));
        assert!(!env.path("outside/new").exists());
    }
}

#[test]
fn exit_codes_and_streams_are_passed_on() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let confined = confined(&env.confinement(), &machine);
        let output = env.run(Some(&confined), "ws", "echo out; echo err >&2; exit 42");
        assert_eq!(output.status.code(), Some(42), "{level}");
        assert_eq!(output.stdout, b"out\n", "{level}");
        assert_eq!(output.stderr, b"err\n", "{level}");
        let missing = confined.command(&"no-such-program".into(), &[], &env.path("ws"), &[]);
        let mut command = Command::new(missing.program);
        let output = command.args(missing.arguments).current_dir(env.path("ws")).output().unwrap();
        assert_eq!(output.status.code(), Some(127), "{level}: {}", text(&output));
        assert!(text(&output).contains("no-such-program cannot be started"), "{level}");
    }
}

#[test]
fn a_helper_with_invalid_arguments_runs_nothing() {
    for arguments in [&["--pi-confine"][..], &["--pi-confine", "{}", "/", "true"]] {
        let output = Command::new(TESTBED).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
    }
    assert_eq!(Command::new(TESTBED).status().unwrap().code(), Some(99));
}

#[test]
fn covers_leave_empty_directories_that_are_listed_and_removed() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        // A workspace inside another root is protected like any other.
        let mut confinement = env.confinement();
        if let Mode::WorkspaceWrite { extra_roots, .. } = &mut confinement.mode {
            extra_roots.push(env.path("home/project"));
        }
        let confined = confined(&confinement, &machine);
        let covered = confined.covered_paths().unwrap();
        let inner = env.run(Some(&confined), "home/project", "echo x > new");
        assert_eq!(
            inner.status.success(),
            level == ConfinementLevel::Bubblewrap,
            "{}",
            text(&inner)
        );
        let inner = env.run(Some(&confined), "home/project", "mkdir -p .pi/x");
        assert!(!inner.status.success(), "{level}");
        env.run(Some(&confined), "ws", "true");
        // The empty directories do not weaken the protection.
        let again = env.run(Some(&confined), "ws", "echo x > .agents/x");
        assert!(!again.status.success(), "{level}");
        if level == ConfinementLevel::Bubblewrap {
            let project = env.path("home/project");
            let names = [".agents", ".git", ".pi"].map(|name| project.join(name));
            let (of_project, others): (Vec<_>, Vec<_>) =
                covered.iter().cloned().partition(|path| path.starts_with(&project));
            assert_eq!(of_project, names);
            assert_eq!(others, [env.path("ws/.agents"), env.path("ws/.git/commondir")]);
        } else {
            assert!(covered.is_empty());
        }
        // A directory that another program has filled meanwhile stays.
        if level == ConfinementLevel::Bubblewrap {
            fs::write(env.path("home/project/.pi/mine"), "x").unwrap();
        }
        let removed = confined.remove_covers();
        let left: Vec<_> = covered.iter().filter(|path| path.exists()).cloned().collect();
        assert_eq!(removed.len() + left.len(), covered.len(), "{level}");
        assert!(left.iter().all(|left| left.ends_with("home/project/.pi")), "{level}: {left:?}");
        assert!(!env.path("ws/.agents").exists(), "{level}");
        assert!(confined.remove_covers().is_empty());
    }
}

#[test]
fn covers_are_removed_only_by_the_confinement_that_made_them_and_only_when_unused() {
    let Some(machine) = with_bubblewrap() else { return };
    let env = TestEnv::new();
    let first = confined(&env.confinement(), &machine);
    let mut running = env.spawn(&first, "echo ready; read go; ! mkdir -p .agents/x", &[]);
    running.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    // For the second, the directory existed before; and a command still runs.
    let second = confined(&env.confinement(), &machine);
    assert!(second.remove_covers().is_empty() && first.remove_covers().is_empty());
    running.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(running.wait().unwrap().success());
    // The file without effect is the same as none.
    assert_eq!(second.remove_covers(), [env.path("ws/.git/commondir")]);
    assert_eq!(first.remove_covers(), [env.path("ws/.agents")]);
}

/// The cover of another confinement was there when this one was prepared, and was removed before
/// its first command.
#[test]
fn a_cover_that_was_removed_by_another_confinement_is_made_and_removed_again() {
    let Some(machine) = with_bubblewrap() else { return };
    let env = TestEnv::new();
    let first = confined(&env.confinement(), &machine);
    env.run(Some(&first), "ws", "true");
    let second = confined(&env.confinement(), &machine);
    let covers = [env.path("ws/.agents"), env.path("ws/.git/commondir")];
    assert_eq!(first.remove_covers(), covers);
    let output = env.run(Some(&second), "ws", "! mkdir -p .agents/x");
    assert!(output.status.success(), "{}", text(&output));
    assert!(env.path("ws/.agents").exists());
    assert_eq!(second.own_covers(), covers);
    assert_eq!(second.remove_covers(), covers);
    // A directory of the user that was there before stays.
    fs::create_dir(env.path("ws/.agents")).unwrap();
    let third = confined(&env.confinement(), &machine);
    env.run(Some(&third), "ws", "true");
    assert_eq!(third.remove_covers(), [env.path("ws/.git/commondir")]);
    assert!(env.path("ws/.agents").exists());
}

#[test]
fn temporary_files_are_private() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let confined = confined(&env.confinement(), &machine);
        let script = "echo x > $TMPDIR/mine && mktemp";
        let output = env.run(Some(&confined), "ws", script);
        assert!(output.status.success(), "{level}: {}", text(&output));
        assert_eq!(fs::read(env.path("tmp/mine")).unwrap(), b"x\n", "{level}");
    }
}

#[test]
fn denials_in_the_output_are_explained() {
    let env = TestEnv::new();
    let ws = env.path("ws");
    let out = env.path("outside/new");
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
        let confined = confined(&env.confinement(), &machine);
        for (script, path, rule) in cases {
            let output = env.run(Some(&confined), "ws", script);
            let denial = explain_denial(&confined, &ws, &text(&output));
            let Some(path) = path else {
                assert_eq!(denial, None, "{level}, {script}");
                continue;
            };
            let denial = denial.unwrap_or_else(|| panic!("{level}, {script}: {}", text(&output)));
            assert_eq!(denial.target, DenialTarget::Path(env.path(path)), "{level}, {script}");
            assert!(denial.rule.contains(rule), "{level}, {script}: {}", denial.rule);
        }
        assert!(!out.exists());
        let output = "curl: (6) Could not resolve host: example.com";
        let denial = explain_denial(&confined, &ws, output).unwrap();
        assert_eq!(denial.target, DenialTarget::Host(Some("example.com".to_owned())));
        let output = env.run(Some(&confined), "ws", "unshare -Ur true");
        let denial = explain_denial(&confined, &ws, &text(&output)).unwrap();
        assert_eq!(denial.target, DenialTarget::Operation, "{level}");
        if level == ConfinementLevel::Landlock {
            let output = env.run(Some(&confined), "ws", "touch beside");
            let denial = explain_denial(&confined, &ws, &text(&output)).unwrap();
            assert!(denial.rule.contains("Landlock alone"), "{}", denial.rule);
        }
    }
}
