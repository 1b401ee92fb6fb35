//! Locating installed packages. Packages are installed by other programs.

use std::path::{Path, PathBuf};

use crate::config::settings::PackageSource;
use crate::config::{SettingsScope, SettingsStore};
use crate::resources::{PackageRoot, ResourceScope, normalize};
use crate::{Diagnostic, Environment};

/// Returns the installed packages of the settings, those of the project first, which take
/// precedence. A package that is not installed is reported.
pub(super) fn installed(
    environment: &Environment,
    settings: &SettingsStore,
    problems: &mut Vec<Diagnostic>,
) -> Vec<PackageRoot> {
    let scopes = [
        (SettingsScope::Project, ResourceScope::Project, environment.project_directory()),
        (SettingsScope::User, ResourceScope::User, environment.agent_directory.clone()),
    ];
    let mut roots: Vec<PackageRoot> = Vec::new();
    for (scope, resource_scope, base) in scopes {
        for package in settings.scope(scope).packages.unwrap_or_default() {
            let (source, autoload, extensions, skills, prompts) = match package {
                PackageSource::Whole(source) => (source, None, None, None, None),
                PackageSource::Part { source, autoload, extensions, skills, prompts } => {
                    (source, autoload, extensions, skills, prompts)
                }
            };
            // Without autoload, only the selected resources are loaded.
            let none = || (autoload == Some(false)).then(Vec::new);
            let directory = directory(&source, &base, environment);
            if roots.iter().any(|root| root.directory == directory) {
                continue;
            }
            if directory.is_dir() {
                roots.push(PackageRoot {
                    directory,
                    scope: resource_scope,
                    source,
                    extensions: extensions.or_else(none),
                    skills: skills.or_else(none),
                    prompts: prompts.or_else(none),
                });
            } else {
                let message = format!(
                    "the package {source} is not installed, so its resources are ignored; this version cannot install packages"
                );
                problems.push(Diagnostic::warning(directory, message));
            }
        }
    }
    roots
}

/// Returns the directory of a package from its source.
fn directory(source: &str, base: &Path, environment: &Environment) -> PathBuf {
    if let Some(name) = source.strip_prefix("npm:") {
        // `@scope/name@version`: the version follows an `@` that is not the first character.
        let end =
            name.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(name.len(), |(at, _)| at);
        return base.join("npm/node_modules").join(&name[..end]);
    }
    let address = source.strip_prefix("git:").unwrap_or(source);
    let remote = ["https://", "http://", "ssh://", "git@"];
    if source.starts_with("git:") || remote.iter().any(|start| address.starts_with(start)) {
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        let rest =
            rest.split_once('@').filter(|(user, _)| !user.contains('/')).map_or(rest, |(_, r)| r);
        // `host:path` is the notation of ssh; a version follows an `@`.
        let rest = rest.split_once('@').map_or(rest, |(rest, _)| rest).replacen(':', "/", 1);
        return base.join("git").join(rest.trim_end_matches(".git"));
    }
    // The path is shown to the model.
    normalize(&environment.expand(source, base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_directories_are_those_of_the_typescript_pi() {
        let environment = Environment::new("/proj", "/agent");
        for (source, expected) in [
            ("npm:pi-tools", "/agent/npm/node_modules/pi-tools"),
            ("npm:@scope/name@1.2.3", "/agent/npm/node_modules/@scope/name"),
            ("git:github.com/user/repo@v1", "/agent/git/github.com/user/repo"),
            ("git:git@github.com:user/repo", "/agent/git/github.com/user/repo"),
            ("https://github.com/user/repo.git", "/agent/git/github.com/user/repo"),
            ("ssh://git@host/user/repo@main", "/agent/git/host/user/repo"),
            ("./local", "/agent/local"),
            ("../pk/./local/", "/pk/local"),
            ("/absolute", "/absolute"),
        ] {
            let found = directory(source, Path::new("/agent"), &environment);
            assert_eq!(found, Path::new(expected), "{source}");
        }
    }
}
