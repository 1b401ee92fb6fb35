//! What is hidden stays so wherever it is, whatever it is, and whenever it came there.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::bed::{Bed, confined, levels, text};

/// Ways to what is hidden at `$H`, a directory with `key` in it.
const OF_A_DIRECTORY: &[&str] = &[
    "grep planted $H/key",
    "ls $H/",
    "cp -r $H src/copy && grep -r planted src/copy",
    "ln -s $H src/link && grep planted src/link/key",
    "ln $H/key src/hard && grep planted src/hard",
    "mv $H src/moved && grep planted src/moved/key",
    "mv $(dirname $H) src/up && grep -r planted src/up",
    "grep planted /proc/self/root/$H/key",
    "(cd $H && grep planted key)",
    "echo x > $H/new",
    "rm -rf $H && ! test -e $H",
    "tar -cf - $H | grep -a planted",
];

/// Ways to what is hidden at `$H`, a file.
const OF_A_FILE: &[&str] = &[
    "grep planted $H",
    "cp $H src/copy && grep planted src/copy",
    "ln -s $H src/link && grep planted src/link",
    "ln $H src/hard && grep planted src/hard",
    "mv $H src/moved && grep planted src/moved",
    "mv $(dirname $H) src/up && grep -r planted src/up",
    "grep planted /proc/self/root/$H",
    "$A path-descriptor $H",
    "echo x >> $H",
    "rm -f $H && ! test -e $H",
];

/// Where it is; the first part of the name is made as it says.
fn plant(bed: &Bed, place: &str) -> PathBuf {
    let path = bed.path(place);
    if place.ends_with(".env") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "planted\n").unwrap();
    } else {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("key"), "planted\n").unwrap();
    }
    path
}

#[test]
fn directories_and_files_inside_and_outside() {
    let places = [
        ("outside/keys", OF_A_DIRECTORY),
        ("ws/src/deep/keys", OF_A_DIRECTORY),
        ("home/project/keys", OF_A_DIRECTORY),
        ("outside/deep/.env", OF_A_FILE),
        ("ws/src/deep/.env", OF_A_FILE),
    ];
    for (place, scripts) in places {
        for script in scripts {
            let bed = Bed::new();
            let environment = [("H", plant(&bed, place).display().to_string())];
            let output = bed.run(None, "ws", script, None, &environment);
            assert!(output.status.success(), "{place}, {script}: {}", text(&output));
            for (level, machine) in levels() {
                let bed = Bed::new();
                let path = plant(&bed, place);
                let environment = [("H", path.display().to_string())];
                let mut confinement = bed.confinement();
                confinement.hidden.push(path.clone());
                let confined = confined(&confinement, &machine);
                let run = |script: &str| bed.run(Some(&confined), "ws", script, None, &environment);
                let output = run(script);
                let what = format!("{level}, {place}, {script}");
                assert!(!output.status.success(), "{what}: {}", text(&output));
                assert!(path.exists(), "{what}");
                // Nor did it get to where the next command could read it.
                let next = run("grep -r planted src $HOMEDIR/project 2>/dev/null");
                assert!(!text(&next).contains("planted"), "{what}: {}", text(&next));
                let works = run("echo x > src/mine && grep x src/mine");
                assert!(works.status.success(), "{what}: {}", text(&works));
            }
        }
    }
}

#[test]
fn links_lead_nowhere_else() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        plant(&bed, "outside/keys");
        symlink(bed.path("outside/keys"), bed.path("outside/link")).unwrap();
        symlink(bed.path("outside/keys/key"), bed.path("outside/file-link")).unwrap();
        for link in ["link", "file-link"] {
            let mut confinement = bed.confinement();
            confinement.hidden.push(bed.path("outside").join(link));
            let confined = confined(&confinement, &machine);
            for script in [
                "grep planted $OUT/keys/key",
                "grep -r planted $OUT/link/",
                "grep planted $OUT/file-link",
            ] {
                let output = bed.run(Some(&confined), "ws", script, None, &[]);
                assert!(!output.status.success(), "{level}, {link}, {script}: {}", text(&output));
            }
        }
    }
}

#[test]
fn what_appears_between_commands_is_hidden() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        let places = ["outside/later/keys", "ws/src/later/.env", "outside/link"];
        let mut confinement = bed.confinement();
        confinement.hidden.extend(places.map(|place| bed.path(place)));
        // Nothing is there, and what the command makes beside it is its own.
        confinement.hidden.extend([bed.path("tmp/never"), "/tmp/pi-never".into()]);
        let confined = confined(&confinement, &machine);
        let run = |script: &str| bed.run(Some(&confined), "ws", script, None, &[]);
        let works = run("ls $OUT && echo x > src/new && grep x src/new && grep un $OUT/file && \
             f=$(mktemp) && echo x > $f && grep x $f");
        assert!(works.status.success(), "{level}: {}", text(&works));
        plant(&bed, places[0]);
        plant(&bed, places[1]);
        plant(&bed, "outside/real");
        symlink(bed.path("outside/real"), bed.path(places[2])).unwrap();
        for script in [
            "grep planted $OUT/later/keys/key",
            "grep planted src/later/.env",
            "grep planted $OUT/link/key",
            "grep planted $OUT/real/key",
        ] {
            let output = run(script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}: {}", text(&output));
        }
    }
}

#[test]
fn what_appears_while_a_command_runs_is_not_read() {
    for (level, machine) in levels() {
        for place in ["outside/keys", "outside/.env", "outside/new/.env", "outside/old/deep/keys"] {
            let bed = Bed::new();
            fs::create_dir(bed.path("outside/old")).unwrap();
            let path = bed.path(place);
            let mut confinement = bed.confinement();
            confinement.hidden.push(path.clone());
            let confined = confined(&confinement, &machine);
            let script =
                "echo ready; read go; ls $OUT/ && grep un $OUT/file && ! grep -r planted $H";
            let arguments = ["-c".into(), script.into()];
            let environment = bed.environment(&[("H", path.display().to_string())]);
            let command =
                confined.command(&"bash".into(), &arguments, &bed.path("ws"), &environment);
            let mut running = Command::new(command.program)
                .args(command.arguments)
                .env_clear()
                .envs(command.environment)
                .current_dir(bed.path("ws"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut ready = String::new();
            BufReader::new(running.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
            assert_eq!(ready, "ready\n", "{level}, {place}");
            plant(&bed, place);
            running.stdin.take().unwrap().write_all(b"go\n").unwrap();
            let output = running.wait_with_output().unwrap();
            assert!(output.status.success(), "{level}, {place}: {}", text(&output));
            assert!(text(&output).contains("Permission denied"), "{level}, {place}");
        }
    }
}
