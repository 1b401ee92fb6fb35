//! Tests of the selector of resources.

use std::fs;
use std::path::Path;

use pi_coding_agent::Environment;
use pi_config::{SettingsScope, SettingsStore};
use serde_json::{Value, json};

use super::super::super::panel::PanelEvent;
use super::super::testing::{press, shown};
use super::{Closed, ResourcesPanel};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("a file");
}

/// Creates a user with a package, and an empty project.
fn panel(root: &Path) -> ResourcesPanel {
    let package = root.join("agent/npm/node_modules/pk");
    write(&package.join("extensions/a.ts"), "");
    write(&package.join("extensions/b.ts"), "");
    let skill = "---\nname: greet\ndescription: Greets.\n---\n";
    write(&package.join("skills/greet/SKILL.md"), skill);
    write(&package.join("themes/paper.json"), "{}");
    write(&root.join("agent/settings.json"), r#"{"packages": ["npm:pk"]}"#);
    fs::create_dir_all(root.join("proj")).expect("a directory");
    let environment = Environment::new(root.join("proj"), root.join("agent"));
    let settings = SettingsStore::load(&environment, true);
    ResourcesPanel::new(environment, settings, SettingsScope::User)
}

fn packages(path: &Path) -> Value {
    let text = fs::read(path).expect("settings");
    serde_json::from_slice::<Value>(&text).expect("JSON")["packages"].take()
}

#[test]
fn resources_are_switched_and_stored() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut panel = panel(directory.path());
    let settings = directory.path().join("agent/settings.json");
    insta::assert_snapshot!(shown(&mut panel, 60, 30));
    press(&mut panel, "space down down enter");
    let expected = json!([{"source": "npm:pk", "extensions": ["-extensions/a.ts"], "skills": ["-skills/greet/SKILL.md"]}]);
    assert_eq!(packages(&settings), expected);
    let text = shown(&mut panel, 60, 30);
    assert!(text.contains("[ ] a.ts") && text.contains("[x] b.ts"), "{text}");
    assert!(text.contains("[ ] greet"), "{text}");
    press(&mut panel, "up up space");
    assert_eq!(packages(&settings)[0]["extensions"], json!(["+extensions/a.ts"]));
    let closed = press(&mut panel, "escape");
    assert!(matches!(closed, PanelEvent::Close(Some(Closed { is_changed: true }))));
}

#[test]
fn a_project_inherits_and_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut panel = panel(directory.path());
    let settings = directory.path().join("proj/.pi/settings.json");
    press(&mut panel, "tab space");
    let delta =
        json!([{"source": "npm:pk", "autoload": false, "extensions": ["-extensions/a.ts"]}]);
    assert_eq!(packages(&settings), delta);
    insta::assert_snapshot!(shown(&mut panel, 60, 30));
    press(&mut panel, "space");
    assert_eq!(packages(&settings), json!([]));
}

#[test]
fn the_search_narrows_the_list() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut panel = panel(directory.path());
    press(&mut panel, "\"paper\"");
    let text = shown(&mut panel, 60, 30);
    assert!(text.contains("paper.json") && !text.contains("a.ts"), "{text}");
    press(&mut panel, "\"zzz\"");
    assert!(shown(&mut panel, 60, 30).contains("No resources match"));
}
