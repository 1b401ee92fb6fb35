//! What a configuration has and a session with these options leaves out.

use std::path::Path;

use pi_config::omissions::{EXTENSIONS, Omission};
use pi_config::resources::{ResourceFlags, Resources};
use pi_config::{Trust, files_that_need_trust};

use super::AgentOptions;
use crate::Environment;

/// Returns what a session with these options and resources leaves out.
pub(super) fn find(options: &AgentOptions, resources: &Resources) -> Vec<Omission> {
    let (environment, flags) = (options.environment(), &options.resources);
    let trust = options.project.trust();
    let mut omissions = Vec::new();
    if options.extensions.open.is_none() && !resources.extensions.is_empty() {
        let files = resources.extensions.iter().map(|file| file.path.clone()).collect();
        omissions.push(Omission::Extensions { files });
    }
    if trust != Trust::Trusted {
        let decided = trust == Trust::Untrusted;
        omissions.extend(untrusted(environment, flags, decided));
        let keys = options.project.store().untrusted_restrictions();
        if !keys.is_empty() {
            let file = environment.project_directory().join("settings.json");
            omissions.push(Omission::UntrustedHooks { file, keys, decided });
        }
    }
    omissions
}

/// Returns the files that the project would contribute if it were trusted.
fn untrusted(environment: &Environment, flags: &ResourceFlags, decided: bool) -> Option<Omission> {
    let directory = environment.cwd.clone();
    let mut paths = files_that_need_trust(&directory, environment.home.as_deref());
    if flags.no_extensions {
        paths.retain(|path| path != Path::new(EXTENSIONS));
    }
    (!paths.is_empty()).then_some(Omission::UntrustedProject { directory, paths, decided })
}
