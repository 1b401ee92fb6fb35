//! `/packages`: selects resources of packages, and installs, removes and updates packages.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_config::SettingsScope;
use pi_packages::{PackageError, PackageEvent, PackageManager};

use crate::app::App;
use crate::panels::resources::{Closed, ResourcesPanel};

/// How to use what was changed.
const RELOAD: &str = "/reload applies the changes";

pub(super) fn run(app: &mut App, argument: &str) {
    let (verb, source) = argument.split_once(' ').unwrap_or((argument, ""));
    match (verb, source.trim()) {
        ("", _) => select(app),
        ("install", source) if !source.is_empty() => change(app, Change::Install(source.into())),
        ("remove" | "uninstall", source) if !source.is_empty() => {
            change(app, Change::Remove(source.into()));
        }
        ("update", source) => change(app, Change::Update(source.into())),
        _ => app.warning("Use /packages, or /packages install, remove or update with a source"),
    }
}

/// Opens the selector of resources.
fn select(app: &mut App) {
    app.settings.reload();
    let settings = app.settings.clone();
    let panel = ResourcesPanel::new(app.environment.clone(), settings, SettingsScope::User);
    app.panels.open_then(panel, |app, Closed { is_changed }| {
        if is_changed {
            app.settings.reload();
            app.status(RELOAD);
        }
    });
}

enum Change {
    Install(String),
    Remove(String),
    /// All packages if the source is empty.
    Update(String),
}

/// Changes packages of the user in the background.
fn change(app: &mut App, change: Change) {
    app.settings.reload();
    let settings = app.settings.clone();
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let report = move |event| lock(&seen).push(event);
    let manager = PackageManager::new(app.environment.clone(), settings, Box::new(report));
    let manager = manager.offline(app.environment.is_offline());
    let doing = match &change {
        Change::Install(source) => format!("Installing {source}…"),
        Change::Remove(source) => format!("Removing {source}…"),
        Change::Update(source) if source.is_empty() => "Updating packages…".to_owned(),
        Change::Update(source) => format!("Updating {source}…"),
    };
    app.status(doing);
    app.tasks.spawn(perform(manager, change), move |app, result| {
        let events = std::mem::take(&mut *lock(&events));
        for event in events {
            if let PackageEvent::Changed(changed) = event {
                changed.notes().into_iter().for_each(|note| app.warning(note));
            }
        }
        match result {
            Ok(done) => {
                app.settings.reload();
                app.status(format!("{done}; {RELOAD}"));
            }
            Err(error) => {
                let hint = (app.program.package_hint)(&error);
                app.error_with_hint(error.to_string(), hint);
            }
        }
    });
}

async fn perform(mut manager: PackageManager, change: Change) -> Result<String, PackageError> {
    match change {
        Change::Install(source) => {
            manager.install(&source, SettingsScope::User).await?;
            Ok(format!("Installed {source}"))
        }
        Change::Remove(source) => {
            manager.remove(&source, SettingsScope::User).await?;
            Ok(format!("Removed {source}"))
        }
        Change::Update(source) if source.is_empty() => {
            match manager.update_all().await.failed.into_iter().next() {
                Some((_, error)) => Err(error),
                None => Ok("Updated packages".to_owned()),
            }
        }
        Change::Update(source) => {
            manager.update(&source).await?;
            Ok(format!("Updated {source}"))
        }
    }
}
