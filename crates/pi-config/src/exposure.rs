//! The callers that can reach a tool.

/// The callers that can reach a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exposure {
    /// The model, as soon as the tool is registered.
    #[default]
    Direct,
    /// The model as above, but no other tool.
    ModelOnly,
    /// The model, after it has searched for the tool.
    Deferred,
    /// Scripts of the `codemode` tool.
    Codemode,
    /// Only other tools of the same extension.
    Hidden,
}

impl Exposure {
    /// Returns the name of the exposure.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::ModelOnly => "model-only",
            Self::Deferred => "deferred",
            Self::Codemode => "codemode",
            Self::Hidden => "hidden",
        }
    }

    /// Returns the exposure of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Direct, Self::ModelOnly, Self::Deferred, Self::Codemode, Self::Hidden];
        all.into_iter().find(|exposure| exposure.as_str() == name)
    }
}
