//! The resources of an opened project.

use super::configured::installed;
use super::{ResourceFlags, ResourceOptions, ResourceSettings, Resources, SourceInfo};
use crate::{Diagnostic, Project, SettingsScope};

/// Beginning of the names of built-in extensions, which are no files.
pub const BUILTIN: &str = "builtin:";

impl Resources {
    /// Loads the resources that an agent in this project finds.
    pub fn of(project: &Project, flags: &ResourceFlags) -> Self {
        let mut missing = Vec::new();
        let mut resources = Self::load(&options(project, flags, &mut missing));
        resources.diagnostics.extend(missing);
        resources
    }

    /// Returns the extension files that an agent in this project finds.
    pub fn extensions_of(project: &Project, flags: &ResourceFlags) -> Vec<SourceInfo> {
        Self::find_extensions(&options(project, flags, &mut Vec::new()))
    }
}

fn options(
    project: &Project,
    flags: &ResourceFlags,
    missing: &mut Vec<Diagnostic>,
) -> ResourceOptions {
    let settings = project.store();
    let lists = |scope| {
        let settings = settings.scope(scope);
        ResourceSettings {
            extensions: settings.extensions.unwrap_or_default(),
            skills: settings.skills.unwrap_or_default(),
            prompts: settings.prompts.unwrap_or_default(),
        }
    };
    let mut flags = flags.clone();
    flags.extensions.retain(|path| !path.starts_with(BUILTIN));
    ResourceOptions {
        environment: project.environment().clone(),
        trusted: project.is_trusted(),
        user: lists(SettingsScope::User),
        project: lists(SettingsScope::Project),
        packages: installed(project.environment(), settings, missing),
        flags,
    }
}
