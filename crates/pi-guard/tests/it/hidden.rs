//! Hidden paths: files and directories, inside and outside of the roots, existing or created later.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use pi_guard::confine::credential_paths;
use pi_guard::protected::{self, Protection};

use crate::env::{TestEnv, confined, levels, text};

/// Attempts on `$H`, a hidden directory with `key` in it.
const ON_A_DIRECTORY: &[&str] = &[
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

/// Attempts on `$H`, a hidden file.
const ON_A_FILE: &[&str] = &[
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

/// Creates a file if the name ends in `.env`, else a directory with a `key` in it.
fn create_secret(env: &TestEnv, place: &str) -> PathBuf {
    let path = env.path(place);
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
fn hidden_directories_and_files_cannot_be_reached() {
    let places = [
        ("outside/keys", ON_A_DIRECTORY),
        ("ws/src/deep/keys", ON_A_DIRECTORY),
        ("home/project/keys", ON_A_DIRECTORY),
        ("outside/deep/.env", ON_A_FILE),
        ("ws/src/deep/.env", ON_A_FILE),
    ];
    for (place, scripts) in places {
        for script in scripts {
            let env = TestEnv::new();
            let environment = [("H", create_secret(&env, place).display().to_string())];
            let output = env.run_with(None, "ws", script, &environment);
            assert!(output.status.success(), "{place}, {script}: {}", text(&output));
            for (level, machine) in levels() {
                let env = TestEnv::new();
                let path = create_secret(&env, place);
                let environment = [("H", path.display().to_string())];
                let mut confinement = env.confinement();
                confinement.hidden.push(path.clone());
                let confined = confined(&confinement, &machine);
                let run = |script: &str| env.run_with(Some(&confined), "ws", script, &environment);
                let output = run(script);
                let what = format!("{level}, {place}, {script}");
                assert!(!output.status.success(), "{what}: {}", text(&output));
                assert!(path.exists(), "{what}");
                // The content was not copied to a place that the next command can read.
                let next = run("grep -r planted src $HOMEDIR/project 2>/dev/null");
                assert!(!text(&next).contains("planted"), "{what}: {}", text(&next));
                let works = run("echo x > src/mine && grep x src/mine");
                assert!(works.status.success(), "{what}: {}", text(&works));
            }
        }
    }
}

/// All places in which programs keep credentials: hidden in the home of a user who has every one.
#[test]
fn places_of_credentials_are_hidden() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let home = env.path("someone");
        let places = protected::in_home(Protection::Hidden);
        assert!(places.len() > 150, "{}", places.len());
        for place in &places {
            // A file in each directory, and a file for each place that is none.
            let path = home.join(place);
            let is_below = |other: &str| other.starts_with(&format!("{place}/"));
            if path.exists() || places.iter().any(|other| is_below(other)) {
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("planted {place}\n")).unwrap();
        }
        fs::write(home.join(".gitconfig"), "readable\n").unwrap();
        fs::write(home.join(".config/settings"), "readable\n").unwrap();
        let mut confinement = env.confinement();
        confinement.hidden = credential_paths(Some(&home), &env.path("ws"));
        let confined = confined(&confinement, &machine);
        let variables = [("H", home.display().to_string())];
        let all: Vec<String> = places.iter().map(|place| format!("\"$H/{place}\"")).collect();
        let script = format!("grep -rhs planted {}; grep -r planted $H 2>/dev/null", all.join(" "));
        let output = env.run_with(None, "ws", &script, &variables);
        assert!(text(&output).lines().count() > 300, "{}", text(&output));
        let output = env.run_with(Some(&confined), "ws", &script, &variables);
        assert!(!text(&output).contains("planted"), "{level}: {}", text(&output));
        let output = env.run_with(
            Some(&confined),
            "ws",
            "cat $H/.gitconfig $H/.config/settings",
            &variables,
        );
        assert_eq!(text(&output), "readable\nreadable\n", "{level}");
    }
}

#[test]
fn the_target_of_a_hidden_link_is_hidden() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        create_secret(&env, "outside/keys");
        symlink(env.path("outside/keys"), env.path("outside/link")).unwrap();
        symlink(env.path("outside/keys/key"), env.path("outside/file-link")).unwrap();
        for link in ["link", "file-link"] {
            let mut confinement = env.confinement();
            confinement.hidden.push(env.path("outside").join(link));
            let confined = confined(&confinement, &machine);
            for script in [
                "grep planted $OUT/keys/key",
                "grep -r planted $OUT/link/",
                "grep planted $OUT/file-link",
            ] {
                let output = env.run(Some(&confined), "ws", script);
                assert!(!output.status.success(), "{level}, {link}, {script}: {}", text(&output));
            }
        }
    }
}

#[test]
fn a_path_created_between_commands_is_hidden() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let places = ["outside/later/keys", "ws/src/later/.env", "outside/link"];
        let mut confinement = env.confinement();
        confinement.hidden.extend(places.map(|place| env.path(place)));
        // A path that does not exist does not keep commands from using files beside it.
        confinement.hidden.extend([env.path("tmp/never"), "/tmp/pi-never".into()]);
        let confined = confined(&confinement, &machine);
        let run = |script: &str| env.run(Some(&confined), "ws", script);
        let works = run("ls $OUT && echo x > src/new && grep x src/new && grep un $OUT/file && \
             f=$(mktemp) && echo x > $f && grep x $f");
        assert!(works.status.success(), "{level}: {}", text(&works));
        create_secret(&env, places[0]);
        create_secret(&env, places[1]);
        create_secret(&env, "outside/real");
        symlink(env.path("outside/real"), env.path(places[2])).unwrap();
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
fn a_path_created_while_a_command_runs_cannot_be_read() {
    for (level, machine) in levels() {
        for place in ["outside/keys", "outside/.env", "outside/new/.env", "outside/old/deep/keys"] {
            // Below `/tmp`, Landlock cannot tell such a path from the command's own files.
            let env = TestEnv::outside_tmp();
            fs::create_dir(env.path("outside/old")).unwrap();
            let path = env.path(place);
            let mut confinement = env.confinement();
            confinement.hidden.push(path.clone());
            let confined = confined(&confinement, &machine);
            let script =
                "echo ready; read go; ls $OUT/ && grep un $OUT/file && ! grep -r planted $H";
            let variables = [("H", path.display().to_string())];
            let mut running = env.spawn(&confined, script, &variables);
            let mut ready = String::new();
            BufReader::new(running.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
            assert_eq!(ready, "ready\n", "{level}, {place}");
            create_secret(&env, place);
            running.stdin.take().unwrap().write_all(b"go\n").unwrap();
            let output = running.wait_with_output().unwrap();
            assert!(output.status.success(), "{level}, {place}: {}", text(&output));
            assert!(text(&output).contains("Permission denied"), "{level}, {place}");
        }
    }
}
