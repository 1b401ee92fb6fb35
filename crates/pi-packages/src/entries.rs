//! The list `packages` of a settings file. Pure.

use std::path::{Component, Path, PathBuf};

use pi_config::Environment;
use pi_config::resources::PackageLocation;
use serde_json::Value;

/// Adds a source. An entry of the same package gets the new source and keeps its filters.
pub(crate) fn with(
    list: Option<&Value>,
    source: &str,
    is_same: impl Fn(&str) -> bool,
) -> Option<Value> {
    let mut entries = list.and_then(Value::as_array).cloned().unwrap_or_default();
    let known = entries.iter_mut().find(|entry| source_of(entry).is_some_and(&is_same));
    match known {
        Some(Value::Object(object)) => drop(object.insert("source".to_owned(), source.into())),
        Some(entry) => *entry = source.into(),
        None => entries.push(source.into()),
    }
    Some(entries.into())
}

/// Removes the entries of a package.
pub(crate) fn without(list: Option<&Value>, is_same: impl Fn(&str) -> bool) -> Option<Value> {
    let mut entries = list?.as_array()?.clone();
    entries.retain(|entry| !source_of(entry).is_some_and(&is_same));
    Some(entries.into())
}

fn source_of(entry: &Value) -> Option<&str> {
    entry.as_str().or_else(|| entry["source"].as_str())
}

/// Returns the source as a settings file in `base` writes it: paths are relative to it.
pub(crate) fn stored_source(
    source: &str,
    location: &PackageLocation,
    base: &Path,
    environment: &Environment,
) -> String {
    match location {
        PackageLocation::Path(_) => {
            let target = location.directory(&environment.cwd, environment);
            relative(base, &target).to_string_lossy().into_owned()
        }
        _ => source.trim().to_owned(),
    }
}

/// Returns the path that leads from a directory to a target.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - shared);
    let path: PathBuf = up.chain(to[shared..].iter().copied()).collect();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_replaced_in_its_place_and_keeps_its_filters() {
        let is_same = |source: &str| source.starts_with("npm:a");
        let filtered = json!({"source": "npm:a@1", "skills": []});
        for (list, expected) in [
            (None, json!(["npm:a@2"])),
            (Some(json!(["npm:b"])), json!(["npm:b", "npm:a@2"])),
            (Some(json!(["npm:a", "npm:b"])), json!(["npm:a@2", "npm:b"])),
            (Some(json!([filtered])), json!([{"source": "npm:a@2", "skills": []}])),
            (Some(json!("broken")), json!(["npm:a@2"])),
        ] {
            assert_eq!(with(list.as_ref(), "npm:a@2", is_same), Some(expected));
        }
        let list = json!(["npm:a", filtered, "npm:b"]);
        assert_eq!(without(Some(&list), is_same), Some(json!(["npm:b"])));
        assert_eq!(without(None, is_same), None);
    }

    #[test]
    fn paths_are_stored_relative_to_the_settings() {
        let environment = Environment::new("/home/me/proj", "/home/me/.pi/agent");
        for (source, base, expected) in [
            ("./loc", "/home/me/.pi/agent", "../../proj/loc"),
            ("file:///opt/x", "/home/me/.pi/agent", "../../../../opt/x"),
            ("loc", "/home/me/proj/.pi", "../loc"),
            (".", "/home/me/proj", "."),
            ("npm:a@1", "/x", "npm:a@1"),
        ] {
            let location = PackageLocation::parse(source).unwrap();
            let stored = stored_source(source, &location, Path::new(base), &environment);
            assert_eq!(stored, expected);
        }
    }
}
