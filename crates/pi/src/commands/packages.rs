//! `pi install`, `remove`, `update` and `list`: packages of resources. The lines on stdout are those
//! of the TypeScript pi; everything else goes to stderr.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use pi_base::text::one_line;
use pi_coding_agent::{Environment, Project};
use pi_config::resources::{ConfiguredPackage, PackageContents};
use pi_config::{SettingsScope, SettingsStore};
use pi_packages::{Changed, PackageError, PackageEvent, PackageManager};
use serde_json::{Value, json};

use super::plain::PlainWriter;
use super::{CommandResult, Failure, project, success};
use crate::exit::{Exit, note, print};
use crate::features::with_feature;
use crate::flags::parse::CommandArgs;
use crate::modes::block_on;

impl From<PackageError> for Failure {
    fn from(error: PackageError) -> Self {
        let exit = match &error {
            PackageError::Settings(_) => Exit::Configuration,
            _ => Exit::Failed,
        };
        Self::of(&error, exit)
    }
}

/// Installs a package.
pub(super) fn install(args: &CommandArgs) -> CommandResult {
    let source = args.word(0).unwrap_or_default().to_owned();
    let (environment, mut manager) = manager(args)?;
    let scope = scope(args);
    check_trust(&manager, scope)?;
    print(&format!("Installing {source}...\n"));
    Ok(block_on(Box::pin(async move {
        match manager.install(&source, scope).await {
            Ok(installed) => {
                let exit = print(&format!("Installed {source}\n"));
                note(&brings(&source, &installed.contents));
                note_trust(&environment, scope);
                exit
            }
            Err(error) => Failure::from(error).report(),
        }
    })))
}

/// Removes a package.
pub(super) fn remove(args: &CommandArgs) -> CommandResult {
    let source = args.word(0).unwrap_or_default().to_owned();
    let (_, mut manager) = manager(args)?;
    let scope = scope(args);
    check_trust(&manager, scope)?;
    print(&format!("Removing {source}...\n"));
    Ok(block_on(Box::pin(async move {
        match manager.remove(&source, scope).await {
            Ok(()) => print(&format!("Removed {source}\n")),
            Err(error) => Failure::from(error).report(),
        }
    })))
}

/// Updates packages.
pub(super) fn update(args: &CommandArgs) -> CommandResult {
    let word = args.word(0);
    let names_pi = matches!(word, Some("pi" | "self"));
    let one = args.value("extension").or(word.filter(|_| !names_pi)).map(str::to_owned);
    let mut updated = success();
    if args.has("models") {
        updated = super::models::update_configured().unwrap_or_else(|failure| failure.report());
    }
    let all = args.has("extensions") || args.has("all");
    let is_alone = one.is_none() && !args.has("extensions") && !args.has("models");
    if args.has("self") || names_pi || is_alone {
        let done = super::self_update::run(args).unwrap_or_else(|failure| failure.report());
        if done != success() || !all && one.is_none() {
            return Ok(done);
        }
    }
    if one.is_none() && !all {
        return Ok(updated);
    }
    let (_, mut manager) = manager(args)?;
    Ok(block_on(Box::pin(async move {
        if let Some(source) = one {
            return match manager.update(&source).await {
                Ok(()) => print(&format!("Updated {source}\n")),
                Err(error) => Failure::from(error).report(),
            };
        }
        let mut exit = success();
        for (source, error) in manager.update_all().await.failed {
            note(&format!("{source} was not updated:"));
            exit = Failure::from(error).report();
        }
        if exit == success() { print("Updated packages\n") } else { exit }
    })))
}

/// Lists the packages of the settings.
pub(super) fn list(args: &CommandArgs) -> CommandResult {
    let (_, manager) = manager(args)?;
    let packages = manager.configured();
    if args.has("json") {
        let list: Vec<Value> = packages.iter().map(|one| to_json(one, &manager)).collect();
        return Ok(print(&format!("{}\n", serde_json::to_string_pretty(&list)?)));
    }
    if packages.is_empty() {
        return Ok(print("No packages installed.\n"));
    }
    let mut groups = Vec::new();
    for (scope, title) in
        [(SettingsScope::User, "User packages:"), (SettingsScope::Project, "Project packages:")]
    {
        let of_scope = packages.iter().filter(|package| package.scope == scope);
        let rows: String = of_scope.map(row).collect();
        if !rows.is_empty() {
            groups.push(format!("{title}\n{rows}"));
        }
    }
    Ok(print(&groups.join("\n")))
}

/// Opens the screen on which resources of packages are switched on and off.
pub(super) fn resources(args: &CommandArgs) -> CommandResult {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage("the selection of resources needs a terminal")
            .hint("list the settings with `pi config list`, packages with `pi list`"));
    }
    let (environment, settings) = load(args)?;
    let scope = scope(args);
    if scope == SettingsScope::Project && !settings.is_trusted() {
        return Err(PackageError::NotTrusted.into());
    }
    with_feature!(
        "screen",
        Ok(block_on(Box::pin(crate::modes::interactive::select_resources(
            environment,
            settings,
            scope,
        ))))
    )
}

