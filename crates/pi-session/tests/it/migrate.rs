//! Migration of old files without loss.

use std::fs;
use std::path::{Path, PathBuf};

use pi_session::{OpenOptions, Session, migrate};
use serde_json::Value;
use tempfile::TempDir;

use crate::compat::files;

fn old_files() -> Vec<PathBuf> {
    let mut files = files();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("v1-") || name.starts_with("v2-")
    });
    assert!(files.len() > 15, "{files:?}");
    files
}

fn copy(file: &Path, directory: &TempDir) -> PathBuf {
    let copy = directory.path().join(file.file_name().unwrap());
    fs::copy(file, &copy).unwrap();
    copy
}

#[test]
fn migration_is_idempotent_and_keeps_current_files() {
    for file in files() {
        let content = fs::read(&file).unwrap();
        let once = migrate(&content);
        assert!(migrate(&once) == once, "{}", file.display());
        let current = content.starts_with(b"{\"type\":\"session\",\"version\":3,");
        assert!(!current || once == content, "{}", file.display());
    }
}

#[test]
fn migration_keeps_every_line() {
    for file in old_files() {
        let content = fs::read_to_string(&file).unwrap();
        let migrated = String::from_utf8(migrate(content.as_bytes())).unwrap();
        let (before, after): (Vec<&str>, Vec<&str>) =
            (content.split('\n').collect(), migrated.split('\n').collect());
        assert_eq!(before.len(), after.len(), "{}", file.display());
        for (old, new) in before.iter().zip(&after) {
            match (object(old), object(new)) {
                (Some(old), Some(new)) => {
                    for (name, value) in old.as_object().unwrap() {
                        let changed = matches!(
                            name.as_str(),
                            "version"
                                | "id"
                                | "parentId"
                                | "message"
                                | "firstKeptEntryIndex"
                                | "firstKeptEntryId"
                        );
                        assert!(changed || new.get(name) == Some(value), "{old} became {new}");
                    }
                }
                _ => assert_eq!(old, new, "a line that cannot be parsed stays unchanged"),
            }
        }
    }
}

fn object(line: &str) -> Option<Value> {
    serde_json::from_str::<Value>(line).ok().filter(Value::is_object)
}

#[test]
fn reading_an_old_file_does_not_change_it_and_appending_migrates_it_once() {
    for file in old_files() {
        let directory = TempDir::new().unwrap();
        let copy = copy(&file, &directory);
        let before = fs::read(&copy).unwrap();
        let mut reader = Session::open(&copy, &OpenOptions::read()).unwrap();
        reader.context().unwrap();
        assert_eq!(fs::read(&copy).unwrap(), before, "{}", file.display());
        drop(Session::open(&copy, &OpenOptions::append()).unwrap());
        let migrated = fs::read(&copy).unwrap();
        assert!(String::from_utf8_lossy(&migrated).contains("\"version\":3"), "{}", file.display());
        let session = Session::open(&copy, &OpenOptions::append()).unwrap();
        assert!(fs::read(&copy).unwrap().starts_with(&migrated), "{}", file.display());
        assert_eq!(session.len(), reader.len(), "{}", file.display());
        // No temporary file is left in the directory.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}

#[cfg(unix)]
#[test]
fn migration_keeps_the_permissions_of_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().unwrap();
    let copy = copy(&old_files()[0], &directory);
    for mode in [0o600, 0o640] {
        fs::copy(&old_files()[0], &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).unwrap();
        drop(Session::open(&copy, &OpenOptions::append()).unwrap());
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn migration_keeps_invalid_utf8_in_damaged_lines() {
    let old = b"{\"type\":\"session\",\"id\":\"x\"}\n\xff\xfe broken\n{\"type\":\"custom\"}\n";
    let migrated = migrate(old);
    assert_eq!(migrated.split(|byte| *byte == b'\n').nth(1), Some(&b"\xff\xfe broken"[..]));
    assert_eq!(migrate(b"no session\n{\"type\":\"custom\"}"), b"no session\n{\"type\":\"custom\"}");
}
