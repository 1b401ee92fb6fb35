//! Files that are broken, locked, linked, or on a disk that cannot be written.

use std::fs::{self, File, FileTimes};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use pi_config::{
    AuthStore, ConfigError, SettingsScope, SettingsStore, StoredCredential, TrustStore,
};

use super::env::{ConfigEnv, names};

fn set_shell(env: &ConfigEnv) -> Result<(), ConfigError> {
    let mut store = SettingsStore::load(&env.environment, true);
    store.update(SettingsScope::User, |changes| {
        changes.set(&["shellPath"], "new");
    })
}

/// Writes every file of the user.
fn write_all(env: &ConfigEnv) -> Vec<(&'static str, Result<(), ConfigError>)> {
    let key = StoredCredential::api_key("k");
    vec![
        ("settings.json", set_shell(env)),
        ("auth.json", AuthStore::new(env.agent()).set("p", &key)),
        ("trust.json", TrustStore::new(env.agent()).record(Path::new("/x"), Some(true))),
    ]
}

#[test]
fn a_broken_file_is_reported_with_its_position_and_never_overwritten() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let cases: &[(&str, &[u8], &str)] = &[
        ("torn", b"{\n  \"a\": tru", "line 2, column 10: EOF while parsing a value"),
        ("cut off", b"{\"a\": 1", "line 1, column 7: EOF while parsing an object"),
        ("comment", b"{\n  // c\n  \"a\": 1}", "line 2, column 3: comments are not allowed here"),
        ("comma", b"{\"a\": 1,}", "line 1, column 9: trailing comma"),
        ("two objects", b"{} {}", "line 1, column 4: trailing characters"),
        (
            "characters, not bytes",
            "{\"ä\": \"ö\" x}".as_bytes(),
            "line 1, column 11: expected `,` or `}`",
        ),
        ("not UTF-8", b"{\n\"a\": \"\xff\"}", "line 2, column 7: the text is not UTF-8"),
        ("deep", deep.as_bytes(), "line 1, column 132: recursion limit exceeded"),
        ("list", b"[]", "expected an object, not a list"),
        ("null", b"null", "expected an object, not null"),
        (
            "half a character",
            b"{\"a\": \"\\ud800\"}",
            "line 1, column 14: unexpected end of hex escape",
        ),
    ];
    for (case, content, expected) in cases {
        let env = ConfigEnv::new();
        for name in ["settings.json", "auth.json", "trust.json"] {
            env.user(name, content);
        }
        let read = SettingsStore::load(&env.environment, true).diagnostics();
        assert_eq!(read.len(), 1, "{case}: {read:?}");
        assert!(read[0].to_string().contains(expected), "{case}: {}", read[0]);
        for (name, result) in write_all(&env) {
            let error = result.unwrap_err();
            assert_eq!(error.path(), Some(&*env.agent().join(name)), "{case}");
            assert!(error.to_string().contains(expected), "{case}: {error}");
            assert!(error.to_string().contains("correct the file"), "{case}: {error}");
            assert_eq!(&fs::read(env.agent().join(name)).unwrap(), content, "{case}");
        }
        assert_eq!(names(env.agent()), ["auth.json", "settings.json", "trust.json"], "{case}");
    }
}