/// Returns the lines of a package: its source, its directory if it is installed, and the limits of
/// its extensions.
fn row(package: &ConfiguredPackage) -> String {
    let filtered = if package.is_filtered { " (filtered)" } else { "" };
    let source = one_line(&package.source);
    let mut row = format!("  {source}{filtered}\n");
    if is_installed(package) {
        row.push_str(&format!("    {}\n", package.directory.display()));
    }
    let limits: Vec<String> =
        limits(package).map(|(name, value)| format!("{name}: {value}")).collect();
    if !limits.is_empty() {
        row.push_str(&format!("    {}\n", one_line(&limits.join(", "))));
    }
    row
}

/// Returns what the settings say about the extensions of a package.
fn limits(package: &ConfiguredPackage) -> impl Iterator<Item = (&'static str, &Value)> {
    let limits = [("rights", &package.limits.rights), ("runtime", &package.limits.runtime)];
    limits.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
}

fn is_installed(package: &ConfiguredPackage) -> bool {
    package.location.is_ok() && package.directory.exists()
}

fn to_json(package: &ConfiguredPackage, manager: &PackageManager) -> Value {
    let contents = match is_installed(package) {
        true => manager.contents(&package.source, &package.directory),
        false => PackageContents::default(),
    };
    let names = |files: &[PathBuf]| -> Vec<String> {
        let short =
            |file: &PathBuf| file.strip_prefix(&package.directory).unwrap_or(file).to_owned();
        files.iter().map(|file| short(file).display().to_string()).collect()
    };
    let mut object = json!({
        "source": package.source,
        "scope": match package.scope {
            SettingsScope::User => "user",
            SettingsScope::Project => "project",
        },
        "filtered": package.is_filtered,
        "installed": is_installed(package),
        "directory": is_installed(package).then_some(&package.directory),
        "version": pi_packages::installed_version(&package.directory),
        "extensions": names(&contents.extensions),
        "skills": names(&contents.skills),
        "prompts": names(&contents.prompts),
        "themes": names(&contents.themes),
    });
    for (name, value) in limits(package) {
        object[name] = value.clone();
    }
    object
}

fn scope(args: &CommandArgs) -> SettingsScope {
    if args.has("local") { SettingsScope::Project } else { SettingsScope::User }
}

/// Loads the settings. `--approve` and `--no-approve` decide about trust in the project.
fn load(args: &CommandArgs) -> Result<(Environment, SettingsStore), Failure> {
    let project = project::open(args)?;
    if let Some(problem) = project.store().guard_error() {
        note(&format!("warning: {problem}"));
    }
    Ok((project.environment().clone(), project.into_store()))
}

/// Creates the package manager of the working directory.
fn manager(args: &CommandArgs) -> Result<(Environment, PackageManager), Failure> {
    let (environment, settings) = load(args)?;
    let is_offline = environment.is_offline();
    let manager = PackageManager::new(environment.clone(), settings, Box::new(report));
    Ok((environment, manager.offline(is_offline)))
}

/// Fails before anything is printed if the project's settings may not be changed.
fn check_trust(manager: &PackageManager, scope: SettingsScope) -> Result<(), Failure> {
    manager.check_trust(scope).map_err(Failure::from)
}

/// A project without settings needs no trust. With the first package it does.
fn note_trust(environment: &Environment, scope: SettingsScope) {
    if scope == SettingsScope::Project && !Project::open(environment.clone()).is_trusted() {
        note("the settings of this project apply after `pi trust add`");
    }
}

/// Prints an event: results of registries on stdout, as npm does, everything else on stderr.
fn report(event: PackageEvent) {
    match event {
        PackageEvent::Updating(source) => drop(print(&format!("Updating {source}...\n"))),
        PackageEvent::Changed(changed) => {
            print(&format!("{}\n", summary(&changed)));
            changed.notes().iter().for_each(|text| note(text));
        }
        PackageEvent::Output(text) => drop(print(&text)),
        // A failure to write to stderr cannot be reported anywhere.
        PackageEvent::ErrorOutput(text) => {
            let _ = PlainWriter::new(std::io::stderr()).write_all(text.as_bytes());
        }
        PackageEvent::Waiting(directory) => {
            note(&format!("waiting for another pi that changes {}", directory.display()));
        }
        _ => {}
    }
}

/// Describes what changed in one line.
fn summary(changed: &Changed) -> String {
    let count = |number: usize| match number {
        1 => "1 package".to_owned(),
        number => format!("{number} packages"),
    };
    match (changed.added.len(), changed.removed) {
        (0, 0) => "up to date".to_owned(),
        (added, 0) => format!("added {}", count(added)),
        (0, removed) => format!("removed {}", count(removed)),
        (added, removed) => format!("added {}, removed {}", count(added), count(removed)),
    }
}

/// Describes the content of a package.
fn brings(source: &str, contents: &PackageContents) -> String {
    let kinds = [
        (contents.extensions.len(), "extension"),
        (contents.skills.len(), "skill"),
        (contents.prompts.len(), "prompt template"),
        (contents.themes.len(), "theme"),
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, kind)| format!("{number} {kind}{}", if number == 1 { "" } else { "s" }))
        .collect();
    if parts.is_empty() {
        return format!("{source} has no extensions, skills, prompt templates or themes");
    }
    let rights = if contents.extensions.is_empty() {
        ""
    } else {
        "; extensions run with your rights, review them"
    };
    format!("{source} brings {}{rights}", parts.join(", "))
}
