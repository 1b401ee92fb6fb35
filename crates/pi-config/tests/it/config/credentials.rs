//! Credentials beyond the behavior of pi 1.5.0: changes by other programs, file modes.

use std::fs;

use pi_config::{AuthStore, StoredCredential};
use serde_json::{Value, json};

use super::env::{ConfigEnv, names};

#[test]
fn changes_of_other_programs_are_noticed_and_unknown_entries_kept() {
    let env = ConfigEnv::new();
    let store = AuthStore::new(env.agent());
    assert_eq!(store.list().unwrap(), [] as [&str; 0]);
    assert_eq!(names(env.agent()), [] as [&str; 0], "reading creates nothing");
    let content = json!({ "odd": { "type": "new", "x": [1] }, "p": { "type": "api_key", "key": "1", "note": "n" } });
    let path = env.user("auth.json", content.to_string());
    assert_eq!(store.list().unwrap(), ["odd", "p"]);
    store.set("q", &StoredCredential::api_key("2")).unwrap();
    assert!(store.remove("p").unwrap());
    assert!(!store.remove("p").unwrap());
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written, json!({ "odd": content["odd"], "q": { "type": "api_key", "key": "2" } }));
    let error = store.get("odd").unwrap_err().to_string();
    assert!(error.contains("\"odd\"") && error.contains("log in again"), "{error}");
    assert_eq!(store.check().len(), 1);
    fs::remove_file(path).unwrap();
    assert_eq!(store.list().unwrap(), [] as [&str; 0]);
}

#[test]
fn unknown_fields_survive_a_renewal() {
    let env = ConfigEnv::new();
    let content = json!({ "p": { "type": "oauth", "access": "a", "refresh": "r", "expires": 5, "account": { "id": 1 } } });
    let path = env.user("auth.json", content.to_string());
    let store = AuthStore::new(env.agent());
    let mut edit = store.edit().unwrap();
    let mut credential = edit.get("p").unwrap().unwrap();
    assert_eq!(format!("{credential:?}"), "Oauth { expires: 5.0, .. }");
    if let StoredCredential::Oauth { access, .. } = &mut credential {
        *access = "new".to_owned();
    }
    edit.set("p", &credential).unwrap();
    let written: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(written["p"]["access"], "new");
    assert_eq!(written["p"]["account"], content["p"]["account"]);
}

#[test]
#[cfg(unix)]
fn a_file_that_other_users_can_read_is_made_private() {
    use std::os::unix::fs::PermissionsExt;
    let env = ConfigEnv::new();
    let path = env.user("auth.json", "{}");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let store = AuthStore::new(env.agent());
    let problems = store.check();
    assert!(
        problems[0].message.starts_with("other users could read it (mode 644)"),
        "{problems:?}"
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(store.check(), []);
}