#[test]
fn a_reload_of_a_broken_file_keeps_the_known_content() {
    let env = ConfigEnv::new();
    let path = env.user("settings.json", r#"{"defaultModel": "m"}"#);
    let mut store = SettingsStore::load(&env.environment, true);
    fs::write(&path, "{x").unwrap();
    store.reload();
    assert_eq!(store.settings().default_model.as_deref(), Some("m"));
    assert_eq!(store.diagnostics().len(), 1);
    let failed = store.update(SettingsScope::User, |changes| {
        changes.set(&["shellPath"], "new");
    });
    assert!(failed.is_err());
    assert_eq!(store.settings().shell_path.as_deref(), Some("new"), "applies to this process");
    fs::write(&path, "{}").unwrap();
    store.reload();
    assert!(store.diagnostics().is_empty());
}

#[test]
fn a_half_written_file_is_read_again_under_the_lock() {
    let env = ConfigEnv::new();
    let path = env.user("settings.json", "{\"shellPath\": ");
    let lock = path.with_extension("json.lock");
    fs::create_dir(&lock).unwrap();
    let environment = env.environment;
    let (send, receive) = mpsc::channel();
    let reader = thread::spawn(move || {
        send.send(()).unwrap();
        SettingsStore::load(&environment, true)
    });
    receive.recv().unwrap();
    fs::write(&path, "{\"shellPath\": \"whole\"}").unwrap();
    fs::remove_dir(&lock).unwrap();
    let store = reader.join().unwrap();
    assert_eq!(store.diagnostics(), []);
    assert_eq!(store.settings().shell_path.as_deref(), Some("whole"));
}

#[test]
fn a_write_waits_for_a_held_lock_and_takes_a_stale_one() {
    let env = ConfigEnv::new();
    for name in ["settings.json", "auth.json", "trust.json"] {
        let lock = env.agent().join(format!("{name}.lock"));
        fs::create_dir(&lock).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(31);
        let times = FileTimes::new().set_modified(long_ago);
        File::open(&lock).unwrap().set_times(times).unwrap();
    }
    for (name, result) in write_all(&env) {
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!(names(env.agent()), ["auth.json", "settings.json", "trust.json"]);

    let store = AuthStore::new(env.agent());
    let edit = store.edit().unwrap();
    assert!(env.agent().join("auth.json.lock").is_dir());
    let other = AuthStore::new(env.agent());
    let waiting =
        thread::spawn(move || other.set("late", &StoredCredential::api_key("k")).unwrap());
    assert_eq!(store.list().unwrap(), ["p"], "reading needs no lock");
    drop(edit);
    waiting.join().unwrap();
    assert_eq!(store.list().unwrap(), ["p", "late"]);
}

#[test]
fn a_writer_that_lost_the_lock_writes_nothing() {
    let env = ConfigEnv::new();
    let store = AuthStore::new(env.agent());
    let mut edit = store.edit().unwrap();
    let lock = env.agent().join("auth.json.lock");
    fs::remove_dir(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let error = edit.set("p", &StoredCredential::api_key("k")).unwrap_err();
    assert!(matches!(error, ConfigError::LockLost { .. }), "{error}");
    drop(edit);
    assert_eq!(names(env.agent()), ["auth.json.lock"], "the lock of another process stays");
}

#[test]
fn a_missing_directory_is_a_write_error() {
    let env = ConfigEnv::new();
    // The directory is missing and cannot be created.
    fs::remove_dir(env.agent()).unwrap();
    fs::write(env.agent(), "a file").unwrap();
    for (name, result) in write_all(&env) {
        let error = result.unwrap_err();
        assert!(matches!(error, ConfigError::Write { .. }), "{name}: {error}");
    }
    assert_eq!(SettingsStore::load(&env.environment, true).diagnostics(), []);
}

#[test]
#[cfg(unix)]
fn links_and_modes_are_preserved() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let env = ConfigEnv::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let shared = env.path("dotfiles");
    fs::create_dir(&shared).unwrap();
    for name in ["settings.json", "auth.json", "trust.json"] {
        fs::write(shared.join(name), "{}").unwrap();
        fs::set_permissions(shared.join(name), PermissionsExt::from_mode(0o640)).unwrap();
        // Relative, as users create them.
        symlink(Path::new("../../../dotfiles").join(name), env.agent().join(name)).unwrap();
    }
    for (name, result) in write_all(&env) {
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(env.agent().join(name).is_symlink(), "{name}");
        assert_ne!(fs::read_to_string(shared.join(name)).unwrap(), "{}", "{name}");
    }
    assert_eq!(mode(&shared.join("settings.json")), 0o640);
    assert_eq!(mode(&shared.join("auth.json")), 0o600);

    let fresh = ConfigEnv::new();
    fs::remove_dir(fresh.agent()).unwrap();
    AuthStore::new(fresh.agent()).set("p", &StoredCredential::api_key("k")).unwrap();
    assert_eq!(mode(fresh.agent()), 0o700);
    assert_eq!(mode(&fresh.agent().join("auth.json")), 0o600);
}

/// Unmounts a file system when dropped.
#[cfg(target_os = "linux")]
struct Mounted<'a>(&'a Path);

#[cfg(target_os = "linux")]
impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

/// Requires the right to mount.
#[test]
#[cfg(target_os = "linux")]
fn a_full_or_read_only_disk_leaves_the_old_files() {
    let env = ConfigEnv::new();
    let mount = |options: &[&str]| {
        let done = Command::new("mount").args(options).arg(env.agent()).output();
        done.is_ok_and(|done| done.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        return;
    }
    let _mounted = Mounted(env.agent());
    let all = ["settings.json", "auth.json", "trust.json"];
    for name in all {
        env.user(name, "{}");
    }
    let mut filler = File::create(env.agent().join("filler")).unwrap();
    let full = std::io::copy(&mut std::io::repeat(b'x'), &mut filler).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let check = |advice: &str| {
        for (name, result) in write_all(&env) {
            let error = result.map_err(|error| error.to_string()).unwrap_err();
            assert!(error.contains(advice), "{name}: {error}");
            assert_eq!(fs::read_to_string(env.agent().join(name)).unwrap(), "{}", "{name}");
        }
        assert_eq!(names(env.agent()), ["auth.json", "filler", "settings.json", "trust.json"]);
    };
    check("free space on the disk");
    // A file system with open files for writing cannot become read-only.
    drop(filler);
    assert!(mount(&["-o", "remount,ro"]));
    check("make the file system writable");
}
