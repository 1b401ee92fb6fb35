//! Settings of scripts that call tools.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Settings;

/// Tokens that the description of `codemode` spends on declarations unless the settings say
/// otherwise.
const INLINE_BUDGET: u64 = 3_000;

/// Scripts that call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CodemodeGroup {
    /// Whether other tools stay declared while `codemode` is active (`on`), or are only reached
    /// through scripts (`only`).
    mode: Option<CodemodeMode>,
    /// Tokens that the description of `codemode` may spend on declarations of other tools.
    inline_budget: Option<u64>,
}

/// How other tools are declared while `codemode` is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CodemodeMode {
    /// They stay declared, and their descriptions say how scripts call them.
    #[default]
    On,
    /// They are hidden from the model, and `codemode` lists them.
    Only,
}

/// The settings of scripts, with defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodemodeSettings {
    /// How other tools are declared.
    pub mode: CodemodeMode,
    /// Tokens for declarations in the description.
    pub inline_budget: u64,
}

impl Settings {
    /// Returns the settings of scripts.
    pub fn codemode(&self) -> CodemodeSettings {
        let group = self.codemode.clone().unwrap_or_default();
        CodemodeSettings {
            mode: group.mode.unwrap_or_default(),
            inline_budget: group.inline_budget.unwrap_or(INLINE_BUDGET),
        }
    }
}
