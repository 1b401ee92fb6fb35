//! The effects of the built-in tools of the coding agent, as far as tests need them.

use pi_protocol::{Effects, Extent};
use pi_session::EffectsResolver;
use serde_json::{Map, Value};

/// Resolves the seven built-in tools as pi-tools does.
pub(crate) fn resolver() -> EffectsResolver {
    EffectsResolver::new(effects_of)
}

fn effects_of(tool: &str, arguments: &Map<String, Value>) -> Effects {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let only = |names: &[&str]| arguments.keys().all(|name| names.contains(&name.as_str()));
    let in_path = || text("path").map(|path| format!(" in {path}")).unwrap_or_default();
    let tree = Effects::none().read(text("path").unwrap_or("."), "path", Extent::Tree);
    match (tool, text("path"), text("pattern"), text("command")) {
        ("read", Some(path), ..) => {
            let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
            let lines = match (number("offset"), number("limit")) {
                (None, None) => String::new(),
                (offset, None) => format!(":{}", offset.unwrap_or(1)),
                (offset, Some(limit)) => {
                    let first = offset.unwrap_or(1).max(1);
                    format!(":{first}-{}", first.saturating_add(limit).saturating_sub(1))
                }
            };
            Effects::none()
                .read(path, "path", Extent::File)
                .summary(format!("{path}{lines}"), only(&["path", "offset", "limit"]))
        }
        ("edit" | "write", Some(path), ..) => {
            Effects::none().write(path, "path").summary(path, false)
        }
        ("bash" | "powershell", _, _, Some(command)) => {
            Effects::none().run(command).summary(command, only(&["command", "timeout"]))
        }
        ("grep", _, Some(pattern), _) => {
            let glob = text("glob").map(|glob| format!(" ({glob})")).unwrap_or_default();
            let summary = format!("/{pattern}/{}{glob}", in_path());
            tree.summary(summary, only(&["pattern", "path", "glob"]))
        }
        ("find", _, Some(pattern), _) => {
            tree.summary(format!("{pattern}{}", in_path()), only(&["pattern", "path"]))
        }
        ("ls", path, ..) => {
            let path = path.unwrap_or(".");
            Effects::none().read(path, "path", Extent::Listing).summary(path, only(&["path"]))
        }
        _ => Effects::unknown(),
    }
}
