//! A file as an extension: JavaScript on a thread, or a program.

use std::sync::Arc;

use pi_coding_agent::extension::Extension;
use pi_config::resources::SourceInfo;

use crate::extension::JsExtension;
use crate::hosting::ExtensionHost;
use crate::process::{ProcessExtension, is_manifest};

impl ExtensionHost {
    /// Returns the extension of a file, a new one for each session. The file is read when the
    /// extension is loaded.
    pub fn open(&self, source: &SourceInfo) -> Arc<dyn Extension> {
        if is_manifest(&source.path) {
            return Arc::new(ProcessExtension::new(self.clone(), source));
        }
        Arc::new(JsExtension::new(self.clone(), source))
    }
}
