//! Credentials beyond what pi 1.5.0 does: changes from outside, modes, old places.

use std::fs;

use pi_coding_agent::config::{AuthStore, StoredCredential, migrate_credentials};
use serde_json::{Value, json};

use super::place::{Place, names};

#[test]
fn changes_from_outside_are_seen_and_unknown_entries_kept() {
    let place = Place::new();
    let store = AuthStore::new(place.agent());
    assert_eq!(store.list().unwrap(), [] as [&str; 0]);
    assert_eq!(names(place.agent()), [] as [&str; 0], "reading creates nothing");
    let content = json!({ "odd": { "type": "new", "x": [1] }, "p": { "type": "api_key", "key": "1", "note": "n" } });
    let path = place.user("auth.json", content.to_string());
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
fn fields_that_nobody_knows_survive_a_renewal() {
    let place = Place::new();
    let content = json!({ "p": { "type": "oauth", "access": "a", "refresh": "r", "expires": 5, "account": { "id": 1 } } });
    let path = place.user("auth.json", content.to_string());
    let store = AuthStore::new(place.agent());
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
fn a_file_that_others_can_read_is_repaired() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.user("auth.json", "{}");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let store = AuthStore::new(place.agent());
    let problems = store.check();
    assert!(problems[0].message.starts_with("others could read it (mode 644)"), "{problems:?}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(store.check(), []);
}

#[test]
fn credentials_of_old_versions_move_and_nothing_is_lost() {
    let place = Place::new();
    place.user("oauth.json", r#"{"a":{"access":"x","refresh":"r","expires":5,"z":1},"odd":5}"#);
    place.user("settings.json", r#"{"theme":"t","apiKeys":{"b":"key","a":"other","n":5}}"#);
    let migrated = migrate_credentials(place.agent()).unwrap();
    assert_eq!(migrated.providers, ["a", "b"]);
    assert_eq!(migrated.diagnostics.len(), 3, "{:?}", migrated.diagnostics);
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(place.agent().join(name)).unwrap()).unwrap()
    };
    assert_eq!(
        read("auth.json"),
        json!({
            "a": { "type": "oauth", "access": "x", "refresh": "r", "expires": 5, "z": 1 },
            "b": { "type": "api_key", "key": "key" },
        })
    );
    // What has no place there stays where it was.
    assert_eq!(read("settings.json"), json!({ "theme": "t", "apiKeys": { "a": "other", "n": 5 } }));
    assert_eq!(read("oauth.json.migrated")["odd"], 5);
    assert_eq!(names(place.agent()), ["auth.json", "oauth.json.migrated", "settings.json"]);
    assert!(migrate_credentials(place.agent()).unwrap().providers.is_empty(), "once");
}

#[test]
fn nothing_is_migrated_over_credentials_or_from_broken_files() {
    let place = Place::new();
    assert!(migrate_credentials(place.agent()).unwrap().providers.is_empty());
    assert_eq!(names(place.agent()), [] as [&str; 0]);
    let old = r#"{"a":{"access":"x","refresh":"r","expires":5}}"#;
    place.user("oauth.json", old);
    place.user("auth.json", "{}");
    assert!(migrate_credentials(place.agent()).unwrap().providers.is_empty());
    assert_eq!(fs::read_to_string(place.agent().join("oauth.json")).unwrap(), old);

    let place = Place::new();
    place.user("oauth.json", "{x");
    place.user("settings.json", r#"{"apiKeys":{"b":"key"}}"#);
    let migrated = migrate_credentials(place.agent()).unwrap();
    assert_eq!(migrated.providers, ["b"]);
    assert_eq!(migrated.diagnostics.len(), 1);
    assert_eq!(names(place.agent()), ["auth.json", "oauth.json", "settings.json"]);
}
